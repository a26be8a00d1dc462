#include "device/replay.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <numeric>

namespace ako::device {

using base::ErrorKind;
using base::Json;

namespace {

constexpr std::size_t k_most_nodes = 1024, k_most_parameters = 1024, k_most_bytes = 32764;
constexpr int k_node_kernel = 0, k_node_copy = 1, k_node_set = 2, k_node_empty = 5;
constexpr int k_cooperative = 2, k_cluster = 4, k_dynamic_shared = 8, k_carveout = 9,
              k_large_cluster = 14;
constexpr unsigned k_usual_shared = 48 << 10;
constexpr int k_memory_device = 2, k_memory_unified = 4;

tl::unexpected<base::Error> no_replay(std::string why) {
  return base::fail(ErrorKind::unsupported, "the call cannot be replayed",
                    {.found = std::move(why)});
}

std::string hex_of(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

base::Expected<std::string> bytes_of(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    if (error != std::errc() || end != hex.data() + i + 2)
      return base::fail(ErrorKind::invalid, "not bytes in hexadecimal");
    bytes += static_cast<char>(value);
  }
  if (hex.size() % 2 != 0 || bytes.size() > k_most_bytes)
    return base::fail(ErrorKind::invalid, "not the bytes of a parameter");
  return bytes;
}

constexpr const char* k_words[] = {"kernel", "set", "copy"};

base::Expected<std::array<std::uint32_t, 3>> three(const Json& json, const char* key) {
  std::array<std::uint32_t, 3> out{};
  AKO_TRY(const auto list, base::get<Json>(json, key));
  if (!list.is_array() || list.size() != 3)
    return base::fail(ErrorKind::invalid, "not three numbers", {.where = key});
  for (std::size_t i = 0; i < 3; ++i) {
    if (!list[i].is_number_unsigned() || list[i].get<std::uint64_t>() > INT32_MAX)
      return base::fail(ErrorKind::invalid, "not three sizes", {.where = key});
    out[i] = list[i].get<std::uint32_t>();
  }
  return out;
}

base::Expected<Node> node_from_json(const Json& json) {
  Node node;
  AKO_TRY(const auto word, base::get<std::string>(json, "kind"));
  const auto* at = std::find(std::begin(k_words), std::end(k_words), word);
  if (at == std::end(k_words)) return base::fail(ErrorKind::invalid, "no such kind of node");
  node.kind = static_cast<Node::Kind>(at - std::begin(k_words));
  if (node.kind != Node::Kind::kernel) {
    node.to = base::get_or<std::uint64_t>(json, "to", 0);
    node.from = base::get_or<std::uint64_t>(json, "from", 0);
    node.bytes = base::get_or<std::uint64_t>(json, "bytes", 0);
    node.value = static_cast<std::uint8_t>(base::get_or<std::uint64_t>(json, "value", 0));
    return node;
  }
  AKO_TRY(node.name, base::get<std::string>(json, "name"));
  AKO_TRY(node.grid, three(json, "grid"));
  AKO_TRY(node.block, three(json, "block"));
  AKO_TRY(node.cluster, three(json, "cluster"));
  node.shared_bytes = static_cast<std::uint32_t>(base::get_or<std::uint64_t>(json, "shared", 0));
  node.cooperative = base::get_or<bool>(json, "cooperative", false);
  node.large_cluster = base::get_or<bool>(json, "large_cluster", false);
  node.carveout = static_cast<int>(base::get_or<std::int64_t>(json, "carveout", -1));
  AKO_TRY(const auto parameters, base::get<Json>(json, "parameters"));
  if (!parameters.is_array() || parameters.size() > k_most_parameters)
    return base::fail(ErrorKind::invalid, "not a list of parameters");
  for (const auto& each : parameters) {
    if (!each.is_string()) return base::fail(ErrorKind::invalid, "not a parameter");
    AKO_TRY(auto bytes, bytes_of(each.get<std::string>()));
    node.parameters.push_back(std::move(bytes));
  }
  return node;
}

} // namespace

Json to_json(const std::vector<Node>& nodes) {
  Json list = Json::array();
  for (const auto& node : nodes) {
    Json item{{"kind", k_words[static_cast<int>(node.kind)]}};
    if (node.kind == Node::Kind::kernel) {
      Json parameters = Json::array();
      for (const auto& each : node.parameters) parameters.push_back(hex_of(each));
      item.update({{"name", node.name},
                   {"grid", node.grid},
                   {"block", node.block},
                   {"cluster", node.cluster},
                   {"shared", node.shared_bytes},
                   {"cooperative", node.cooperative},
                   {"large_cluster", node.large_cluster},
                   {"carveout", node.carveout},
                   {"parameters", parameters}});
    } else {
      item.update(
          {{"to", node.to}, {"from", node.from}, {"bytes", node.bytes}, {"value", node.value}});
    }
    list.push_back(std::move(item));
  }
  return list;
}

base::Expected<std::vector<Node>> nodes_from_json(const Json& json) {
  if (!json.is_array() || json.size() > k_most_nodes)
    return base::fail(ErrorKind::invalid, "not a list of nodes");
  std::vector<Node> nodes;
  for (const auto& each : json) {
    AKO_TRY(auto node, node_from_json(each));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

namespace {

base::Expected<Node> kernel_node(const Gpu& gpu, abi::GraphNode at) {
  AKO_TRY(const ReplayCalls* calls, replay());
  const auto& api = *calls;
  abi::KernelNode params;
  AKO_TRY_STATUS(gpu.ok(api.node_kernel(at, &params), "reading a captured kernel"));
  auto* function = params.function;
  if (!function)
    AKO_TRY_STATUS(gpu.ok(api.kernel_function(&function, params.kernel), "reading a kernel"));
  Node node;
  const char* name = nullptr;
  AKO_TRY_STATUS(gpu.ok(api.function_name(&name, function), "reading a kernel's name"));
  node.name = name ? name : "";
  node.grid = {params.grid[0], params.grid[1], params.grid[2]};
  node.block = {params.block[0], params.block[1], params.block[2]};
  node.shared_bytes = params.shared_bytes;
  if (!params.parameters && params.extra) return no_replay(node.name + " is given a packed buffer");
  for (std::size_t i = 0; i < k_most_parameters; ++i) {
    std::size_t offset = 0, size = 0;
    if (api.function_parameter(function, i, &offset, &size) != abi::k_success) break;
    if (size > k_most_bytes || !params.parameters) return no_replay(node.name + "'s parameters");
    node.parameters.emplace_back(static_cast<const char*>(params.parameters[i]), size);
  }
  int number = 0;
  if (api.function_get(&number, k_carveout, function) == abi::k_success) node.carveout = number;
  if (api.function_get(&number, k_large_cluster, function) == abi::k_success)
    node.large_cluster = number != 0;
  abi::LaunchValue value;
  if (api.node_attribute(at, k_cluster, &value) == abi::k_success && value.words[0] > 0)
    node.cluster = {value.words[0], value.words[1], value.words[2]};
  value = {};
  if (api.node_attribute(at, k_cooperative, &value) == abi::k_success)
    node.cooperative = value.words[0] != 0;
  return node;
}

bool on_device(int memory) { return memory == k_memory_device || memory == k_memory_unified; }

base::Expected<Node> copy_node(const Gpu& gpu, abi::GraphNode at) {
  abi::CopyNode params;
  AKO_TRY(const ReplayCalls* calls, replay());
  AKO_TRY_STATUS(gpu.ok(calls->node_copy(at, &params), "reading a captured copy"));
  if (!on_device(params.from.memory) || !on_device(params.to.memory))
    return no_replay("a copy from or to the host");
  if (params.height > 1 || params.depth > 1) return no_replay("a copy of more than one line");
  Node node;
  node.kind = Node::Kind::copy;
  node.to = params.to.device + params.to.x;
  node.from = params.from.device + params.from.x;
  node.bytes = params.width;
  return node;
}

base::Expected<Node> set_node(const Gpu& gpu, abi::GraphNode at) {
  abi::SetNode params;
  AKO_TRY(const ReplayCalls* calls, replay());
  AKO_TRY_STATUS(gpu.ok(calls->node_set(at, &params), "reading a captured set"));
  const bool bytes = params.element == 1 || params.value == 0;
  if (params.height > 1 || !bytes) return no_replay("a set that is not of bytes in a line");
  Node node;
  node.kind = Node::Kind::set;
  node.to = params.to;
  node.bytes = params.width * params.element;
  node.value = static_cast<std::uint8_t>(params.value);
  return node;
}

/// Indices in the order of the edges, when they are a chain.
base::Expected<std::vector<std::size_t>> chain_of(const Gpu& gpu, abi::Graph graph,
                                                  const std::vector<abi::GraphNode>& all) {
  AKO_TRY(const ReplayCalls* calls, replay());
  std::size_t count = 0;
  if (calls->graph_edges(graph, nullptr, nullptr, &count) != abi::k_success)
    return no_replay("work whose order says more than one after the other");
  std::vector<abi::GraphNode> from(count), to(count);
  if (count > 0)
    AKO_TRY_STATUS(
        gpu.ok(calls->graph_edges(graph, from.data(), to.data(), &count), "reading a graph"));
  std::map<abi::GraphNode, abi::GraphNode> next;
  std::map<abi::GraphNode, int> before;
  for (std::size_t i = 0; i < count; ++i) {
    if (next.contains(from[i])) return no_replay("work that forks into several streams");
    next[from[i]] = to[i];
    ++before[to[i]];
  }
  std::vector<std::size_t> order;
  abi::GraphNode at = nullptr;
  for (const auto& each : all)
    if (!before.contains(each)) {
      if (at) return no_replay("work in several streams");
      at = each;
    }
  for (; at && order.size() <= all.size(); at = next.contains(at) ? next[at] : nullptr)
    order.push_back(static_cast<std::size_t>(std::find(all.begin(), all.end(), at) - all.begin()));
  if (order.size() != all.size()) return no_replay("work that is no chain");
  return order;
}

} // namespace

base::Expected<std::vector<Node>> nodes_of(const Gpu& gpu, abi::Graph graph) {
  AKO_TRY(const ReplayCalls* calls, replay());
  const auto& api = *calls;
  std::size_t count = 0;
  AKO_TRY_STATUS(gpu.ok(api.graph_nodes(graph, nullptr, &count), "reading a graph"));
  if (count > k_most_nodes) return no_replay(fmt::format("{} operations", count));
  std::vector<abi::GraphNode> all(count);
  if (count > 0)
    AKO_TRY_STATUS(gpu.ok(api.graph_nodes(graph, all.data(), &count), "reading a graph"));
  AKO_TRY(const auto order, chain_of(gpu, graph, all));
  std::vector<Node> nodes;
  for (const auto i : order) {
    int type = -1;
    AKO_TRY_STATUS(gpu.ok(api.node_type(all[i], &type), "reading a graph"));
    if (type == k_node_empty) continue;
    Node node;
    if (type == k_node_kernel) {
      AKO_TRY(node, kernel_node(gpu, all[i]));
    } else if (type == k_node_copy) {
      AKO_TRY(node, copy_node(gpu, all[i]));
    } else if (type == k_node_set) {
      AKO_TRY(node, set_node(gpu, all[i]));
    } else {
      return no_replay(fmt::format("an operation of kind {}", type));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

namespace {

template <class T> T at(std::string_view bytes, std::uint64_t offset) {
  T value{};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof value)
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// The section's bytes; empty when there is none.
std::string_view section_of(std::string_view elf, std::string_view wanted) {
  if (!elf.starts_with("\x7f"
                       "ELF"))
    return {};
  const auto table = at<std::uint64_t>(elf, 40);
  const std::uint64_t entry = at<std::uint16_t>(elf, 58), count = at<std::uint16_t>(elf, 60);
  const auto names = at<std::uint64_t>(elf, table + at<std::uint16_t>(elf, 62) * entry + 24);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto here = table + i * entry;
    const auto name = names + at<std::uint32_t>(elf, here);
    if (name >= elf.size() || !elf.substr(name).starts_with(wanted) ||
        at<char>(elf, name + wanted.size()) != '\0')
      continue;
    const auto offset = at<std::uint64_t>(elf, here + 24), size = at<std::uint64_t>(elf, here + 32);
    if (offset <= elf.size() && elf.size() - offset >= size) return elf.substr(offset, size);
  }
  return {};
}

} // namespace

std::vector<std::string_view> images_of(std::string_view library) {
  // fatbin = u32 magic, u16 version, u16 header bytes, u64 bytes behind the header
  constexpr std::uint32_t k_magic = 0xba55ed50;
  constexpr std::uint64_t k_step = 8;
  std::vector<std::string_view> images;
  const auto all = section_of(library, ".nv_fatbin");
  for (std::uint64_t i = 0; i + 16 <= all.size();) {
    const auto size = at<std::uint64_t>(all, i + 8) + at<std::uint16_t>(all, i + 6);
    if (at<std::uint32_t>(all, i) != k_magic || size < 16 || size > all.size() - i) {
      i += k_step;
      continue;
    }
    images.push_back(all.substr(i, size));
    i += (size + k_step - 1) / k_step * k_step;
  }
  return images;
}

base::Expected<Replayer> Replayer::load(const Gpu& gpu, std::string_view library) {
  Replayer replayer(gpu);
  for (const auto image : images_of(library)) {
    abi::Module module = nullptr;
    // One for other architectures alone is none of ours.
    if (gpu.api().module_load(&module, image.data()) == abi::k_success)
      replayer.m_modules.push_back(module);
  }
  if (replayer.m_modules.empty()) return no_replay("the library holds no image for this device");
  return replayer;
}

base::Expected<abi::Function> Replayer::find(const std::string& name) const {
  if (const auto known = m_functions.find(name); known != m_functions.end()) return known->second;
  for (auto* module : m_modules) {
    abi::Function function = nullptr;
    if (m_gpu->api().module_function(&function, module, name.c_str()) != abi::k_success) continue;
    m_functions[name] = function;
    return function;
  }
  return no_replay(name + " is in no image of the library");
}

base::Status Replayer::launch_kernel(const Node& node, abi::Stream stream) const {
  AKO_TRY(const ReplayCalls* calls, replay());
  const auto& api = *calls;
  AKO_TRY(auto* function, find(node.name));
  if (node.shared_bytes > k_usual_shared)
    AKO_TRY_STATUS(
        m_gpu->ok(api.function_set(function, k_dynamic_shared, static_cast<int>(node.shared_bytes)),
                  "allowing shared memory"));
  if (node.carveout >= 0) (void)api.function_set(function, k_carveout, node.carveout);
  if (node.large_cluster) (void)api.function_set(function, k_large_cluster, 1);
  std::vector<void*> parameters;
  for (const auto& each : node.parameters) parameters.push_back(const_cast<char*>(each.data()));
  abi::LaunchConfig config;
  std::copy(node.grid.begin(), node.grid.end(), config.grid);
  std::copy(node.block.begin(), node.block.end(), config.block);
  config.shared_bytes = node.shared_bytes;
  config.stream = stream;
  abi::LaunchAttribute attributes[2];
  if (node.cluster != std::array<std::uint32_t, 3>{1, 1, 1}) {
    auto& attribute = attributes[config.count++];
    attribute.id = k_cluster;
    std::copy(node.cluster.begin(), node.cluster.end(), attribute.value.words);
  }
  if (node.cooperative) {
    auto& attribute = attributes[config.count++];
    attribute.id = k_cooperative;
    attribute.value.words[0] = 1;
  }
  config.attributes = attributes;
  return m_gpu->ok(api.launch(&config, function, parameters.data(), nullptr), "replaying");
}

base::Status Replayer::launch(const std::vector<Node>& nodes, abi::Stream stream) const {
  const auto& api = m_gpu->api();
  for (const auto& node : nodes) {
    if (node.kind == Node::Kind::kernel) {
      AKO_TRY_STATUS(launch_kernel(node, stream));
    } else if (node.kind == Node::Kind::set) {
      AKO_TRY_STATUS(
          m_gpu->ok(api.set_bytes(node.to, node.value, node.bytes, stream), "replaying"));
    } else {
      AKO_TRY_STATUS(
          m_gpu->ok(api.copy_within(node.to, node.from, node.bytes, stream), "replaying"));
    }
  }
  return {};
}

} // namespace ako::device
