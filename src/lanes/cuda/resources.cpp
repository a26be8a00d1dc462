#include "lanes/cuda/resources.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cxxabi.h>
#include <fmt/format.h>
#include <memory>
#include <set>

namespace ako::lanes::cuda {

using base::Json;

namespace {

/// Kept by the system at the start of each block's shared memory from sm_90 on.
constexpr int k_system_shared_bytes = 1024;

std::string demangled(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || text == nullptr) return mangled;
  std::string name = text.get();
  // Without the arguments: a kernel is known by its name and template arguments.
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
    if (name[i] == '(' && depth == 0 && name.compare(i, 11, "(anonymous ") != 0) {
      name.resize(i);
      break;
    }
  }
  return name.starts_with("void ") ? name.substr(5) : name;
}

/// The number before `what` in "Used 12 registers, used 1 barriers, 128 bytes smem"; -1 = none.
int before(std::string_view row, std::string_view what) {
  const std::size_t at = row.find(what);
  if (at == std::string_view::npos) return -1;
  std::size_t begin = at;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(row[begin - 1])) != 0) --begin;
  int value = -1;
  std::from_chars(row.data() + begin, row.data() + at, value);
  return value;
}

std::string quoted_after(std::string_view row, std::string_view key) {
  const std::size_t at = row.find(key);
  if (at == std::string_view::npos) return {};
  const std::size_t open = row.find('\'', at);
  const std::size_t close = row.find('\'', open + 1);
  if (open == std::string_view::npos || close == std::string_view::npos) return {};
  return std::string(row.substr(open + 1, close - open - 1));
}

void take_numbers(std::string_view row, KernelResources& kernel) {
  const auto take = [&](std::string_view what, int& into) {
    if (const int value = before(row, what); value >= 0) into = value;
  };
  take(" registers", kernel.registers);
  take(" barriers", kernel.barriers);
  take(" bytes smem", kernel.shared_bytes);
  take(" bytes cmem[0]", kernel.constant_bytes);
}

/// The number in "sm_90a".
int number_of(const std::string& architecture) {
  int value = 0;
  if (architecture.size() > 3)
    std::from_chars(architecture.data() + 3, architecture.data() + architecture.size(), value);
  return value;
}

const ImageKernel* image_of(const std::vector<ImageKernel>& images, const KernelResources& kernel) {
  for (const auto& image : images)
    if (image.mangled == kernel.mangled && image.number == number_of(kernel.architecture))
      return &image;
  return nullptr;
}

bool agree(const KernelResources& kernel, const ImageKernel& image) {
  const int shared = image.shared_bytes;
  const bool same_shared =
      shared == kernel.shared_bytes || shared == kernel.shared_bytes + k_system_shared_bytes;
  return image.registers == kernel.registers && same_shared &&
         (image.barriers < 0 || image.barriers == kernel.barriers) &&
         (image.stack_bytes < 0 || image.stack_bytes == kernel.stack_bytes);
}

Json kernel_json(const KernelResources& kernel, const std::vector<ImageKernel>& images) {
  Json json = {{"name", kernel.name},
               {"mangled", kernel.mangled},
               {"architecture", kernel.architecture},
               {"registers", kernel.registers},
               {"barriers", kernel.barriers},
               {"shared_bytes", kernel.shared_bytes},
               {"stack_bytes", kernel.stack_bytes},
               {"spill_store_bytes", kernel.spill_store_bytes},
               {"spill_load_bytes", kernel.spill_load_bytes},
               {"constant_bytes", kernel.constant_bytes}};
  const auto* image = image_of(images, kernel);
  if (image == nullptr) {
    json["image"] = nullptr;
    return json;
  }
  json["code_bytes"] = image->code_bytes;
  json["image"] = {{"agrees", agree(kernel, *image)},
                   {"registers", image->registers},
                   {"barriers", image->barriers},
                   {"shared_bytes", image->shared_bytes},
                   {"stack_bytes", image->stack_bytes}};
  return json;
}

} // namespace

std::vector<KernelResources> parse_ptxas(std::string_view text) {
  std::vector<KernelResources> list;
  KernelResources* current = nullptr;
  bool own = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view row = text.substr(at, end - at);
    at = end + 1;
    if (row.find("Compiling entry function") != std::string_view::npos) {
      KernelResources kernel;
      kernel.mangled = quoted_after(row, "entry function");
      kernel.architecture = quoted_after(row, " for ");
      kernel.name = demangled(kernel.mangled);
      list.push_back(std::move(kernel));
      current = &list.back();
      own = true;
    } else if (row.find("Compiling ") != std::string_view::npos) {
      current = nullptr; // a device function of its own: not launched
    }
    if (current == nullptr) continue;
    constexpr std::string_view k_properties = "Function properties for ";
    if (const std::size_t of = row.find(k_properties); of != std::string_view::npos)
      own = row.substr(of + k_properties.size()) == current->mangled; // or of a function it calls
    if (own && row.find("bytes stack frame") != std::string_view::npos) {
      current->stack_bytes = std::max(before(row, " bytes stack frame"), 0);
      current->spill_store_bytes = std::max(before(row, " bytes spill stores"), 0);
      current->spill_load_bytes = std::max(before(row, " bytes spill loads"), 0);
    } else if (row.find(": Used ") != std::string_view::npos) {
      take_numbers(row, *current);
    }
  }
  return list;
}

Json resource_report(std::string_view said, std::string_view library) {
  const auto images = read_images(library);
  Json kernels = Json::array();
  std::set<std::string> architectures;
  for (const auto& kernel : parse_ptxas(said)) {
    architectures.insert(kernel.architecture);
    kernels.push_back(kernel_json(kernel, images));
  }
  return {{"kernels", std::move(kernels)},
          {"architectures", architectures},
          {"code_hash", code_hash(library)},
          {"image_note", images.empty() ? "no uncompressed image to read: ptxas' word alone"
                                        : "confirmed by the image's own headers where agrees"}};
}

std::string resource_text(const Json& report) {
  std::string text;
  for (const auto& kernel : base::get_or<Json>(report, "kernels", Json::array())) {
    const auto number = [&](const char* key) { return base::get_or<std::int64_t>(kernel, key, 0); };
    text += fmt::format("{} {}: {} registers, {} B shared, ",
                        base::get_or<std::string>(kernel, "name", {}),
                        base::get_or<std::string>(kernel, "architecture", {}), number("registers"),
                        number("shared_bytes"));
    const auto stores = number("spill_store_bytes"), loads = number("spill_load_bytes");
    if (stores + loads > 0) text += fmt::format("SPILLS {} B out, {} B in, ", stores, loads);
    else text += "no spills, ";
    if (number("stack_bytes") > 0) text += fmt::format("{} B stack, ", number("stack_bytes"));
    text += fmt::format("{} barriers\n", number("barriers"));
  }
  return text;
}

} // namespace ako::lanes::cuda
