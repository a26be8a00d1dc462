// The worker's conversation: receives commands in the main thread, runs the candidate there too.
#pragma once

#include "ako/measure.h"
#include "base/fd.hpp"
#include "base/shm.hpp"
#include "protocol/server.hpp"
#include "worker/device_worker.hpp"
#include "worker/guest.hpp"
#include "worker/library.hpp"
#include "worker/namespaces.hpp"
#include "worker/process_state.hpp"
#include "worker/replay.hpp"
#include "worker/vault.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ako::worker {

struct SessionOptions {
  int channel = -1;
  Namespaces namespaces;
  const Guest* guest = nullptr; ///< of an interpreter that is the worker; outlives the session
};

struct MeasureCloser {
  void operator()(ako_measure* context) const { ako_measure_close(context); }
};

class Session {
public:
  explicit Session(const SessionOptions& options);
  /// Until `quit` or until the channel is gone; the exit code.
  int run();

private:
  using Answer = protocol::Outcome<base::Json>;
  Answer dispatch(const protocol::Request& request);
  Answer hello() const;
  Answer configure(const base::Json& body);
  Answer share(const base::Json& body);
  Answer load(const base::Json& body);
  Answer map(const base::Json& body);
  Answer unmap(const base::Json& body);
  Answer use(const base::Json& body);
  Answer call(const base::Json& body);
  Answer sample(const base::Json& body);
  Answer residency(const base::Json& body);
  Answer share_device(const base::Json& body);
  Answer map_device(const base::Json& body);
  Answer call_device(const base::Json& body, ako_call_fn function, const char* name);
  Answer sample_device(const base::Json& body);
  Answer residency_device(const base::Json& body);
  Answer load_images(const base::Json& body);
  Answer capture(const base::Json& body);
  Answer replay(const base::Json& body);
  std::vector<std::string> device_libraries();
  protocol::Outcome<device::SampleJob> device_job(const base::Json& body);

  protocol::Outcome<std::vector<base::UniqueFd>> take_fds(std::size_t count);
  protocol::Outcome<base::UniqueFd> take_fd();
  protocol::Outcome<void> open_measure();
  protocol::Outcome<std::vector<void* const*>> sets_of(const base::Json& body, const char* key);
  /// Runs candidate code with the vault shut; an exception becomes a refusal "threw".
  protocol::Outcome<void> guarded(const std::function<void()>& body);

  /// State of the process, the device and the interpreter that a command left changed, put back.
  std::vector<std::string> restored();
  /// The refusal for a call that returned `code`.
  protocol::Refusal returned(const std::string& name, int code, base::Json data) const;
  /// What the guest compiled meanwhile goes into an answer.
  void add_report(base::Json& answer) const;

  Vault m_vault;
  Namespaces m_namespaces;
  const Guest* m_guest = nullptr;
  base::Json m_guest_facts = base::Json::object();
  bool m_configured = false, m_filtered = false;
  std::unique_ptr<DeviceWorker> m_device; ///< absent on the host
  std::unique_ptr<Replay> m_replay;       ///< of a worker that holds device code alone
  base::Mapping m_evict;
  std::unique_ptr<ako_measure, MeasureCloser> m_measure;
  std::optional<SealedFile> m_file;
  std::optional<Library> m_library;
  std::optional<ProcessState> m_state;
  std::map<std::string, base::Mapping> m_arenas;
  std::vector<std::int64_t> m_integers, m_bytes;
  std::vector<double> m_scalars;
  std::vector<std::vector<void*>> m_pointers; ///< [set][tensor]
};

} // namespace ako::worker
