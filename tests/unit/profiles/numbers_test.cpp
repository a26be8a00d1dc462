#include "profiles/numbers.hpp"

#include <gtest/gtest.h>

namespace ako::profiles {
namespace {

TEST(Numbers, WhatAShapeProves) {
  EXPECT_EQ(shape_of("5120"), NumberShape::plain);
  for (const char* text :
       {"1,205.00", "1.5", "41.50", "1,215,000", "0.123", "1234.567", "1.004e-05", "1.2345"})
    EXPECT_EQ(shape_of(text), NumberShape::point) << text;
  for (const char* text : {"1.205,50", "9,00", "1.215.000", "0,123"})
    EXPECT_EQ(shape_of(text), NumberShape::comma) << text;
  for (const char* text : {"1,205", "1.205", "999,000"})
    EXPECT_EQ(shape_of(text), NumberShape::ambiguous) << text;
  for (const char* text :
       {"", "n/a", "12.0.1", "1,2,3", "1.", ",5", "(128, 1, 1)", "0x10", "1e", "--1"})
    EXPECT_EQ(shape_of(text), NumberShape::not_a_number) << text;
}

TEST(Numbers, ReadUnderAMark) {
  EXPECT_DOUBLE_EQ(*parse_number("1,215,000,000.50", DecimalMark::point), 1215000000.5);
  EXPECT_DOUBLE_EQ(*parse_number("1.205,50", DecimalMark::comma), 1205.5);
  EXPECT_DOUBLE_EQ(*parse_number("1,205", DecimalMark::comma), 1.205);
  EXPECT_DOUBLE_EQ(*parse_number("1,205", DecimalMark::point), 1205);
  EXPECT_DOUBLE_EQ(*parse_number("-2.5e+3", DecimalMark::point), -2500);
  EXPECT_FALSE(parse_number("1,205", DecimalMark::unknown));
  EXPECT_FALSE(parse_number("9,00", DecimalMark::point));
  EXPECT_FALSE(parse_number("nan", DecimalMark::point));
  EXPECT_FALSE(parse_number("1e999", DecimalMark::point));
}

TEST(Numbers, Units) {
  EXPECT_DOUBLE_EQ(parse_unit("usecond")->scale, 1000);
  EXPECT_EQ(parse_unit("Gbyte/s")->base, "byte/s");
  EXPECT_DOUBLE_EQ(parse_unit("cycle/nsecond")->scale, 1e9);
  EXPECT_EQ(parse_unit("cycle/nsecond")->base, "hz");
  EXPECT_EQ(parse_unit("Kbyte/block")->base, "byte/block");
  EXPECT_DOUBLE_EQ(parse_unit("sector/us")->scale, 1e6);
  EXPECT_FALSE(parse_unit("furlong"));
  EXPECT_FALSE(parse_unit("byte/furlong"));
}

} // namespace
} // namespace ako::profiles
