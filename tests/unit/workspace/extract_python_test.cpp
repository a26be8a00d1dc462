// Python functions taken out of a repository: what comes along, what stays, and what is refused.
#include "workspace/extract.hpp"

#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::workspace {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class PythonRepository : public testing::Test {
protected:
  void SetUp() override {
    write("pkg/__init__.py", "");
    write("pkg/ops/__init__.py", "import everything_there_is\n");
    write("pkg/utils.py", R"(import os
LIMIT = 8


# How many fit.
def places(n):
    return min(n, LIMIT)


def unused():
    return os.getpid()
)");
    write("pkg/ops/norm.py", R"(import scipy
import triton
import triton.language as tl
from ..utils import places


@triton.jit
def helper(x):
    return x * 2


@triton.jit
def rms_kernel(x, out, n, BLOCK: tl.constexpr):
    tl.store(out, helper(tl.load(x)))


def rms_norm(x, out, n: int, eps: float = 1e-5):
    rms_kernel[(places(n),)](x, out, n, BLOCK=4)


def rms_norm_new(x: "Tensor", n: int):
    return scipy.norm(x)
)");
  }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((m_dir.path() / path).parent_path());
    std::ofstream(m_dir.path() / path) << text;
  }
  base::Expected<Extracted> extract(const std::string& symbol,
                                    const std::string& path = "pkg/ops/norm.py") const {
    ExtractRequest request;
    request.repository = m_dir.path();
    request.path = path;
    request.symbol = symbol;
    return extract_kernel(request);
  }
  static std::string text_of(const Extracted& extracted, const std::string& path) {
    for (const auto& file : extracted.files)
      if (file.path == path) return file.content;
    return {};
  }

  base::TemporaryDir m_dir = std::move(*base::TemporaryDir::make("ako-repo-"));
};

TEST_F(PythonRepository, WhatTheFunctionNeedsComesAlongAndNoMore) {
  const auto extracted = extract("rms_norm");
  ASSERT_TRUE(extracted) << extracted.error().text();
  EXPECT_EQ(extracted->lane, model::Lane::triton);
  const auto norm = text_of(*extracted, "solution/norm.py");
  EXPECT_THAT(norm, HasSubstr("def rms_kernel"));
  EXPECT_THAT(norm, HasSubstr("def helper"));
  EXPECT_THAT(norm, HasSubstr("from utils import places"));
  EXPECT_THAT(norm, Not(HasSubstr("scipy")));
  const auto utils = text_of(*extracted, "input/utils.py");
  EXPECT_THAT(utils, HasSubstr("# How many fit.\ndef places"));
  EXPECT_THAT(utils, HasSubstr("LIMIT = 8"));
  EXPECT_THAT(utils, Not(HasSubstr("unused")));
  const auto toml = text_of(*extracted, "task.toml");
  EXPECT_THAT(toml, HasSubstr("lane = \"triton\""));
  EXPECT_THAT(toml, HasSubstr("args = [\"x\", \"out\", \"n\", \"eps\"]"));
  EXPECT_THAT(toml, HasSubstr("role = \"out\""));
  EXPECT_TRUE(extracted->unresolved.empty());
}

TEST_F(PythonRepository, AKernelComesWithTheFunctionThatLaunchesIt) {
  const auto extracted = extract("rms_kernel");
  ASSERT_TRUE(extracted) << extracted.error().text();
  EXPECT_EQ(extracted->function.name, "rms_norm");
  const auto alone = extract("helper");
  ASSERT_FALSE(alone);
  EXPECT_THAT(alone.error().text(), HasSubstr("no function"));
}

TEST_F(PythonRepository, AnAnswerThatIsReturnedIsAQuestion) {
  const auto extracted = extract("rms_norm_new");
  ASSERT_TRUE(extracted) << extracted.error().text();
  EXPECT_THAT(extracted->questions, Contains(HasSubstr("returns its answer")));
  EXPECT_THAT(extracted->unresolved, Contains(HasSubstr("scipy (pkg/ops/norm.py:1)")));
}

TEST_F(PythonRepository, WhatCannotBeIsNamed) {
  const auto absent = extract("rms_nor");
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().text(), HasSubstr("rms_norm (line"));
  write("pkg/broken.py", "def f(:\n");
  const auto broken = extract("f", "pkg/broken.py");
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().text(), HasSubstr("pkg/broken.py:1"));
}

} // namespace
} // namespace ako::workspace
