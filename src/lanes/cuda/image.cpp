// Reading device images: 64-bit little-endian ELF of machine 190, as it lies in .nv_fatbin.
//
//   section .text.<kernel>        code; the kernel's name is the rest of the section's
//   section .nv.shared.<kernel>   size = static shared memory
//   section .nv.info              attributes of all kernels, each {u32 symbol, u32 value}:
//                                 0x2f registers, 0x11 frame, 0x12 least stack
//   section .nv.info.<kernel>     attributes of one: 0x4c barriers
//   attribute = u8 format, u8 code, u16 (value, or length when format is 4) [bytes]
#include "lanes/cuda/resources.hpp"

#include <algorithm>
#include <cstring>
#include <map>

namespace ako::lanes::cuda {

namespace {

template <class T> std::optional<T> load(std::string_view bytes, std::uint64_t at) {
  T value;
  if (at > bytes.size() || bytes.size() - at < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string_view part(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  if (at > bytes.size() || bytes.size() - at < size) return {};
  return bytes.substr(at, size);
}

std::string text_at(std::string_view table, std::uint64_t at) {
  if (at >= table.size()) return {};
  const std::string_view rest = table.substr(at);
  return std::string(rest.substr(0, rest.find('\0')));
}

struct Section {
  std::string name;
  std::uint32_t type = 0, link = 0;
  std::uint64_t size = 0;
  std::string_view bytes; ///< empty for what holds no bytes
};

constexpr std::uint32_t k_no_bits = 8, k_symbols = 2;

std::vector<Section> sections_of(std::string_view elf) {
  std::vector<Section> list;
  const auto table = load<std::uint64_t>(elf, 40);
  const auto entry = load<std::uint16_t>(elf, 58), count = load<std::uint16_t>(elf, 60),
             names = load<std::uint16_t>(elf, 62);
  if (!table || !entry || !count || !names || *entry < 64 || *table > elf.size()) return list;
  std::vector<std::uint32_t> offsets;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const std::uint64_t at = *table + i * *entry;
    const auto name = load<std::uint32_t>(elf, at), type = load<std::uint32_t>(elf, at + 4),
               link = load<std::uint32_t>(elf, at + 40);
    const auto offset = load<std::uint64_t>(elf, at + 24), size = load<std::uint64_t>(elf, at + 32);
    if (!name || !type || !link || !offset || !size) return {};
    Section section;
    section.type = *type;
    section.link = *link;
    section.size = *size;
    if (*type != k_no_bits) section.bytes = part(elf, *offset, *size);
    offsets.push_back(*name);
    list.push_back(std::move(section));
  }
  if (*names >= list.size()) return {};
  for (std::size_t i = 0; i < list.size(); ++i)
    list[i].name = text_at(list[*names].bytes, offsets[i]);
  return list;
}

/// Calls visit(code, format, value, bytes) for each attribute.
template <class F> void for_each_attribute(std::string_view info, F visit) {
  for (std::uint64_t at = 0; at + 4 <= info.size();) {
    const auto format = static_cast<unsigned char>(info[at]);
    const auto code = static_cast<unsigned char>(info[at + 1]);
    const auto value = load<std::uint16_t>(info, at + 2).value_or(0);
    at += 4;
    std::string_view bytes;
    if (format == 4) {
      bytes = part(info, at, value);
      at += value;
    }
    visit(code, format, value, bytes);
  }
}

std::map<std::uint32_t, std::string> symbol_names(const std::vector<Section>& sections) {
  std::map<std::uint32_t, std::string> names;
  for (const auto& section : sections) {
    if (section.type != k_symbols || section.link >= sections.size()) continue;
    const std::string_view texts = sections[section.link].bytes;
    for (std::uint32_t i = 0; (i + 1) * 24ull <= section.bytes.size(); ++i)
      names[i] = text_at(texts, load<std::uint32_t>(section.bytes, i * 24ull).value_or(0));
  }
  return names;
}

void read_attributes(const std::vector<Section>& sections,
                     std::map<std::string, ImageKernel>& kernels) {
  const auto names = symbol_names(sections);
  const auto kernel_of = [&](std::string_view bytes) -> ImageKernel* {
    const auto symbol = names.find(load<std::uint32_t>(bytes, 0).value_or(UINT32_MAX));
    if (symbol == names.end()) return nullptr;
    const auto found = kernels.find(symbol->second);
    return found == kernels.end() ? nullptr : &found->second;
  };
  for (const auto& section : sections) {
    constexpr std::string_view k_info = ".nv.info";
    if (!section.name.starts_with(k_info)) continue;
    const bool own = section.name.size() > k_info.size();
    for_each_attribute(section.bytes, [&](int code, int, int value, std::string_view bytes) {
      if (own && code == 0x4c) {
        const auto found = kernels.find(section.name.substr(k_info.size() + 1));
        if (found != kernels.end()) found->second.barriers = value & 0xff;
      }
      if (own || (code != 0x2f && code != 0x11)) return;
      ImageKernel* kernel = kernel_of(bytes);
      const auto number = load<std::uint32_t>(bytes, 4);
      if (kernel == nullptr || !number) return;
      (code == 0x2f ? kernel->registers : kernel->stack_bytes) = static_cast<int>(*number);
    });
  }
}

/// Calls visit(elf) for each device image.
template <class F> void for_each_image(std::string_view bytes, F visit) {
  constexpr std::string_view k_magic("\x7f"
                                     "ELF\x02\x01",
                                     6);
  constexpr std::uint16_t k_cuda_machine = 190;
  for (std::size_t at = bytes.find(k_magic); at != std::string_view::npos;
       at = bytes.find(k_magic, at + 1)) {
    const std::string_view elf = bytes.substr(at);
    if (load<std::uint16_t>(elf, 18) == k_cuda_machine) visit(elf);
  }
}

constexpr std::string_view k_text = ".text.";

} // namespace

std::vector<ImageKernel> read_images(std::string_view bytes) {
  std::vector<ImageKernel> all;
  for_each_image(bytes, [&](std::string_view elf) {
    const auto sections = sections_of(elf);
    const std::uint32_t flags = load<std::uint32_t>(elf, 48).value_or(0);
    // The number moved by one byte with version 8 of the image's own ABI.
    const bool moved = elf.size() > 8 && static_cast<unsigned char>(elf[8]) >= 8;
    std::map<std::string, ImageKernel> kernels;
    std::vector<std::string> order;
    for (const auto& section : sections) {
      if (!section.name.starts_with(k_text)) continue;
      ImageKernel kernel;
      kernel.mangled = section.name.substr(k_text.size());
      kernel.number = static_cast<int>(moved ? (flags >> 8) & 0xff : flags & 0xff);
      kernel.code_bytes = static_cast<std::int64_t>(section.size);
      order.push_back(kernel.mangled);
      kernels[kernel.mangled] = kernel;
    }
    constexpr std::string_view k_shared = ".nv.shared.";
    for (const auto& section : sections)
      if (section.name.starts_with(k_shared))
        if (auto found = kernels.find(section.name.substr(k_shared.size())); found != kernels.end())
          found->second.shared_bytes = static_cast<int>(section.size);
    read_attributes(sections, kernels);
    for (const auto& name : order) all.push_back(kernels[name]);
  });
  return all;
}

base::Hash code_hash(std::string_view bytes) {
  std::vector<std::string> parts;
  for_each_image(bytes, [&](std::string_view elf) {
    for (const auto& section : sections_of(elf))
      if (section.name.starts_with(k_text)) parts.push_back(base::sha256(section.bytes));
  });
  if (parts.empty()) return {};
  std::sort(parts.begin(), parts.end());
  base::Hasher hasher;
  for (const auto& each : parts) hasher.add_field(each);
  return hasher.finish();
}

} // namespace ako::lanes::cuda
