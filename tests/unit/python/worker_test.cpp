// The worker in Python on the host: what a module may do, and what becomes of one that does other
// things.
#include "python_bench.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako {
namespace {

using client::FailureKind;
using fakes::axpb_python;
using fakes::PythonBench;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

#define ASSERT_OK(answer) ASSERT_TRUE(answer) << (answer).error().text

TEST(Python, CallsWriteTheKeepersMemory) {
  auto bench = PythonBench::make(1000, 2);
  auto worker = bench.worker(axpb_python());
  ASSERT_OK(worker);
  const auto called = worker->call(1);
  ASSERT_OK(called);
  EXPECT_THAT(called->changed, IsEmpty());
  EXPECT_EQ(bench.bench.wrong_elements(1), 0);
  const auto mine = bench.bench.keeper.check(*bench.bench.arena, {1});
  ASSERT_TRUE(mine);
  EXPECT_TRUE(mine->clean());
  EXPECT_GT(bench.bench.wrong_elements(0), 0) << "nobody called the other set";
}

TEST(Python, TheModuleIsWhatWasBundled) {
  auto bench = PythonBench::make(8, 1);
  const auto text = axpb_python();
  const auto loaded = bench.load(text);
  ASSERT_OK(loaded);
  ASSERT_EQ(loaded->guest["modules"].size(), 1u);
  EXPECT_EQ(loaded->guest["modules"][0]["file"], "solution/k.py");
  EXPECT_EQ(loaded->guest["modules"][0]["sha256"], base::sha256(text));
  EXPECT_THAT(loaded->sandbox.guest["python"].get<std::string>(), HasSubstr("3."));
  EXPECT_GT(loaded->sandbox.guest["ready_ns"].get<std::int64_t>(), 0);
}

TEST(Python, SamplesAreTakenByTheMeasuringLibrary) {
  auto bench = PythonBench::make(500, 4);
  auto worker = bench.worker(axpb_python());
  ASSERT_OK(worker);
  client::SampleJob job;
  job.sets = {2, 0, 1};
  job.warmup_sets = {3};
  job.cache = model::CacheState::warm;
  job.timing = client::SampleJob::Timing::each_call;
  const auto report = worker->sample(job);
  ASSERT_OK(report);
  ASSERT_EQ(report->call_ns.size(), 3u);
  for (const double ns : report->call_ns) EXPECT_GT(ns, 500) << "five hundred rounds of Python";
  for (int set = 0; set < 4; ++set) EXPECT_EQ(bench.bench.wrong_elements(set), 0);
  EXPECT_THAT(report->changed, IsEmpty());
}

TEST(Python, AModuleThatRaisesIsNamedWithItsLine) {
  auto bench = PythonBench::make(8, 1);
  const auto loaded = bench.load(axpb_python("", "x = 1\nraise ValueError('no such thing')"));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, FailureKind::threw);
  EXPECT_THAT(loaded.error().text, HasSubstr("solution/k.py:2"));
  EXPECT_THAT(loaded.error().text, HasSubstr("ValueError: no such thing"));
}

TEST(Python, ACallThatRaisesIsNamedAndTheWorkerLivesOn) {
  auto bench = PythonBench::make(8, 2);
  auto worker = bench.worker(axpb_python(
      "if not globals().setdefault('been', []): been.append(1); raise KeyError('row')"));
  ASSERT_OK(worker);
  const auto called = worker->call(0);
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().kind, FailureKind::threw);
  EXPECT_THAT(called.error().text, HasSubstr("solution/k.py:3"));
  EXPECT_THAT(called.error().text, HasSubstr("KeyError"));
  EXPECT_EQ(called.error().data["exception"], "KeyError");
  ASSERT_OK(worker->call(0));
  EXPECT_EQ(bench.bench.wrong_elements(0), 0);
}

TEST(Python, LeavingEndsTheWorkerAsExitDoes) {
  auto bench = PythonBench::make(8, 1);
  const auto at_import = bench.load(axpb_python("", "import sys\nsys.exit(3)"));
  ASSERT_FALSE(at_import);
  EXPECT_EQ(at_import.error().kind, FailureKind::exited);
  EXPECT_THAT(at_import.error().text, HasSubstr("exit(3)"));

  auto worker = bench.worker(axpb_python("raise SystemExit('enough')"));
  ASSERT_OK(worker);
  const auto called = worker->call(0);
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().kind, FailureKind::exited);
  EXPECT_THAT(called.error().text, HasSubstr("exit(1)"));
  EXPECT_THAT(called.error().err, HasSubstr("enough"));
}

TEST(Python, WhatHangsIsEnded) {
  auto bench = PythonBench::make(8, 1);
  bench.load_seconds = 2;
  const auto loaded = bench.load(axpb_python("", "while True: pass"));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, FailureKind::hung);
  EXPECT_EQ(loaded.error().during, "load");

  bench.load_seconds = 30;
  bench.call_seconds = 1;
  auto worker = bench.worker(axpb_python("import threading; threading.Event().wait()"));
  ASSERT_OK(worker);
  const auto called = worker->call(0);
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().kind, FailureKind::hung);
}

TEST(Python, PrintingIsKeptAndAFloodIsEnded) {
  auto bench = PythonBench::make(8, 1);
  auto worker = bench.worker(axpb_python("print('in a call')", "print('at the top')"));
  ASSERT_OK(worker);
  ASSERT_OK(worker->call(0));
  EXPECT_THAT(worker->out(), HasSubstr("at the top"));
  EXPECT_THAT(worker->out(), HasSubstr("in a call"));

  auto options = bench.options(axpb_python("while True: print('x' * 4096)"));
  options.flood_bytes = 1 << 20;
  auto flood = bench.bench.prepare(options);
  ASSERT_OK(flood);
  const auto called = flood->call(0);
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().kind, FailureKind::output_flood);
}

TEST(Python, AForkEndsInTheSystemCallsName) {
  auto bench = PythonBench::make(8, 1);
  const auto loaded = bench.load(axpb_python("", "import os\nos.fork()"));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, FailureKind::forbidden_call);
  EXPECT_THAT(loaded.error().text, HasSubstr("clone"));
}

TEST(Python, PatchedTimersAreNamedAndPutBack) {
  auto bench = PythonBench::make(8, 1);
  const auto loaded =
      bench.load(axpb_python("", "import time\ntime.perf_counter_ns = lambda: 0\n"));
  ASSERT_OK(loaded);
  EXPECT_THAT(loaded->interposed, Contains("time.perf_counter_ns"));
  const auto honest = bench.load(axpb_python("", "import time\nclock = time.perf_counter_ns\n"));
  ASSERT_OK(honest);
  EXPECT_THAT(honest->interposed, IsEmpty());
}

/// The names of what one call left changed.
std::vector<std::string> changed_by(const std::string& line, const std::string& top = "") {
  auto bench = PythonBench::make(8, 2);
  auto worker = bench.worker(axpb_python(line, "import os, signal, sys, time\n" + top));
  if (!worker) return {worker.error().text};
  const auto called = worker->call(0);
  return called ? called->changed : std::vector<std::string>{called.error().text};
}

TEST(Python, StateThatACallChangesIsNamed) {
  EXPECT_THAT(changed_by("pass"), IsEmpty());
  EXPECT_THAT(changed_by("signal.signal(signal.SIGUSR1, lambda *_: None)"), Contains("signal:10"));
  EXPECT_THAT(changed_by("os.chdir('/')"), Contains("cwd"));
  EXPECT_THAT(changed_by("os.environ['SEEN'] = '1'"), Contains("environment"));
  EXPECT_THAT(changed_by("sys.setswitchinterval(1)"), Contains("switch_interval"));
  EXPECT_THAT(changed_by("sys.path.insert(0, '/nowhere')"), Contains("sys.path"));
  EXPECT_THAT(changed_by("time.monotonic = lambda: 0"), Contains("patched:time.monotonic"));
  EXPECT_THAT(changed_by("signal.setitimer(signal.ITIMER_REAL, 1000)"), Contains("timer"));
}

TEST(Python, AThreadThatStaysIsCounted) {
  auto bench = PythonBench::make(8, 2);
  auto worker = bench.worker(axpb_python("threading.Thread(target=stop.wait, daemon=True).start()",
                                         "import threading\nstop = threading.Event()"));
  ASSERT_OK(worker);
  const auto called = worker->call(0);
  ASSERT_OK(called);
  EXPECT_EQ(called->threads_after, called->threads_before + 1);
}

TEST(Python, WhatIsReturnedInsteadOfWrittenIsNamed) {
  auto bench = PythonBench::make(8, 2);
  const auto returned = [&](const std::string& after) {
    auto worker = bench.worker(axpb_python("", "", after));
    if (!worker) return worker.error().text;
    const auto called = worker->call(0);
    return called ? std::string("ok") : called.error().text;
  };
  EXPECT_EQ(returned("return y"), "ok");
  EXPECT_EQ(returned("return (y,)"), "ok");
  EXPECT_THAT(returned("return 7"), HasSubstr("no tensor (int 7)"));
  EXPECT_THAT(returned("return x"), HasSubstr("it must write into \"y\""));
  EXPECT_THAT(returned("return [float(v) for v in b]"), HasSubstr("no tensor"));
  EXPECT_THAT(returned("return b"), HasSubstr("no ako_worker.Array"));
}

TEST(Python, ABundleThatChangedIsStale) {
  auto bench = PythonBench::make(8, 1);
  auto options = bench.options(axpb_python());
  options.spec.library_hash = std::string(64, '0');
  auto worker = client::Worker::start(options);
  ASSERT_OK(worker);
  const auto loaded = worker->load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, FailureKind::stale);
}

TEST(Python, FilesOutsideAreOutOfReach) {
  auto bench = PythonBench::make(8, 1);
  const auto loaded = bench.load(axpb_python("", "open('/etc/hostname').read()"));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().text, HasSubstr("PermissionError"));
  EXPECT_TRUE(bench.load(axpb_python("", "open('own', 'w').write('x')")));
}

} // namespace
} // namespace ako
