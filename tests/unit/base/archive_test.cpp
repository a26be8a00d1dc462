// Archives come back byte for byte, are readable by tar, and nothing damaged or hostile is read.
#include "base/archive.hpp"
#include "base/fs.hpp"
#include "base/process.hpp"

#include <gtest/gtest.h>

namespace ako::base {
namespace {

class Archives : public testing::Test {
protected:
  Archives()
      : m_dir(TemporaryDir::make("ako-archive-test-").value()), file(m_dir.path() / "a.tar.gz") {}
  void sh(const std::string& script) {
    CommandOptions options;
    options.argv = {"/bin/bash", "-ec", script};
    options.cwd = m_dir.path().string();
    auto result = run_command(options);
    ASSERT_TRUE(result && result->ok()) << script << (result ? result->err : "");
    said = result->out;
  }
  TemporaryDir m_dir;
  fs::path file;
  std::string said;
};

const std::vector<ArchiveFile> k_files = {
    {"MANIFEST.json", "{}"},
    {"empty", ""},
    {"sources/iter-1/solution/k.cpp", std::string(512, 'x')},
    {"ledger.sqlite", std::string("a\0b\xff", 4)},
    {std::string(150, 'd') + "/" + std::string(60, 'f'), "long\n"}};

TEST_F(Archives, ComeBackByteForByte) {
  ASSERT_TRUE(write_archive(file, k_files));
  const auto back = read_archive(file);
  ASSERT_TRUE(back) << back.error().text();
  ASSERT_EQ(back->size(), k_files.size());
  for (std::size_t i = 0; i < k_files.size(); ++i) {
    EXPECT_EQ((*back)[i].path, k_files[i].path);
    EXPECT_EQ((*back)[i].content, k_files[i].content);
  }
}

TEST_F(Archives, TheSameFilesGiveTheSameBytesAndTarReadsThem) {
  ASSERT_TRUE(write_archive(file, k_files));
  ASSERT_TRUE(write_archive(m_dir.path() / "b.tar.gz", k_files));
  sh("cmp a.tar.gz b.tar.gz; mkdir x; tar -xzf a.tar.gz -C x; cat x/d*/f*; tar -tzf a.tar.gz | wc "
     "-l");
  EXPECT_EQ(said, "long\n5\n");
}

TEST_F(Archives, ThoseThatTarMakesOfFilesAreReadToo) {
  sh("mkdir d; echo hi > d/f; tar --format=ustar -czf a.tar.gz d/f");
  const auto back = read_archive(file);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ((*back)[0].content, "hi\n");
}

std::string contents(const Expected<std::vector<ArchiveFile>>& files) {
  std::string all;
  if (files)
    for (const auto& each : *files) all += each.path + "\n" + each.content + "\n";
  return all;
}

TEST_F(Archives, CutDamagedAndHostileOnesAreRefused) {
  ASSERT_TRUE(write_archive(file, k_files));
  const std::string whole = read_file(file).value();
  const auto refused = [&](const std::string& bytes) {
    EXPECT_TRUE(write_file_atomic(file, bytes));
    const auto back = read_archive(file);
    return !back && back.error().kind == ErrorKind::invalid;
  };
  EXPECT_TRUE(refused(whole.substr(0, whole.size() / 2)));
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused("no archive at all"));
  int caught = 0, tried = 0; // how many there are depends on how well it was packed
  for (std::size_t at = 20; at < whole.size(); at += whole.size() / 40 + 1) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    ++tried;
    if (refused(bytes)) ++caught;
    // A run of zeros can be told in several ways: such a bit changes nothing that is read.
    else EXPECT_EQ(contents(read_archive(file)), contents(k_files)) << "byte " << at;
  }
  EXPECT_GE(tried, 20);
  EXPECT_GE(caught, tried - 5);
  for (const char* script :
       {"ln -s /etc/passwd l; tar -czf a.tar.gz l", "mkfifo p; tar -czf a.tar.gz p",
        "mkdir q; echo x > q/f; tar -czf a.tar.gz -P $PWD/q/f",
        "mkdir -p r/s; echo x > r/f; cd r/s; tar -czPf ../../a.tar.gz ../f"}) {
    sh(script);
    EXPECT_FALSE(read_archive(file)) << script;
  }
  ASSERT_TRUE(write_archive(file, {{"big", std::string(1 << 20, 'b')}}));
  EXPECT_FALSE(read_archive(file, 1 << 16));
  EXPECT_FALSE(write_archive(file, {{"../out", "x"}}));
  EXPECT_FALSE(write_archive(file, {{"twice", "x"}, {"twice", "y"}}));
}

} // namespace
} // namespace ako::base
