#include "client/endings.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

namespace ako::client {

using base::Json;

namespace {

constexpr std::int64_t k_near_bytes = 1 << 20;

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::int64_t distance(std::int64_t at, const model::BufferPlace& place) {
  if (at < place.offset) return place.offset - at;
  if (at >= place.offset + place.bytes) return at - (place.offset + place.bytes) + 1;
  return 0;
}

WorkerFailure crashed(const Incident& incident, const std::vector<MappedArena>& arenas) {
  WorkerFailure failure;
  failure.kind = FailureKind::crashed;
  const int signal = incident.ending.signal;
  failure.data = Json{{"signal", signal}, {"signal_name", signal_name(signal)}};
  failure.text = fmt::format("was ended by {}", signal_name(signal));
  if (!incident.crash) return failure;
  const auto& crash = *incident.crash;
  failure.data["code"] = crash.code;
  failure.data["address"] = fmt::format("{:#x}", crash.address);
  failure.data["instruction"] = fmt::format("{:#x}", crash.instruction);
  if (signal != SIGSEGV && signal != SIGBUS) return failure;
  const auto fault = locate(crash.address, arenas);
  failure.data["fault"] = fault;
  const char* access = crash.writes == 1 ? "writing" : crash.writes == 0 ? "reading" : "touching";
  failure.text = fmt::format("{} {} address {:#x}", signal_name(signal), access, crash.address);
  if (fault.contains("tensor"))
    failure.text += fmt::format(", {} bytes from the start of tensor {} of set {}",
                                fault["offset"].get<std::int64_t>(), fault["tensor"].get<int>(),
                                fault["set"].get<int>());
  return failure;
}

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

WorkerFailure killed(const MemorySeen& memory) {
  WorkerFailure failure;
  failure.data = Json{{"signal", SIGKILL},
                      {"signal_name", "SIGKILL"},
                      {"own_bytes", memory.own_bytes},
                      {"room_bytes", memory.room_bytes}};
  if (memory.short_of == false) {
    failure.kind = FailureKind::crashed;
    failure.text = "was ended by SIGKILL, which it sent itself or somebody outside did: memory was "
                   "not short";
    return failure;
  }
  const std::string share = fmt::format("{} of the {} that were free", mebibytes(memory.own_bytes),
                                        mebibytes(memory.room_bytes));
  if (memory.own_bytes >= memory.room_bytes - memory.own_bytes) {
    failure.kind = FailureKind::out_of_memory;
    failure.text = "was ended by SIGKILL for want of memory: it took " + share;
    return failure;
  }
  failure.kind = FailureKind::environment;
  failure.error =
      base::fail(base::ErrorKind::environment, "memory ran out, and not by the kernel under test",
                 {.where = "a worker, ended by SIGKILL",
                  .found = "it took " + share + " when its buffers were mapped",
                  .allowed = {},
                  .next = "free memory, use smaller shapes, or set limits.memory_bytes"})
          .value();
  failure.text = failure.error.message;
  return failure;
}

WorkerFailure ended_by_signal(const Incident& incident, const std::vector<MappedArena>& arenas,
                              const MemorySeen& memory) {
  WorkerFailure failure;
  const int signal = incident.ending.signal;
  failure.data = Json{{"signal", signal}, {"signal_name", signal_name(signal)}};
  switch (signal) {
  case SIGXFSZ:
    failure.kind = FailureKind::disk_filled;
    failure.text = "wrote a larger file than is allowed";
    return failure;
  case SIGSYS: {
    failure.kind = FailureKind::forbidden_call;
    const int number = incident.crash ? incident.crash->system_call : -1;
    const std::string name = number >= 0 ? protocol::system_call_name(number) : "";
    failure.data = Json{{"number", number}, {"name", name}};
    failure.text = fmt::format("made a system call that no kernel needs: {}",
                               name.empty() ? fmt::format("number {}", number) : name);
    return failure;
  }
  case SIGKILL: return killed(memory);
  default: return crashed(incident, arenas);
  }
}

WorkerFailure died(const Incident& incident, const std::vector<MappedArena>& arenas,
                   const MemorySeen& memory) {
  if (!incident.ending.exited) return ended_by_signal(incident, arenas, memory);
  WorkerFailure failure;
  failure.data = Json{{"code", incident.ending.code}};
  if (incident.ending.code == protocol::k_exit_channel_lost) {
    failure.kind = FailureKind::violation;
    failure.text = "closed or damaged the private channel";
  } else if (incident.ending.code == protocol::k_exit_setup_failed) {
    failure.kind = FailureKind::environment;
    failure.error =
        base::fail(base::ErrorKind::environment, "a worker process could not be set up").value();
    failure.text = failure.error.message;
  } else {
    failure.kind = FailureKind::exited;
    failure.text = fmt::format("called exit({})", incident.ending.code);
  }
  return failure;
}

WorkerFailure refused(const Incident& incident) {
  WorkerFailure failure;
  failure.text = incident.text;
  failure.data = incident.data;
  if (incident.word == "returned_error") failure.kind = FailureKind::returned_error;
  else if (incident.word == "threw") failure.kind = FailureKind::threw;
  else if (incident.word == "compile_failed") failure.kind = FailureKind::compile_failed;
  else if (incident.word == "device_fault") failure.kind = FailureKind::crashed;
  else if (incident.word == "load_failed") failure.kind = FailureKind::load_failed;
  else if (incident.word == "stale") failure.kind = FailureKind::stale;
  else {
    failure.kind = FailureKind::environment;
    const bool bug = incident.word != "environment";
    failure.error =
        base::fail(bug ? base::ErrorKind::internal : base::ErrorKind::environment, incident.text)
            .value();
  }
  return failure;
}

} // namespace

WorkerFailure failure_of(const Incident& incident, const std::string& during,
                         const std::vector<MappedArena>& arenas, const MemorySeen& memory) {
  WorkerFailure failure;
  switch (incident.kind) {
  case Incident::Kind::refused: failure = refused(incident); break;
  case Incident::Kind::died: failure = died(incident, arenas, memory); break;
  case Incident::Kind::closed:
  case Incident::Kind::violation: failure.kind = FailureKind::violation; break;
  case Incident::Kind::late: failure.kind = FailureKind::hung; break;
  case Incident::Kind::flood: failure.kind = FailureKind::output_flood; break;
  case Incident::Kind::disk: failure.kind = FailureKind::disk_filled; break;
  case Incident::Kind::threads: failure.kind = FailureKind::too_many_threads; break;
  case Incident::Kind::local:
    failure.kind = FailureKind::environment;
    failure.error = incident.error;
    break;
  }
  if (failure.text.empty()) {
    failure.text = incident.text;
    failure.data = incident.data;
  }
  failure.during = during;
  return failure;
}

Json locate(std::uint64_t address, const std::vector<MappedArena>& arenas) {
  for (const auto& arena : arenas) {
    const auto at = static_cast<std::int64_t>(address - arena.plan.address);
    if (at < -k_near_bytes || at >= arena.plan.bytes + k_near_bytes) continue;
    const model::BufferPlace* nearest = nullptr;
    for (const auto& place : arena.plan.places)
      if (!nearest || distance(at, place) < distance(at, *nearest)) nearest = &place;
    if (!nearest) continue;
    const auto away = distance(at, *nearest);
    const char* zone = at < 0 || at >= arena.plan.bytes    ? "outside"
                       : away == 0                         ? "buffer"
                       : away <= arena.plan.red_zone_bytes ? "red_zone"
                                                           : "gap";
    return Json{{"arena", arena.tag},
                {"zone", zone},
                {"tensor", nearest->tensor},
                {"set", nearest->set},
                {"offset", at - nearest->offset}};
  }
  return Json{{"zone", "outside"}};
}

std::vector<std::string> child_environment() {
  std::vector<std::string> environment{"LC_ALL=C"};
  for (const char* name : {"PATH", "AKO_GPU_PATH"})
    if (const char* value = std::getenv(name))
      environment.push_back(fmt::format("{}={}", name, value));
#if defined(__SANITIZE_ADDRESS__)
  // Leak checks stop all threads through ptrace, which children do not allow. Memory that is not
  // there is the candidate's to see. An interpreter is not built with the sanitizer: what it loads
  // is.
  environment.emplace_back(
      "ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:verify_asan_link_order=0");
#endif
#if defined(__SANITIZE_THREAD__)
  if (const char* options = std::getenv("TSAN_OPTIONS"))
    environment.push_back(fmt::format("TSAN_OPTIONS={}", options));
#endif
  return environment;
}

} // namespace ako::client
