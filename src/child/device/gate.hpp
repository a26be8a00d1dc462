// Holds a stream until everything is queued behind it: the device waits for a word in host memory.
#pragma once

#include "device/gpu.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace ako::device {

class Gate {
public:
  Gate() = default;
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Takes the word and starts the watch. A device without stream memory operations stays without a
  /// gate: unavailable() says why.
  base::Status open_on(const Gpu& gpu);
  /// What comes into `stream` from here on waits. Without a gate nothing happens.
  base::Status close(abi::Stream stream);
  void open();
  /// The watch opened it because queueing did not end: the kernel waits for the device itself.
  bool opened_early() const { return m_early; }
  const std::string& unavailable() const { return m_unavailable; }
  void give_up(std::string why) { m_unavailable = std::move(why); }

private:
  void watch();
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool closed = false, ended = false;
    std::int64_t closed_at_ns = 0;
  };
  void write(std::uint32_t value);
  const Gpu* m_gpu = nullptr;
  Pinned m_word;
  std::uint32_t m_turn = 0;
  std::atomic<bool> m_early{false};
  std::string m_unavailable;
  std::unique_ptr<Shared> m_shared;
  std::thread m_watch;
};

} // namespace ako::device
