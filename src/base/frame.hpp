// Length-prefixed frames over a stream:  frame = u32 length | u16 kind | u16 flags | u64 id |
// payload All little-endian; length counts the payload alone and is at most k_max_payload.
#pragma once

#include "base/error.hpp"
#include "base/time.hpp"

#include <cstdint>
#include <string>

namespace ako::base {

inline constexpr std::uint32_t k_max_payload = 16u << 20;
inline constexpr std::size_t k_frame_header_bytes = 16;

struct Frame {
  std::uint16_t kind = 0;
  std::uint16_t flags = 0;
  std::uint64_t id = 0;
  std::string payload;
};

Status send_frame(int fd, const Frame& frame, Deadline deadline);
/// Kind io with found "end of stream" when the other end closed between frames; kind invalid for a
/// malformed one.
Expected<Frame> receive_frame(int fd, Deadline deadline);

/// Pure halves of the above, for tests and fuzzing.
std::string encode_frame(const Frame& frame);
struct FrameHeader {
  std::uint32_t length;
  std::uint16_t kind, flags;
  std::uint64_t id;
};
Expected<FrameHeader> decode_header(const std::byte (&bytes)[k_frame_header_bytes]);

} // namespace ako::base
