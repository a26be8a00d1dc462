#include "worker/guest.hpp"

#include "protocol/crash.hpp"
#include "worker/worker.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace ako::worker {

using base::Json;
using protocol::Refusal;

Guest::Guest(const ako_guest& table) {
  std::memcpy(&m_table, &table, std::min<std::size_t>(table.size, sizeof m_table));
}

protocol::Outcome<Json> Guest::ask(const char* verb, const Json& request) const {
  const char* text = m_table.ask(m_table.user, verb, base::dump_json(request).c_str());
  const auto wrong = [&](const std::string& found) {
    return tl::unexpected(
        Refusal{"environment",
                fmt::format("the interpreter's part of the worker failed at {}: {}", verb, found),
                Json::object()});
  };
  if (!text) return wrong("no answer");
  const auto answer = base::parse_json(text, verb);
  if (!answer || !answer->is_object()) return wrong(std::string(text).substr(0, 200));
  if (const auto ok = base::get<Json>(*answer, "ok"); ok && ok->is_object()) return *ok;
  const auto refuse = base::get<Json>(*answer, "refuse");
  if (!refuse || !refuse->is_object()) return wrong(std::string(text).substr(0, 200));
  return tl::unexpected(Refusal{base::get_or<std::string>(*refuse, "kind", "threw"),
                                base::get_or<std::string>(*refuse, "message", ""),
                                base::get_or<Json>(*refuse, "data", Json::object())});
}

protocol::Outcome<Library> Guest::load(const SealedFile& file, const Json& order,
                                       Json& facts) const {
  auto library = Library::of_process();
  auto answer = ask("load", Json{{"path", fmt::format("/proc/self/fd/{}", file.fd.get())},
                                 {"hash", file.hash},
                                 {"prepare", base::get_or<bool>(order, "prepare", false)},
                                 {"plan", base::get_or<bool>(order, "plan", false)}});
  if (!answer) return tl::unexpected(answer.error());
  facts = std::move(*answer);
  library.call = m_table.call;
  if (base::get_or<bool>(facts, "has_prepare", false)) library.prepare = m_table.prepare;
  if (base::get_or<bool>(facts, "has_plan", false)) library.plan = m_table.plan;
  library.libraries = came_along(library);
  for (const auto& name : base::get_or<Json>(facts, "interposed", Json::array()))
    if (name.is_string()) library.interposed.push_back(name.get<std::string>());
  facts.erase("interposed");
  return library;
}

std::vector<std::string> Guest::restore() const {
  std::vector<std::string> changed;
  const auto answer = ask("restore", Json::object());
  if (!answer) return changed;
  for (const auto& name : base::get_or<Json>(*answer, "changed", Json::array()))
    if (name.is_string()) changed.push_back(name.get<std::string>());
  return changed;
}

Json Guest::report() const {
  auto answer = ask("report", Json::object());
  return answer ? std::move(*answer) : Json::object();
}

Refusal Guest::explain() const {
  const auto answer = ask("explain", Json::object());
  if (!answer) return answer.error();
  return {"threw", "the call failed and nothing says why", Json::object()};
}

} // namespace ako::worker

uint32_t ako_guest_abi(void) { return AKO_GUEST_ABI; }

int ako_guest_run(int channel, int crash, const char* namespaces, const ako_guest* guest) {
  if (!guest || guest->size < sizeof(guest->size)) return ako::protocol::k_exit_setup_failed;
  const ako::worker::Guest given(*guest);
  if (!given.complete()) return ako::protocol::k_exit_setup_failed;
  return ako::worker::run_guest(channel, crash, namespaces ? namespaces : "", given);
}
