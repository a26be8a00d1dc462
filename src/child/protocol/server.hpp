// The child's end: receives a request, hands it to a handler, sends the answer.
#pragma once

#include "base/fd.hpp"
#include "base/json.hpp"
#include "protocol/kinds.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ako::protocol {

struct Request {
  Kind kind = Kind::hello;
  std::uint64_t id = 0;
  base::Json body;
};

/// An answer that is an error; the child lives on.
struct Refusal {
  std::string kind, message; ///< "returned_error", "invalid", ...: see kinds.hpp
  base::Json data = base::Json::object();
};
template <class T> using Outcome = base::Result<T, Refusal>;

/// A base::Error as a Refusal of kind "invalid" or "environment".
Refusal refuse(const base::Error& error);

/// Error: the channel is gone or its other end spoke nonsense.
base::Expected<Request> receive_request(int fd);
/// `fds` follow the frame when there are any.
base::Status send_answer(int fd, Kind kind, std::uint64_t id, const base::Json& body,
                         const std::vector<int>& fds = {});
base::Status send_refusal(int fd, Kind kind, std::uint64_t id, const Refusal& refusal);

} // namespace ako::protocol
