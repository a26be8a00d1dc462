# A text file as a C++ function: cmake -DSOURCE=... -DOUT=... -P EmbedKernels.cmake
file(READ ${SOURCE} text)
file(WRITE ${OUT} "#include <string_view>
namespace ako::device {
std::string_view kernel_source();
std::string_view kernel_source() {
  static constexpr char text[] = R\"ako_text(${text})ako_text\";
  return std::string_view(text, sizeof text - 1);
}
} // namespace ako::device
")
