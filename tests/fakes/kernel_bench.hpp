// A small task with real processes: y = 2 x + 1 over float32, candidates compiled from source text.
#pragma once

#include "base/fs.hpp"
#include "client/keeper.hpp"
#include "client/worker.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace ako::fakes {

/// Compiles C++ text to a shared library in `folder` and returns its path; ends the test program's
/// case with the compiler's words when that fails.
std::filesystem::path build_library(const std::filesystem::path& folder, const std::string& name,
                                    const std::string& source);

/// Contract of "axpb": axis N; x in, y out, both float32 [N]; a static table t in; scalar s.
model::Contract axpb_contract();
model::ResolvedShape axpb_shape(const model::Contract& contract, std::int64_t n);

/// Source of the honest kernel, y[i] = 2 x[i] + 1, with `before` put before its loop.
std::string axpb_source(const std::string& before = "", const std::string& globals = "");

/// Keeper, arena (filled and poisoned) and folder for one test.
struct Bench {
  base::TemporaryDir folder;
  model::Contract contract;
  model::ResolvedShape shape;
  client::Keeper keeper;
  std::optional<model::DeviceId> device;
  std::optional<client::Arena> arena;

  static Bench make(std::int64_t n, int sets, std::int64_t evict_bytes = -1,
                    std::optional<model::DeviceId> device = std::nullopt,
                    model::Contract contract = axpb_contract(), std::uint64_t placement = 7);
  client::WorkerOptions options(const std::string& source) const;
  /// Started, loaded, mapped and bound.
  client::Answer<client::Worker> worker(const std::string& source) const;
  client::Answer<client::Worker> prepare(client::WorkerOptions options) const;
  client::FillJob fill_job(std::uint32_t epoch = 0) const;
  /// Elements of y in `set` that are not 2 x + 1.
  std::int64_t wrong_elements(int set) const;
};

} // namespace ako::fakes
