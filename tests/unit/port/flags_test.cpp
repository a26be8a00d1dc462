// Flags that change numbers or speed are told from those that do not.
#include "loop/port/flags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::loop {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Flags, WhatDecidesSpeedOrNumbersIsCompared) {
  EXPECT_THAT(
      flag_differences("g++ -O3 -march=native -std=gnu++20 -fPIC -I. -c k.cpp",
                       "/usr/bin/c++ -DX=1 -O3 -std=gnu++20 -march=native -Wall -o k.o -c k.cpp"),
      IsEmpty());
  EXPECT_THAT(
      flag_differences("g++ -O3 -march=native", "g++ -O2"),
      ElementsAre("-O: measured -O3, target -O2", "-march: measured -march=native, target none"));
  EXPECT_THAT(flag_differences("g++ -O1 -O3", "g++ -O3"), IsEmpty()); // the last one counts
  EXPECT_THAT(flag_differences("g++ -O3 -ffast-math", "g++ -O3 -fno-fast-math"),
              ElementsAre("-ffast-math: measured -ffast-math, target -fno-fast-math"));
  EXPECT_THAT(flag_differences("nvcc -arch sm_90a --use_fast_math", "nvcc -arch=sm_90a"),
              ElementsAre("--use_fast_math: measured --use_fast_math, target none",
                          "-arch: measured -arch sm_90a, target -arch=sm_90a"));
  EXPECT_THAT(flag_differences(
                  "nvcc -gencode arch=compute_90,code=sm_90 -gencode arch=compute_80,code=sm_80",
                  "nvcc -gencode arch=compute_90,code=sm_90"),
              testing::SizeIs(1));
}

TEST(Flags, TheCallSitesCommandIsFound) {
  const std::string json =
      R"([{"directory": "/b", "file": "/r/src/other.cpp", "command": "c++ -O0"},
    {"directory": "/b", "file": "/r/src/engine.cpp", "command": "c++ -O2 -c /r/src/engine.cpp"},
    {"directory": "/b", "file": "src/list.cpp", "arguments": ["c++", "-O1"]}])";
  EXPECT_EQ(compile_command(json, "src/engine.cpp").value(), "c++ -O2 -c /r/src/engine.cpp");
  EXPECT_EQ(compile_command(json, "src/list.cpp").value(), "c++ -O1");
  EXPECT_FALSE(compile_command(json, "src/none.cpp"));
  EXPECT_FALSE(compile_command("{", "src/none.cpp"));
}

} // namespace
} // namespace ako::loop
