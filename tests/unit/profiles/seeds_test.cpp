// The fuzzer's seeds, and with them every input that ever broke a reader, replayed without a
// fuzzer; each seed also cut short at many places, since half a file is the commonest damage.
#include "base/fs.hpp"

#include <gtest/gtest.h>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

namespace {

TEST(ReaderSeeds, NoneBreaksAReaderWholeOrCut) {
  const auto folder = ako::base::fs::path(AKO_SOURCE_DIR) / "tests" / "fuzz" / "profiles" / "seeds";
  const auto files = ako::base::list_files(folder);
  ASSERT_TRUE(files.has_value()) << files.error().text();
  ASSERT_GE(files->size(), 23u) << "seeds are missing";
  for (const auto& file : *files) {
    const auto bytes = ako::base::read_file(folder / file);
    ASSERT_TRUE(bytes.has_value()) << bytes.error().text();
    const auto* data = reinterpret_cast<const unsigned char*>(bytes->data());
    const std::size_t step = std::max<std::size_t>(1, bytes->size() / 97);
    for (std::size_t size = bytes->size();; size -= step) {
      EXPECT_EQ(LLVMFuzzerTestOneInput(data, size), 0) << file << " cut at " << size;
      if (size < step) break;
    }
  }
}

} // namespace
