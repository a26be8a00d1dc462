// The small task of kernel_bench.hpp with candidates in Python, bundled by the lane.
#pragma once

#include "fakes/kernel_bench.hpp"
#include "lanes/lane.hpp"

#include <map>
#include <string>

namespace ako::fakes {

/// run(x, y, t, s, n): y[i] = 2 x[i] + 1 through a memoryview, with lines before and after the loop
/// and at the top of the file.
std::string axpb_python(const std::string& in_call = "", const std::string& top = "",
                        const std::string& after = "return None");
/// The same as a jitted kernel of the fake Triton over fake torch tensors.
std::string axpb_triton(const std::string& in_call = "", const std::string& top = "",
                        const std::string& launch = "axpb[(1,)](x, y, n)");

struct PythonBench {
  Bench bench;
  base::TemporaryDir task;
  lanes::Role role = lanes::Role::candidate;
  std::map<std::string, std::string> environment; ///< of the worker, besides the lane's
  double load_seconds = 30, call_seconds = 10;

  /// `fakes`: the stand-ins of tests/fakes/python can be imported.
  enum class Torch { none, fake };
  static PythonBench make(std::int64_t n, int sets, Torch torch = Torch::none,
                          std::optional<model::DeviceId> device = std::nullopt);
  lanes::BuildResult build(const std::string& text);
  /// Started, loaded, mapped and bound; a build that fails ends the test program's case.
  client::Answer<client::Worker> worker(const std::string& text);
  client::WorkerOptions options(const std::string& text);
  /// Started and loaded.
  client::Answer<client::LoadReport> load(const std::string& text);

  lanes::Surroundings around;
};

} // namespace ako::fakes
