// See AkoFlags.cmake.

// An inline function in a precompiled header has every unit compile the templates that it calls,
// used or not. The literal ""_json calls the whole parser of JSON: 1.5 s a unit. Nobody here writes
// that literal; its body becomes a template that nobody calls.
#define _json(text, length)                                                                        \
  _json(const char*, std::size_t);                                                                 \
  template <class Unused> nlohmann::json unused_json_literal(text, length)
#include <nlohmann/json.hpp>
#undef _json

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <variant>
#include <vector>
