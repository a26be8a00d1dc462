// The parts of {fmt} that are no templates, and the templates that every user shares, compiled
// once. Debian ships them as a shared library only, and header-only use costs seconds in every
// unit.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template auto decimal_point_impl<char>(locale_ref) -> char;
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>,
                         locale_ref);
template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
} // namespace detail
FMT_END_NAMESPACE
