// Trusted replay: what a captured call put into its stream, as values, and their launch by a
// process that runs nothing of the candidate but its device code, from the very image that ako
// built.
#pragma once

#include "base/json.hpp"
#include "device/gpu.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ako::device {

/// One operation of a captured call. Addresses in parameters are those of shared buffers, which lie
/// equal in every process.
struct Node {
  enum class Kind { kernel, set, copy };
  Kind kind = Kind::kernel;
  std::string name;                           ///< kernel: as the image has it
  std::array<std::uint32_t, 3> grid{1, 1, 1}; ///< blocks
  std::array<std::uint32_t, 3> block{1, 1, 1}, cluster{1, 1, 1};
  std::uint32_t shared_bytes = 0;                  ///< dynamic
  bool cooperative = false, large_cluster = false; ///< of more than eight blocks
  int carveout = -1; ///< of the cache, for shared memory: percent, -1 = the driver's choice
  std::vector<std::string> parameters;       ///< bytes of each
  std::uint64_t to = 0, from = 0, bytes = 0; ///< copies and sets
  std::uint8_t value = 0;                    ///< sets
  bool operator==(const Node&) const = default;
};
base::Json to_json(const std::vector<Node>& nodes);
/// Kind invalid for what no capture gives.
base::Expected<std::vector<Node>> nodes_from_json(const base::Json& json);

/// The nodes in the order in which they run. Kind unsupported, saying why, for a graph that is no
/// chain or holds what cannot be launched elsewhere (host functions, allocations, child graphs).
base::Expected<std::vector<Node>> nodes_of(const Gpu& gpu, abi::Graph graph);

/// Device images inside a built library: each is what cuModuleLoadData takes.
std::vector<std::string_view> images_of(std::string_view library);

class Replayer {
public:
  /// `library`: the file's bytes, which outlive this. Kind unsupported when it holds no image.
  static base::Expected<Replayer> load(const Gpu& gpu, std::string_view library);
  /// Queues them one after the other. Kind unsupported for a kernel that no image holds.
  base::Status launch(const std::vector<Node>& nodes, abi::Stream stream) const;

private:
  explicit Replayer(const Gpu& gpu) : m_gpu(&gpu) {}
  base::Expected<abi::Function> find(const std::string& name) const;
  base::Status launch_kernel(const Node& node, abi::Stream stream) const;
  const Gpu* m_gpu;
  std::vector<abi::Module> m_modules;
  mutable std::map<std::string, abi::Function> m_functions;
};

} // namespace ako::device
