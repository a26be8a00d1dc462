#include "base/hash.hpp"

#include "base/fs.hpp"

#include <gtest/gtest.h>

namespace ako::base {
namespace {

// FIPS 180-4 examples.
TEST(Hash, MatchesThePublishedValues) {
  EXPECT_EQ(sha256(std::string_view("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256(std::string_view("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hash, PiecesMakeTheWhole) {
  Hasher hasher;
  hasher.add("a").add("").add("bc");
  EXPECT_EQ(hasher.finish(), sha256(std::string_view("abc")));
}

TEST(Hash, FieldsCannotBeShifted) {
  EXPECT_NE(Hasher().add_field("ab").add_field("c").finish(),
            Hasher().add_field("a").add_field("bc").finish());
  EXPECT_EQ(Hasher().add("ab").add("c").finish(), Hasher().add("a").add("bc").finish())
      << "plain pieces can: that is what fields are for";
}

TEST(Hash, OfAFileIsThatOfItsBytes) {
  auto dir = TemporaryDir::make("ako-hash");
  ASSERT_TRUE(dir);
  const std::string content(3'000'000, 'z');
  ASSERT_TRUE(write_file_atomic(dir->path() / "f", content));
  EXPECT_EQ(sha256_file(dir->path() / "f").value(), sha256(content));
  EXPECT_FALSE(sha256_file(dir->path() / "absent"));
  EXPECT_FALSE(sha256_file(dir->path()));
}

TEST(Hash, AFinishedHasherIsABug) {
  Hasher hasher;
  hasher.finish();
  EXPECT_DEATH(hasher.add("x"), "finished or moved-from");
}

TEST(Checksum, SeesEverySingleBit) {
  std::vector<std::byte> bytes(1000);
  const std::uint64_t before = checksum(bytes);
  EXPECT_EQ(checksum(bytes), before);
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    bytes[i / 8] ^= static_cast<std::byte>(1u << (i % 8));
    EXPECT_NE(checksum(bytes), before) << i;
    bytes[i / 8] ^= static_cast<std::byte>(1u << (i % 8));
  }
}

} // namespace
} // namespace ako::base
