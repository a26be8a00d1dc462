// The scripted device: memory is host memory, streams are queues, time is made up.
#pragma once

#include "device/abi.hpp"
#include "fakes/gpu/script.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ako::fakes {

/// As CUPTI's records: kind 10 kernel, 1 copy, 2 set.
struct Happened {
  int kind = 10;
  std::uint64_t start = 0, end = 0;
  std::uint32_t stream = 0, correlation = 0;
  std::int64_t bytes = 0;
  std::string name;
};

struct FakeStream {
  std::uint32_t id = 0;
  std::vector<std::function<int()>> queue;
  bool capturing = false;
  std::vector<std::function<int()>> captured;
  device::abi::StreamPolicy policy;
};

class Machine {
public:
  static Machine& of_this_process();
  /// Into the stream, or into the graph that it captures.
  int queue(FakeStream* stream, std::function<int()> work);
  int drain(FakeStream* stream); ///< runs what is queued
  /// An operation of that length happens now, on the device's clock.
  void happen(FakeStream* stream, int kind, const std::string& name, std::uint64_t ns,
              std::int64_t bytes);
  std::uint64_t now() const { return m_now; }
  void advance(std::uint64_t ns) { m_now += ns; }
  std::vector<FakeStream*> streams;
  std::vector<Happened> recorded;
  bool recording = false;
  std::mutex mutex;

private:
  std::uint64_t m_now = 1'000'000;
  std::uint32_t m_correlation = 0;
};

/// Runs one of ako's kernels by name on its struct; false = no such kernel.
bool run_kernel(const std::string& name, void** parameters);
/// Bytes of its struct: what must be kept of the parameters at the launch.
std::size_t parameter_bytes(const std::string& name);

} // namespace ako::fakes
