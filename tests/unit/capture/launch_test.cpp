#include "base/fs.hpp"
#include "base/hash.hpp"
#include "launch/job.hpp"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::launch {
namespace {

using testing::HasSubstr;

const char* const k_task = R"(format = 1
[kernel]
name = "twice"
lane = "cpu"
entry = { file = "solution/k.cpp", symbol = "twice" }
[axes]
N = { var = true }
[[tensor]]
name = "x"
role = "in"
dtype = "float32"
shape = ["N"]
fill = { kind = "uniform", low = 1, high = 2 }
[[tensor]]
name = "y"
role = "out"
dtype = "float32"
shape = ["N"]
[[scalar]]
name = "s"
value = SCALAR
[[shape]]
tag = "small"
N = 100
[reference]
entry = { file = "input/k.cpp", symbol = "twice" }
[[baseline]]
name = "b"
entry = { file = "input/k.cpp", symbol = "twice" }
)";

class Launch : public testing::Test {
protected:
  void SetUp() override {
    auto folder = base::TemporaryDir::make("launch");
    ASSERT_TRUE(folder.has_value());
    m_folder.emplace(std::move(*folder));
    for (const char* file : {"solution/k.cpp", "input/k.cpp"})
      ASSERT_TRUE(base::write_file_atomic(m_folder->path() / file, "void twice();\n"));
    write("1");
    m_job.task = m_folder->path(), m_job.shape = "small";
    m_job.library = AKO_BUILD_DIR "/tests/capture/kernel.so";
    ::setenv("AKO_GPU_PATH", AKO_BUILD_DIR "/tests/capture", 1);
    ::setenv("FAKE_CUDA_LOG", log().c_str(), 1);
    ::unsetenv("FAKE_CUDA_FAILS");
  }
  void write(const std::string& scalar) {
    std::string text = k_task;
    text.replace(text.find("SCALAR"), 6, scalar);
    ASSERT_TRUE(base::write_file_atomic(m_folder->path() / "task.toml", text));
  }
  std::string log() const { return (m_folder->path() / "cuda.log").string(); }

  std::optional<base::TemporaryDir> m_folder;
  Job m_job;
};

TEST_F(Launch, FillsWarmsUpAndCalls) {
  auto first = run(m_job);
  ASSERT_TRUE(first.has_value()) << first.error().text();
  ASSERT_EQ(first->size(), 2u);
  EXPECT_EQ((*first)[0].name, "x");
  auto again = run(m_job);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ((*again)[0].checksum, (*first)[0].checksum); // the same seed, the same input
  EXPECT_NE((*again)[1].checksum, (*first)[1].checksum); // the kernel counts its calls
  m_job.seed = 2;
  auto other = run(m_job);
  ASSERT_TRUE(other.has_value());
  EXPECT_NE((*other)[0].checksum, (*first)[0].checksum);
}

TEST_F(Launch, TheDeviceGetsTheSameAndOnlyTheLastCallsAreMarked) {
  auto host = run(m_job);
  m_job.device = "cuda", m_job.warmup = 2, m_job.calls = 1;
  auto device = run(m_job);
  ASSERT_TRUE(host && device) << device.error().text();
  EXPECT_EQ((*device)[0].checksum, (*host)[0].checksum);
  const std::string calls = *base::read_file(log());
  EXPECT_EQ(calls,
            "init\ncontext 0\nallocate\nallocate\nwait\nwait\nstart\nwait\nstop\nfree\nfree\n");
}

TEST_F(Launch, ADeviceByItsUuid) {
  m_job.device = "cuda:GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1";
  auto second = run(m_job);
  ASSERT_TRUE(second.has_value()) << second.error().text();
  EXPECT_THAT(*base::read_file(log()), HasSubstr("context 1"));
  m_job.device = "cuda:GPU-00";
  auto none = run(m_job);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().kind, base::ErrorKind::environment);
  EXPECT_THAT(none.error().allowed, HasSubstr("GPU-a0a0a0a0-"));
}

TEST_F(Launch, FailuresAreNamed) {
  m_job.shape = "absent";
  EXPECT_THAT(run(m_job).error().allowed, HasSubstr("small"));
  m_job.shape = "small", m_job.plan = true;
  EXPECT_THAT(run(m_job).error().message, HasSubstr("lacks an entry"));
  m_job.plan = false, m_job.library = "/nonexistent.so";
  EXPECT_THAT(run(m_job).error().message, HasSubstr("cannot be loaded"));
  m_job.library = AKO_BUILD_DIR "/tests/capture/kernel.so";
  m_job.device = "cuda";
  ::setenv("FAKE_CUDA_FAILS", "wait", 1);
  EXPECT_THAT(run(m_job).error().found, HasSubstr("CUDA error 2"));
  ::unsetenv("FAKE_CUDA_FAILS");
  write("-1");
  m_job.device = "host";
  EXPECT_EQ(run(m_job).error().found, "7");
  m_job.device = "tpu";
  EXPECT_THAT(run(m_job).error().message, HasSubstr("unknown kind of device"));
}

TEST_F(Launch, TheJobFile) {
  const auto path = m_folder->path() / "job.json";
  ASSERT_TRUE(base::write_file_atomic(
      path,
      R"({"task":"/t","library":"/l.so","shape":"s","device":"cuda","calls":3,"prepare":true})"));
  auto job = read_job(path);
  ASSERT_TRUE(job.has_value()) << job.error().text();
  EXPECT_EQ(job->calls, 3);
  EXPECT_EQ(job->warmup, 1);
  EXPECT_TRUE(job->prepare);
  ASSERT_TRUE(
      base::write_file_atomic(path, R"({"task":"/t","library":"/l.so","shape":"s","calls":0})"));
  EXPECT_FALSE(read_job(path));
  ASSERT_TRUE(base::write_file_atomic(path, R"({"task":"/t"})"));
  EXPECT_FALSE(read_job(path));
}

} // namespace
} // namespace ako::launch
