#include "base/frame.hpp"

#include "base/fd.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace ako::base {

namespace {

/// The payload is read in steps of this size, so that a forged length costs no memory by itself.
constexpr std::size_t k_step_bytes = 1u << 20;

template <class T> void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

template <class T> T take(const std::byte* bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value =
        static_cast<T>(value | (static_cast<T>(std::to_integer<unsigned>(bytes[i])) << (8 * i)));
  return value;
}

bool is_end(const Error& error) {
  return error.kind == ErrorKind::io && error.found == "end of stream";
}

tl::unexpected<Error> torn(const char* part) {
  return fail(ErrorKind::invalid, "the stream ended inside a frame",
              {.where = part, .found = "end of stream", .allowed = "a whole frame", .next = {}});
}

tl::unexpected<Error> too_long(std::uint64_t length) {
  return fail(ErrorKind::invalid, "a frame is too long",
              {.where = "length",
               .found = fmt::format("{} bytes", length),
               .allowed = fmt::format("at most {} bytes", k_max_payload),
               .next = "send bulk data through a memory file"});
}

} // namespace

std::string encode_frame(const Frame& frame) {
  AKO_CHECK(frame.payload.size() <= k_max_payload, "frame payload over its bound");
  std::string out;
  out.reserve(k_frame_header_bytes + frame.payload.size());
  put(out, static_cast<std::uint32_t>(frame.payload.size()));
  put(out, frame.kind);
  put(out, frame.flags);
  put(out, frame.id);
  out += frame.payload;
  return out;
}

Expected<FrameHeader> decode_header(const std::byte (&bytes)[k_frame_header_bytes]) {
  const FrameHeader header{take<std::uint32_t>(bytes), take<std::uint16_t>(bytes + 4),
                           take<std::uint16_t>(bytes + 6), take<std::uint64_t>(bytes + 8)};
  if (header.length > k_max_payload) return too_long(header.length);
  return header;
}

Status send_frame(int fd, const Frame& frame, Deadline deadline) {
  if (frame.payload.size() > k_max_payload) return too_long(frame.payload.size());
  const std::string bytes = encode_frame(frame);
  return write_all(fd, std::as_bytes(std::span(bytes)), deadline);
}

Expected<Frame> receive_frame(int fd, Deadline deadline) {
  std::byte bytes[k_frame_header_bytes];
  AKO_TRY_STATUS(read_all(fd, std::span(bytes).first(1), deadline)); // an end here is a clean one
  const auto rest = read_all(fd, std::span(bytes).subspan(1), deadline);
  if (!rest) {
    if (is_end(rest.error())) return torn("header");
    return tl::unexpected(rest.error());
  }
  AKO_TRY(const FrameHeader header, decode_header(bytes));

  Frame frame{header.kind, header.flags, header.id, {}};
  while (frame.payload.size() < header.length) {
    const std::size_t have = frame.payload.size();
    frame.payload.resize(have + std::min(k_step_bytes, header.length - have));
    const auto step =
        read_all(fd, std::as_writable_bytes(std::span(frame.payload)).subspan(have), deadline);
    if (!step) {
      if (is_end(step.error())) return torn("payload");
      return tl::unexpected(step.error());
    }
  }
  return frame;
}

} // namespace ako::base
