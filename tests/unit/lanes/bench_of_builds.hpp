// Builds a few lines of C++ against a small contract, as ako does, in a folder of its own.
#pragma once

#include "base/fs.hpp"
#include "lanes/lane.hpp"
#include "model/contract.hpp"

#include <map>
#include <string>

namespace ako::test {

namespace fs = std::filesystem;

/// Tensors x (in, float32), y (out, float32); axes N (1 to 65536) and L (without max); scalar eps
/// (float32). Arguments x, y, N, eps.
model::Contract small_contract();

class BuildBench {
public:
  BuildBench();
  fs::path task() const { return m_dir.path() / "task"; }
  fs::path cache() const { return m_dir.path() / "cache" / "ako" / "build"; }
  const fs::path& root() const { return m_dir.path(); }
  void write(const std::string& path, const std::string& text) const;

  model::Contract contract = small_contract();
  lanes::Role role = lanes::Role::candidate;
  model::Lane lane = model::Lane::cpu; ///< that builds it
  std::string device_architecture;
  lanes::Surroundings around;

  /// Snapshot of solution/ and input/, plan, build, read. An Error of any step counts as the
  /// result's.
  lanes::BuildResult build();
  /// build() of this text as the contract's entry.
  lanes::BuildResult build(const std::string& text);

private:
  base::TemporaryDir m_dir;
};

/// One loaded artifact.
class Loaded {
public:
  explicit Loaded(const lanes::BuildResult& result);
  ~Loaded();
  int call(std::vector<void*> tensors, std::vector<std::int64_t> integers,
           std::vector<double> scalars) const;
  bool has(const char* symbol) const;

private:
  void* m_handle = nullptr;
};

} // namespace ako::test
