#include "profiles/names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace ako::profiles {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

/// Words of a name: "executeContext_1(512)" is execute, context, 1, 512.
std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  bool open = false;
  for (std::size_t i = 0; i < text.size() && all.size() < 64; ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const bool digit = std::isdigit(c), letter = std::isalpha(c);
    const unsigned char last = i ? static_cast<unsigned char>(text[i - 1]) : ' ';
    const bool turns = (std::isupper(c) && std::islower(last)) ||
                       (digit != bool(std::isdigit(last)) && (digit || letter));
    if (!digit && !letter) {
      open = false;
      continue;
    }
    if (!open || turns) all.emplace_back();
    open = true;
    all.back() += lower(text[i]);
  }
  return all;
}

struct Family {
  std::string_view name;
  std::array<std::string_view, 12> signs; ///< parts of lower-case names; unused ones are empty
};

// The first row with a sign in the name decides: what names the purpose stands before what names
// the mechanics.
constexpr std::array k_families = {
    Family{"collective",
           {"nccl", "allreduce", "all_reduce", "allgather", "all_gather", "reducescatter",
            "reduce_scatter", "nvshmem", "cross_device_reduce", "deep_ep", "alltoall"}},
    Family{"attention", {"flash", "fmha", "attention", "attn", "sdpa", "_mla", "mla_", "paged_kv"}},
    Family{"key-value cache", {"reshape_and_cache", "kv_cache", "kvcache", "concat_and_cache"}},
    Family{"mixture of experts", {"moe", "expert", "topk_gating", "topkgating"}},
    Family{"convolution", {"conv", "winograd", "im2col", "dgrad", "wgrad"}},
    Family{"matrix product",
           {"gemm", "nvjet", "matmul", "cutlass", "splitkreduce", "xmma", "16816", "gemv", "marlin",
            "triton_tem", "cublas", "_mm_"}},
    Family{"softmax", {"softmax"}},
    Family{"normalisation", {"norm"}},
    Family{"position embedding", {"rope", "rotary"}},
    Family{"quantisation", {"quant", "to_fp8", "scaled_fp8"}},
    Family{"sampling and sorting",
           {"sampl", "sort", "topk", "top_k", "argmax", "multinomial", "radix", "penalt"}},
    Family{"optimizer", {"adam", "multi_tensor_apply", "multitensorapply", "sgd"}},
    Family{"gather and scatter",
           {"embedding", "gather", "scatter", "index_select", "indexselect", "index_", "_index"}},
    Family{"layout and copy",
           {"transpose", "permute", "copy", "catarray", "nchw", "nhwc", "cat_", "pad_"}},
    Family{"elementwise",
           {"elementwise", "pointwise", "triton_poi", "silu", "gelu", "act_and_mul", "relu",
            "sigmoid", "dropout", "fill", "_add", "_mul"}},
    Family{"reduction", {"reduce", "reduction", "triton_red", "triton_per", "sum", "scan"}}};

std::string_view family_by_signs(std::string_view lower_name) {
  for (const Family& family : k_families)
    for (std::string_view sign : family.signs)
      if (!sign.empty() && lower_name.find(sign) != std::string_view::npos) return family.name;
  return {};
}

bool is_number_above_zero(const std::string& word) {
  return word.find_first_not_of("0123456789") == std::string::npos &&
         word.find_first_not_of('0') != std::string::npos;
}

/// "execute_context_1(512)_generation_8(8)" says how many requests of each kind a step holds.
std::string_view counted_phase(const std::vector<std::string>& all) {
  bool any = false, prefill = false, decode = false;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const std::string& number = all[i + 1];
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    if (all[i] == "context" || all[i] == "prefill")
      any = true, prefill = is_number_above_zero(number);
    if (all[i] == "generation" || all[i] == "decode")
      any = true, decode = is_number_above_zero(number);
  }
  if (!any) return {};
  return prefill && decode ? "mixed" : prefill ? "prefill" : decode ? "decode" : "";
}

} // namespace

std::string short_name(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  std::string out;
  int angle = 0, round = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    // Some tools spell the anonymous namespace so.
    constexpr std::string_view k_unnamed = "<unnamed>::";
    if (!angle && name.substr(i).starts_with(k_unnamed)) {
      i += k_unnamed.size() - 1;
      continue;
    }
    if (c == '<') ++angle;
    if (c == '(') {
      // "(anonymous namespace)::" is part of the name, the first other parenthesis ends it.
      constexpr std::string_view k_anonymous = "(anonymous namespace)::";
      if (name.substr(i).starts_with(k_anonymous)) {
        i += k_anonymous.size() - 1;
        continue;
      }
      if (!angle) break;
      ++round;
    }
    if (!angle && !round) out += c;
    if (c == '>' && angle > 0) --angle;
    if (c == ')' && round > 0) --round;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out.empty() ? std::string(name) : out;
}

std::string_view family_of(std::string_view kernel_name) {
  // The function's own name before its template arguments: a functor there says less.
  if (auto family = family_by_signs(lowered(short_name(kernel_name))); !family.empty())
    return family;
  if (auto family = family_by_signs(lowered(kernel_name.substr(0, 2000))); !family.empty())
    return family;
  return "other";
}

std::string_view phase_of(std::string_view annotation) {
  const std::vector<std::string> all = words(annotation);
  auto has = [&](std::string_view word) {
    return std::find(all.begin(), all.end(), word) != all.end();
  };
  if (auto counted = counted_phase(all); !counted.empty()) return counted;
  const bool prefill =
      has("prefill") || has("extend") || (has("context") && (has("step") || has("phase")));
  const bool decode =
      has("decode") || has("decoding") || (has("generation") && (has("step") || has("phase")));
  if (prefill && decode) return "mixed";
  if (prefill) return "prefill";
  if (decode) return "decode";
  if (has("backward") || has("bwd")) return "backward";
  if (has("optimizer")) return "optimizer";
  if (has("forward") || has("fwd")) return "forward";
  return {};
}

} // namespace ako::profiles
