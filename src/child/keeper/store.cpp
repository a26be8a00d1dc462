#include "keeper/store.hpp"

#include "base/fs.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/random.h>

namespace ako::keeper {

using base::ErrorKind;
using model::TensorRole;

bool is_poisoned(const protocol::ArenaTensor& tensor) {
  return tensor.resolved.role == TensorRole::out ||
         (tensor.resolved.role == TensorRole::workspace &&
          tensor.workspace == model::WorkspaceState::undefined);
}

bool is_wanted(const model::BufferPlace& place, const protocol::ArenaTensor& tensor,
               const std::vector<int>& sets) {
  if (sets.empty() || tensor.lifetime == model::Lifetime::static_) return true;
  return std::find(sets.begin(), sets.end(), place.set) != sets.end();
}

std::uint64_t random_word() {
  std::uint64_t word = 0;
  return getrandom(&word, sizeof word, 0) == sizeof word ? word : 0x5bd1e995u;
}

base::Status check_plan(const model::ArenaPlan& plan, std::size_t tensors) {
  std::int64_t end = 0;
  for (const auto& place : plan.places) {
    const bool known = place.tensor >= 0 && static_cast<std::size_t>(place.tensor) < tensors;
    const bool apart = place.offset >= end + plan.red_zone_bytes && place.bytes >= 0;
    if (!known || !apart || place.offset + place.bytes + plan.red_zone_bytes > plan.bytes)
      return base::fail(
          ErrorKind::invalid, "an arena's plan does not fit together",
          {.found = fmt::format("tensor {} set {} at {}", place.tensor, place.set, place.offset),
           .allowed = "buffers in order, red zones between, inside the arena"});
    end = place.offset + place.bytes;
  }
  return {};
}

base::Expected<inputs::FillSources> FillLibrary::sources(const protocol::FillOrder& order) {
  inputs::FillSources sources;
  const auto path_of = [&](const std::string& file) {
    return base::fs::path(file).is_absolute() ? base::fs::path(file)
                                              : base::fs::path(m_task_dir) / file;
  };
  if (order.spec.kind == model::Fill::recorded) {
    auto at = m_files.find(order.spec.file);
    if (at == m_files.end()) {
      AKO_TRY(auto content, base::read_file(path_of(order.spec.file), std::uint64_t{16} << 30));
      at = m_files.emplace(order.spec.file, std::move(content)).first;
    }
    sources.recorded = std::as_bytes(std::span(at->second));
    sources.recorded_name = at->first;
  }
  if (order.spec.kind == model::Fill::custom) {
    const auto path = path_of(order.library.empty() ? order.spec.file : order.library).string();
    auto& handle = m_libraries[path];
    if (!handle) handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      return base::fail(ErrorKind::invalid, "a custom fill cannot be loaded",
                        {.where = path, .found = dlerror()});
    sources.custom = reinterpret_cast<inputs::CustomFill>(dlsym(handle, order.spec.symbol.c_str()));
    if (!sources.custom)
      return base::fail(ErrorKind::invalid, "a custom fill has no such symbol",
                        {.where = path, .found = order.spec.symbol});
  }
  return sources;
}

} // namespace ako::keeper
