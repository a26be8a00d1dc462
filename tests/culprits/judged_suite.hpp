// What the test programs of all lanes share: a file is judged, held against its first comment, and
// counted.
#pragma once

#include "judged_bench.hpp"

#include <gtest/gtest.h>

namespace ako::culprits {

/// How outcomes are told while they come.
enum class Telling { wrong_ones, every_one };

/// One file through the whole judge on `target`.
void expect_as_its_comment_says(const Shelf& shelf, const std::string& name,
                                const loop::Target& target, Telling telling);

/// Every file that plays a trick has an honest twin; at least `least` pairs.
void expect_twins(const Shelf& shelf, int least);

/// A name that GoogleTest takes.
std::string case_name(const testing::TestParamInfo<std::string>& given);

} // namespace ako::culprits
