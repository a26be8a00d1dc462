// Hardware counters of this process's user code, where the kernel gives them.
#pragma once

#include <cstdint>

namespace ako::measure {

class Counters {
public:
  static constexpr std::uint64_t k_unknown = UINT64_MAX;
  Counters() = default;
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  ~Counters();
  void open(); ///< threads started later are counted too; refusal leaves available() false
  bool available() const { return m_fds[0] >= 0 || m_fds[1] >= 0 || m_fds[2] >= 0; }
  void reset() const;
  void start() const;
  void stop() const;
  /// cycles, instructions, last-level cache misses since reset(); k_unknown where not counted.
  void read(std::uint64_t (&values)[3]) const;

private:
  int m_fds[3] = {-1, -1, -1};
};

} // namespace ako::measure
