// What the candidate should not find lying about: the channel's number and the id of the request in
// flight, on a page that nobody can read while its code runs.
#pragma once

#include <cstdint>

namespace ako::worker {

class Vault {
public:
  struct Secrets {
    int channel = -1;
    std::uint64_t request_id = 0;
  };
  Vault(); ///< aborts when there is no page to be had
  Vault(const Vault&) = delete;
  Vault& operator=(const Vault&) = delete;
  Secrets& open(); ///< readable and writable until lock()
  void lock();     ///< and overwrites the dead stack below, where copies may lie

private:
  Secrets* m_page;
};

} // namespace ako::worker
