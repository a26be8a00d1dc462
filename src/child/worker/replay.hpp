// A worker without the candidate's host code: it launches captured nodes from the artifact's
// images.
#pragma once

#include "base/shm.hpp"
#include "device/replay.hpp"
#include "worker/library.hpp"

#include <map>
#include <memory>
#include <vector>

namespace ako::worker {

class Replay {
public:
  static base::Expected<std::unique_ptr<Replay>> load(const device::Gpu& gpu,
                                                      const SealedFile& file);
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay();
  /// Calls with these tensors (the arrays themselves) launch these nodes from here on.
  void use(std::map<void* const*, std::vector<device::Node>> nodes) { m_nodes = std::move(nodes); }
  /// As an artifact's entry; k_unknown for tensors that no nodes belong to, and for what cannot be
  /// launched: why() says more.
  static int call(void* const* tensors, const std::int64_t*, const double*, void* stream);
  static constexpr int k_unknown = -7399;
  const std::string& why() const { return m_why; }

private:
  explicit Replay(base::Mapping file) : m_file(std::move(file)) {}
  base::Mapping m_file;
  std::unique_ptr<device::Replayer> m_replayer;
  std::map<void* const*, std::vector<device::Node>> m_nodes;
  std::string m_why;
};

} // namespace ako::worker
