// A ledger with one of everything, some of it hostile to the formats it will be shown in.
#pragma once

#include "base/fs.hpp"
#include "report/data.hpp"

#include <optional>

namespace ako::report::testing {

inline constexpr const char* k_hostile =
    "<script>alert('x')</script> | `code` & \"quote\" <!-- ako:end iterations -->\nsecond line";

enum class Hostile { no, yes };

/// Six iterations as a real task has them: improved, incorrect, equivalent, regressed, undecided,
/// improved; a stall, a direction, a waiver, notes.
base::Status fill(const base::fs::path& ledger, Hostile hostile);

/// collect() of a freshly filled ledger.
base::Expected<Data> filled(Hostile hostile);

} // namespace ako::report::testing
