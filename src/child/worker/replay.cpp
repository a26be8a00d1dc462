#include "worker/replay.hpp"

#include "protocol/values.hpp"
#include "worker/session.hpp"

#include <sys/stat.h>

namespace ako::worker {

using base::Json;
using protocol::Refusal;

namespace {

Replay* s_only = nullptr; ///< an entry is a plain function

tl::unexpected<Refusal> not_replayed(std::string message) {
  return tl::unexpected(Refusal{"invalid", std::move(message), Json::object()});
}

} // namespace

base::Expected<std::unique_ptr<Replay>> Replay::load(const device::Gpu& gpu,
                                                     const SealedFile& file) {
  struct stat info {};
  if (fstat(file.fd.get(), &info) != 0)
    return base::fail_errno("the artifact cannot be read", "replay", errno);
  AKO_TRY(auto mapping, base::Mapping::map(file.fd.get(), static_cast<std::size_t>(info.st_size), 0,
                                           base::Access::read));
  std::unique_ptr<Replay> replay(new Replay(std::move(mapping)));
  const std::string_view bytes(reinterpret_cast<const char*>(replay->m_file.data()),
                               replay->m_file.size());
  AKO_TRY(auto replayer, device::Replayer::load(gpu, bytes));
  replay->m_replayer = std::make_unique<device::Replayer>(std::move(replayer));
  s_only = replay.get();
  return replay;
}

Replay::~Replay() {
  if (s_only == this) s_only = nullptr;
}

int Replay::call(void* const* tensors, const std::int64_t*, const double*, void* stream) {
  if (!s_only) return k_unknown;
  const auto known = s_only->m_nodes.find(tensors);
  if (known == s_only->m_nodes.end()) return k_unknown;
  const auto done =
      s_only->m_replayer->launch(known->second, static_cast<device::abi::Stream>(stream));
  if (done) return 0;
  s_only->m_why = done.error().text();
  return k_unknown;
}

Session::Answer Session::load_images(const Json&) {
  if (!m_device) return not_replayed("device code is loaded on a device");
  auto replay = Replay::load(m_device->gpu(), *m_file);
  if (!replay) return tl::unexpected(Refusal{"load_failed", replay.error().text(), Json::object()});
  m_replay = std::move(*replay);
  m_library = Library::of_process();
  m_library->call = Replay::call;
  return Json{{"hash", m_file->hash}};
}

Session::Answer Session::capture(const Json& body) {
  if (!m_library || !m_device) return not_replayed("nothing is loaded on a device");
  auto sets = sets_of(body, "sets");
  if (!sets) return tl::unexpected(sets.error());
  Json list = Json::array();
  for (const auto* tensors : *sets) {
    base::Expected<device::Sampler::Captured> captured;
    const auto ran = guarded([&] {
      captured = m_device->sampler().capture_once(m_library->call, tensors, m_integers.data(),
                                                  m_scalars.data());
    });
    if (!ran) return tl::unexpected(ran.error());
    if (!captured) return Json{{"nodes", Json::array()}, {"why", captured.error().text()}};
    if (captured->code != 0)
      return Json{{"nodes", Json::array()},
                  {"why", returned("ako_call", captured->code, Json::object()).message}};
    list.push_back(device::to_json(captured->nodes));
  }
  m_device->sampler().forget();
  return Json{{"nodes", std::move(list)}, {"why", ""}};
}

Session::Answer Session::replay(const Json& body) {
  if (!m_replay) return not_replayed("this worker was not loaded for a replay");
  const auto lists = base::get<Json>(body, "nodes");
  if (!lists || !lists->is_array() || lists->size() > m_pointers.size())
    return not_replayed("no nodes, or more than sets are bound");
  std::map<void* const*, std::vector<device::Node>> nodes;
  for (std::size_t set = 0; set < lists->size(); ++set) {
    auto parsed = device::nodes_from_json((*lists)[set]);
    if (!parsed) return tl::unexpected(protocol::refuse(parsed.error()));
    nodes[m_pointers[set].data()] = std::move(*parsed);
  }
  m_replay->use(std::move(nodes));
  return Json::object();
}

} // namespace ako::worker
