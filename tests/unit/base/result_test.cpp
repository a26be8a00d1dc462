// A result holds a value or an error, never both, and what it holds is destroyed once.
#include "base/error.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace ako::base {
namespace {

/// Counts those that live.
struct Counted {
  static inline int alive = 0;
  int mark = 0;
  explicit Counted(int value) : mark(value) { ++alive; }
  Counted(const Counted& other) : mark(other.mark) { ++alive; }
  Counted(Counted&& other) noexcept : mark(std::exchange(other.mark, -1)) { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
};
using Held = Result<Counted, std::string>;

Held none(const std::string& why) { return tl::unexpected(why); }

TEST(Result, EveryAssignmentDestroysWhatWasThereOnce) {
  {
    Held value(Counted(1)), other(Counted(2)), error = none("a long enough reason to be allocated");
    value = other;
    EXPECT_EQ(value->mark, 2);
    EXPECT_EQ(other->mark, 2);
    value = error;
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error(), error.error());
    EXPECT_EQ(Counted::alive, 1);
    value = Held(Counted(3));
    EXPECT_EQ(value->mark, 3);
    Held& itself = value;
    value = std::move(itself);
    EXPECT_EQ(value->mark, 3);
    error = std::move(value);
    ASSERT_TRUE(error);
    EXPECT_EQ((*error).mark, 3);
    EXPECT_EQ(value->mark, -1) << "moved from, yet still a value";
    EXPECT_EQ(Counted::alive, 3);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(Result, OnlyWhatCanBeCopiedIsCopied) {
  using Owner = Expected<std::unique_ptr<int>>;
  static_assert(!std::is_copy_constructible_v<Owner> && !std::is_copy_assignable_v<Owner>);
  static_assert(std::is_nothrow_move_constructible_v<Owner>);
  static_assert(std::is_copy_constructible_v<Expected<std::string>>);
  static_assert(!std::is_convertible_v<Expected<int>, bool>, "a value of false is no error");
  static_assert(!std::is_constructible_v<Expected<std::string>, std::vector<int>>);
  std::vector<Owner> all;
  for (int i = 0; i < 20; ++i) all.emplace_back(std::make_unique<int>(i));
  EXPECT_EQ(**all[7], 7);
}

TEST(Result, AnErrorPassesThroughMapAndOtherValuesUnchanged) {
  const auto twice = [](int x) { return 2 * x; };
  EXPECT_EQ(*Expected<int>(21).map(twice), 42);
  EXPECT_EQ(Expected<int>(fail(ErrorKind::io, "gone")).map(twice).error().message, "gone");
  EXPECT_TRUE(Expected<int>(1).map([](int) {}));
  EXPECT_FALSE(Expected<int>(fail(ErrorKind::io, "gone")).map([](int) {}));
  EXPECT_EQ(Expected<int>(fail(ErrorKind::io, "gone")).value_or(7), 7);
  EXPECT_THROW(Expected<int>(fail(ErrorKind::io, "gone")).value(), tl::bad_expected_access<Error>);
  EXPECT_THROW(Status(fail(ErrorKind::io, "gone")).value(), tl::bad_expected_access<Error>);
  Status status = fail(ErrorKind::io, "gone");
  status = Status{};
  EXPECT_TRUE(status);
}

} // namespace
} // namespace ako::base
