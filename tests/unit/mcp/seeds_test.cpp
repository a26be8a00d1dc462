// The fuzzer's seeds, and with them every input that ever broke the reader, replayed without a
// fuzzer.
#include "base/fs.hpp"

#include <gtest/gtest.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ako::mcp {
namespace {

TEST(Seeds, NoneBreaksTheReader) {
  const base::fs::path folder = base::fs::path(AKO_SOURCE_DIR) / "tests/fuzz/mcp/seeds";
  const auto files = base::list_files(folder);
  ASSERT_TRUE(files) << files.error().text();
  ASSERT_GE(files->size(), 8u) << "seeds are missing";
  for (const auto& file : *files) {
    SCOPED_TRACE(file.string());
    const auto text = base::read_file(folder / file);
    ASSERT_TRUE(text) << text.error().text();
    // A broken promise ends the process.
    EXPECT_EQ(
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text->data()), text->size()),
        0);
  }
}

} // namespace
} // namespace ako::mcp
