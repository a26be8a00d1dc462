#include "protocol/server.hpp"

#include "base/frame.hpp"

namespace ako::protocol {

Refusal refuse(const base::Error& error) {
  const bool caller = error.kind == base::ErrorKind::invalid ||
                      error.kind == base::ErrorKind::usage ||
                      error.kind == base::ErrorKind::internal;
  return {caller ? "invalid" : "environment", error.text(), base::Json::object()};
}

base::Expected<Request> receive_request(int fd) {
  AKO_TRY(const auto frame, base::receive_frame(fd, base::Deadline::never()));
  AKO_TRY(auto body, base::parse_json(frame.payload, "request"));
  return Request{static_cast<Kind>(frame.kind), frame.id, std::move(body)};
}

namespace {

base::Status send(int fd, Kind kind, std::uint16_t flags, std::uint64_t id,
                  const base::Json& body) {
  return base::send_frame(fd, {static_cast<std::uint16_t>(kind), flags, id, base::dump_json(body)},
                          base::Deadline::never());
}

} // namespace

base::Status send_answer(int fd, Kind kind, std::uint64_t id, const base::Json& body,
                         const std::vector<int>& fds) {
  AKO_TRY_STATUS(send(fd, kind, k_answer, id, body));
  if (!fds.empty()) return base::send_fds(fd, fds, base::Deadline::never());
  return {};
}

base::Status send_refusal(int fd, Kind kind, std::uint64_t id, const Refusal& refusal) {
  return send(
      fd, kind, k_answer | k_error, id,
      base::Json{{"kind", refusal.kind}, {"message", refusal.message}, {"data", refusal.data}});
}

} // namespace ako::protocol
