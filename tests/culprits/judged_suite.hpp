// What the test programs of all lanes share: a file is judged, held against its first comment, and
// counted.
#pragma once

#include "judged_bench.hpp"

#include <gtest/gtest.h>

namespace ako::culprits {

/// One file through the whole judge on `target`; prints what came. Skipped, and counted apart,
/// where the machine was too busy to measure on.
void expect_as_its_comment_says(const Shelf& shelf, const std::string& name,
                                const loop::Target& target);

/// Every file that plays a trick has an honest twin; at least `least` pairs.
void expect_twins(const Shelf& shelf, int least);

/// A name that GoogleTest takes.
std::string case_name(const testing::TestParamInfo<std::string>& given);

} // namespace ako::culprits
