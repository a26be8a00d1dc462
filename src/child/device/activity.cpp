#include "device/activity.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <mutex>

namespace ako::device {
namespace {

constexpr std::size_t k_buffer_bytes = 1 << 20, k_align = 8;
constexpr int k_activities[] = {abi::k_activity_kernel, abi::k_activity_copy, abi::k_activity_set};

// Records as CUPTI lays them out: these members have kept their places through versions 12 and 13.
struct KernelAt {
  static constexpr std::size_t start = 16, end = 24, stream = 48, correlation = 92, name = 104;
};
struct TransferAt { // copies and sets
  static constexpr std::size_t bytes = 8, start = 16, end = 24, stream = 40, correlation = 44;
};

template <class T> T read_at(const abi::ActivityHead* head, std::size_t offset) {
  T value;
  std::memcpy(&value, reinterpret_cast<const std::uint8_t*>(head) + offset, sizeof value);
  return value;
}

struct Collected {
  std::mutex mutex;
  const Cupti* api = nullptr;
  std::vector<Record> records;
};
Collected& collected() {
  static Collected all;
  return all;
}

void take_record(const abi::ActivityHead* head, std::vector<Record>& into) {
  const auto kind = read_at<int>(head, 0);
  Record record;
  if (kind == abi::k_activity_kernel) {
    record.start_ns = read_at<std::uint64_t>(head, KernelAt::start);
    record.end_ns = read_at<std::uint64_t>(head, KernelAt::end);
    record.stream = read_at<std::uint32_t>(head, KernelAt::stream);
    record.correlation = read_at<std::uint32_t>(head, KernelAt::correlation);
    if (const auto* name = read_at<const char*>(head, KernelAt::name)) record.name = name;
  } else if (kind == abi::k_activity_copy || kind == abi::k_activity_set) {
    record.kind = kind == abi::k_activity_copy ? Record::Kind::copy : Record::Kind::set;
    record.bytes = read_at<std::int64_t>(head, TransferAt::bytes);
    record.start_ns = read_at<std::uint64_t>(head, TransferAt::start);
    record.end_ns = read_at<std::uint64_t>(head, TransferAt::end);
    record.stream = read_at<std::uint32_t>(head, TransferAt::stream);
    record.correlation = read_at<std::uint32_t>(head, TransferAt::correlation);
  } else {
    return;
  }
  into.push_back(std::move(record));
}

void request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(k_align, k_buffer_bytes));
  *size = *buffer ? k_buffer_bytes : 0;
  *most = 0;
}

void complete_buffer(abi::Context, std::uint32_t, std::uint8_t* buffer, std::size_t,
                     std::size_t valid) {
  auto& all = collected();
  const std::lock_guard lock(all.mutex);
  abi::ActivityHead* head = nullptr;
  while (valid > 0 && all.api->next(buffer, valid, &head) == abi::k_success)
    take_record(head, all.records);
  std::free(buffer);
}

} // namespace

base::Expected<Activity*> Activity::start() {
  static Activity only;
  if (only.m_api) {
    only.resume();
    return &only;
  }
  AKO_TRY(const Cupti* api, cupti());
  const auto refused = [&](const char* what, abi::Result result) {
    const char* words = nullptr;
    if (api->error_text(result, &words) != abi::k_success) words = nullptr;
    return base::fail(base::ErrorKind::unsupported,
                      "device timestamps are not to be had: events are used instead",
                      {.where = what,
                       .found = words ? words : fmt::format("error {}", result),
                       .next = "end other profilers of this process"});
  };
  std::uint32_t version = 0;
  (void)api->version(&version);
  collected().api = api;
  if (const auto result = api->callbacks(request_buffer, complete_buffer))
    return refused("cuptiActivityRegisterCallbacks", result);
  for (const int kind : k_activities)
    if (const auto result = api->enable(kind)) return refused("cuptiActivityEnable", result);
  only.m_api = api;
  only.m_version = static_cast<int>(version);
  only.m_on = true;
  return &only;
}

void Activity::pause() {
  if (!m_on) return;
  for (const int kind : k_activities) (void)m_api->disable(kind);
  m_on = false;
}

void Activity::resume() {
  if (m_on) return;
  for (const int kind : k_activities) (void)m_api->enable(kind);
  m_on = true;
}

base::Expected<std::vector<Record>> Activity::collect() {
  constexpr std::uint32_t k_forced = 1;
  if (const auto result = m_api->flush(k_forced))
    return base::fail(base::ErrorKind::environment, "device timestamps did not come",
                      {.where = "cuptiActivityFlushAll", .found = fmt::format("error {}", result)});
  std::size_t lost = 0;
  if (m_api->dropped(nullptr, 0, &lost) == abi::k_success)
    m_dropped += static_cast<std::int64_t>(lost);
  std::vector<Record> records;
  {
    auto& all = collected();
    const std::lock_guard lock(all.mutex);
    records.swap(all.records);
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const Record& a, const Record& b) { return a.start_ns < b.start_ns; });
  return records;
}

} // namespace ako::device
