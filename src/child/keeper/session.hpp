// The keeper's conversation.
#pragma once

#include "base/fd.hpp"
#include "base/shm.hpp"
#include "device/gpu.hpp"
#include "keeper/device_keeper.hpp"
#include "keeper/store.hpp"
#include "measure/ticks.hpp"
#include "protocol/server.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ako::keeper {

class Session {
public:
  explicit Session(int channel) : m_channel(channel) {}
  int run();

private:
  /// What goes back: JSON, and descriptors beside it.
  struct Reply {
    base::Json body = base::Json::object();
    std::vector<int> fds;
  };
  using Answer = base::Expected<Reply>;
  Answer dispatch(const protocol::Request& request);
  Answer hello() const;
  Answer configure(const base::Json& body);
  Answer create(const base::Json& body);
  Answer destroy(const base::Json& body);
  Answer fill(const base::Json& body);
  Answer poison(const base::Json& body);
  Answer check(const base::Json& body);
  Answer sums(const base::Json& body);
  Answer copy(const base::Json& body);
  Answer machine(const base::Json& body);
  Answer sweep();
  Answer move_host(const base::Json& body, bool read);
  Answer evict_from_host(std::int64_t evict_bytes);
  void write_evict();
  base::Expected<Store*> arena(const base::Json& body, const char* key = "arena");

  int m_channel;
  std::vector<int> m_cores;
  base::Mapping m_evict_read; ///< made by the first sweep
  measure::Ticks m_ticks;
  std::vector<int> m_helpers; ///< cores for work between blocks
  std::unique_ptr<FillLibrary> m_library;
  base::UniqueFd m_evict, m_evict_read_only;
  std::optional<base::Mapping> m_evict_unwritten; ///< shared already, to be written next
  std::unique_ptr<DeviceKeeper> m_device;         ///< absent on the host; arenas lie in its context
  std::map<std::string, std::unique_ptr<Store>> m_arenas;
};

} // namespace ako::keeper
