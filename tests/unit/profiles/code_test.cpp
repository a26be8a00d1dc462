#include "base/fs.hpp"
#include "profiles/backtrace.hpp"
#include "profiles/code_report.hpp"
#include "profiles/fault_run.hpp"
#include "profiles/file_kind.hpp"
#include "profiles/ptx.hpp"
#include "profiles/sanitizer.hpp"
#include "profiles/sass.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::profiles {
namespace {

std::string golden(const char* name) {
  return base::read_file(std::string(AKO_SOURCE_DIR "/tests/golden/profiles/") + name).value_or("");
}

TEST(Sass, MixOfRealFunctions) {
  auto copy = read_sass(golden("sass_stream_copy.txt"), "f");
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ((*copy)[0].load_bits.at(128), 4);
  EXPECT_EQ((*copy)[0].store_bits.at(128), 4);
  EXPECT_EQ((*copy)[0].tensor, 0);
  auto mma = read_sass(golden("sass_mma_loop.txt"), "f");
  ASSERT_TRUE(mma.has_value());
  const CodeFunction *warp = nullptr, *group = nullptr;
  for (const CodeFunction& function : *mma) {
    if (function.name.find("8mma_loop") != std::string::npos) warp = &function;
    if (function.name.find("10wgmma_loop") != std::string::npos) group = &function;
  }
  ASSERT_TRUE(warp && group);
  EXPECT_EQ(warp->opcodes.at("HMMA"), warp->tensor);
  EXPECT_GE(warp->tensor, 8);
  EXPECT_EQ(warp->wgmma, 0);
  EXPECT_GE(group->wgmma, 4);
  auto sort = read_sass(golden("sass_local_sort.txt"), "f");
  ASSERT_TRUE(sort.has_value());
  EXPECT_GT((*sort)[0].local_loads, 0);
  EXPECT_GT((*sort)[0].local_stores, 0);
  EXPECT_TRUE(diff_code((*copy)[0], (*copy)[0]).empty());
  EXPECT_THAT(diff_code((*copy)[0], *warp), testing::Contains("global loads of 128 bits 4 -> 0"));
  EXPECT_FALSE(read_sass("nothing", "f"));
}

TEST(Sass, SpillsAreToldFromArraysThatAreIndexed) {
  auto sort = read_sass(golden("sass_local_sort.txt"), "f");
  ASSERT_TRUE(sort.has_value());
  EXPECT_EQ((*sort)[0].local_fixed, 3); // of 83: its first element, at constant indices
  auto spills = read_sass("Function : k\n"
                          "        /*0000*/                   STL.64 [R1+0x8], R4 ;\n"
                          "        /*0010*/                   LDL.64 R4, [R1+0x8] ;\n"
                          "        /*0020*/                   LDL R4, [R12+0x8] ;\n"
                          "        /*0030*/                   STG.E [R12.64], R4 ;\n",
                          "f");
  ASSERT_TRUE(spills.has_value());
  EXPECT_EQ((*spills)[0].local_fixed, 2);
  const std::string text = to_text(CodeText(*spills));
  EXPECT_THAT(text, testing::HasSubstr("2 at fixed places (spills, or constant indices)"));
  EXPECT_THAT(text, testing::HasSubstr("1 at places that are computed"));
  EXPECT_THAT(diff_code((*sort)[0], (*spills)[0]),
              testing::Contains("local accesses at fixed places 3 -> 2"));
}

TEST(Sass, InstructionsByLineWhereTheDisassemblerSaysThem) {
  auto marked = read_sass(".text.k:\n"
                          "\t//## File \"/a/inc.cuh\", line 3 inlined at \"/a/k.cu\", line 9\n"
                          "\t//## File \"/a/k.cu\", line 9\n"
                          "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
                          "\t//## File \"/a/k.cu\", line 12\n"
                          "        /*0010*/                   FADD R2, R2, R3 ;\n"
                          "        /*0020*/                   FADD R2, R2, R3 ;\n"
                          ".text.g:\n"
                          "        /*0000*/                   EXIT ;\n",
                          "f");
  ASSERT_TRUE(marked.has_value());
  EXPECT_EQ((*marked)[0].lines.at("/a/k.cu:12"), 2);
  EXPECT_TRUE((*marked)[1].lines.empty()); // another function's line is not its own
  EXPECT_THAT(to_text(CodeText(*marked)), testing::HasSubstr("/a/k.cu:12 2, /a/k.cu:9 1"));
}

TEST(Ptx, MixOfRealFunctions) {
  auto code = read_ptx(golden("ptx_mix.txt"), "f");
  ASSERT_TRUE(code.has_value()) << code.error().text();
  ASSERT_EQ(code->size(), 5u);
  const auto named = [&](const char* name) -> const CodeFunction& {
    for (const CodeFunction& one : *code)
      if (one.name == name) return one;
    ADD_FAILURE() << name;
    return (*code)[0];
  };
  const CodeFunction& copy = named("stream_copy");
  EXPECT_EQ(copy.target, "sm_90");
  EXPECT_EQ(copy.instructions, 17);
  EXPECT_EQ(copy.load_bits, (std::map<int, std::int64_t>{{128, 1}}));
  EXPECT_EQ(copy.store_bits, (std::map<int, std::int64_t>{{128, 1}}));
  EXPECT_EQ(copy.local_bytes + copy.async_copy + copy.tensor, 0);
  // The compiler names its files behind the code.
  EXPECT_EQ(copy.lines.at("/a/mix.cu:6"), 7);
  const CodeFunction& sum = named("staged_sum");
  EXPECT_EQ(sum.instructions, 32);
  EXPECT_EQ(sum.async_copy, 1); // the commit and the wait move nothing
  EXPECT_EQ(sum.barriers, 1);
  EXPECT_EQ(sum.special, 1);
  EXPECT_EQ(sum.atomics, 1);
  EXPECT_EQ(sum.shared_loads, 1);
  EXPECT_EQ(sum.tma, 0);
  // atomicAdd is inlined from a header of the toolkit: it counts where it was called.
  EXPECT_TRUE(sum.lines.contains("/a/mix.cu:17"));
  for (const auto& [place, count] : sum.lines)
    EXPECT_THAT(place, testing::Not(testing::HasSubstr("atomic_functions")));
  const CodeFunction& indexed = named("indexed");
  EXPECT_EQ(indexed.instructions, 267);
  EXPECT_EQ(indexed.local_bytes, 128);
  EXPECT_EQ(indexed.local_loads, 37);
  EXPECT_EQ(indexed.local_stores, 13);
  EXPECT_EQ(indexed.load_bits.at(32), 36);
  EXPECT_EQ(named("tensor_tile").tensor, 4);
  EXPECT_EQ(named("tensor_tile").wgmma, 0);
  EXPECT_EQ(named("bulk").instructions, 21);
  EXPECT_EQ(named("bulk").tma, 1);
  EXPECT_EQ(named("bulk").async_copy, 0);
  EXPECT_EQ(named("bulk").barriers, 2);
}

TEST(Ptx, WhatIsNoFunctionIsNone) {
  EXPECT_FALSE(read_ptx("", "f"));
  EXPECT_FALSE(
      read_ptx(".version 9.0\n.target sm_90\n.extern .func vprintf(.param .b64 a);\n", "f"));
  auto odd =
      read_ptx(".target sm_100a, debug\n.global .align 4 .b8 t[3] = {1, 2, 3};\n"
               "/* .entry hidden() { */\n"
               ".func (.param .b32 r) twice(.param .b32 a)\n{\n"
               ".reg .b32 %r<3>; // add.s32 %r1, %r1, %r1;\n"
               "{ // callseq 0\ncall.uni (r),\n other,\n (a\n);\n}\n"
               "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16\n {%f1},\n %rd1, %rd2, p, 1;\n"
               "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, p;\n"
               "@%p1 ld.global.nc.L1::no_allocate.v4.b64 {%a, %b, %c, %d}, [%rd1];\n"
               "st.shared::cta.v2.b16 [%r1], {%h1, %h2};\nret;\n}\n",
               "f");
  ASSERT_TRUE(odd.has_value()) << odd.error().text();
  ASSERT_EQ(odd->size(), 1u);
  EXPECT_EQ((*odd)[0].name, "twice");
  EXPECT_EQ((*odd)[0].target, "sm_100a");
  EXPECT_EQ((*odd)[0].instructions, 6);
  EXPECT_EQ((*odd)[0].tensor, 2);
  EXPECT_EQ((*odd)[0].wgmma, 1);
  EXPECT_EQ((*odd)[0].load_bits.at(256), 1);
  EXPECT_EQ((*odd)[0].shared_stores, 1);
}

TEST(Debugger, AFaultOfTheDevice) {
  auto trace = read_backtrace(golden("cuda_gdb_illegal_address.txt"), "f");
  ASSERT_TRUE(trace.has_value()) << trace.error().text();
  EXPECT_EQ(trace->signal, "CUDA_EXCEPTION_14");
  EXPECT_EQ(trace->text, "Warp Illegal Address");
  EXPECT_TRUE(trace->on_device);
  EXPECT_EQ(trace->thread, "(32,0,0)");
  EXPECT_EQ(trace->block, "(4,0,0)");
  // What raised it, not where the warp was when it stopped.
  EXPECT_EQ(trace->trigger_file, "faults.cu");
  EXPECT_EQ(trace->trigger_line, 15);
  ASSERT_EQ(trace->frames.size(), 1u);
  EXPECT_EQ(trace->frames[0].function, "write_past_end(float*, int)");
  EXPECT_EQ(trace->frames[0].line, 16);
}

TEST(Debugger, AFaultOfTheHostAndNone) {
  auto trace = read_backtrace(golden("cuda_gdb_host_segfault.txt"), "f");
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->signal, "SIGSEGV");
  EXPECT_FALSE(trace->on_device);
  ASSERT_EQ(trace->frames.size(), 4u);
  EXPECT_EQ(trace->frames[0].function, "launch");
  EXPECT_EQ(trace->frames[0].file, "/tmp/stage/solution/faults.cu");
  EXPECT_EQ(trace->frames[0].line, 31);
  EXPECT_EQ(trace->frames[1].function, "ako_call");
  EXPECT_TRUE(trace->frames[1].file.empty());
  EXPECT_EQ(trace->frames[2].function, "ako::launch::run(ako::launch::Job const&)");
  auto clean = read_backtrace(golden("cuda_gdb_clean.txt"), "f");
  ASSERT_TRUE(clean.has_value());
  EXPECT_TRUE(clean->signal.empty());
  EXPECT_TRUE(clean->frames.empty());
  auto code = read_backtrace("[Inferior 1 (process 7) exited with code 012]\n", "f");
  ASSERT_TRUE(code.has_value());
  EXPECT_EQ(code->exit_code, 10);
}

TEST(FileKinds, ADebuggersWordsAreNoList) {
  auto dir = base::TemporaryDir::make("ako-test-");
  ASSERT_TRUE(dir.has_value());
  const auto file = dir->path() / "f.json";
  const auto kind = [&](const std::string& text) {
    std::ofstream(file) << text;
    auto found = kind_of_file(file);
    return found ? *found : FileKind::binary_report;
  };
  EXPECT_EQ(kind("[Thread debugging using libthread_db enabled]\n"), FileKind::text);
  EXPECT_EQ(kind("[ {\"ph\": \"X\"}]"), FileKind::trace);
  EXPECT_EQ(kind("[\n]"), FileKind::trace);
  EXPECT_EQ(kind("{\"traceEvents\": []}"), FileKind::trace);
}

TEST(Debugger, WhatItCannotDoIsTheMachinesFault) {
  auto refused = read_backtrace("warning: Could not trace the inferior process.\n"
                                "warning: ptrace: Operation not permitted\n",
                                "f");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, base::ErrorKind::environment);
  auto nothing = read_backtrace("hello\n", "f");
  ASSERT_FALSE(nothing.has_value());
  EXPECT_EQ(nothing.error().kind, base::ErrorKind::invalid);
}

TEST(FaultRun, HowTheToolsAreCalled) {
  FaultJob job;
  job.program = "compute-sanitizer", job.target = {"ako-launch", "job.json"}, job.folder = "/f";
  job.tool = FaultTool::racecheck;
  EXPECT_THAT(fault_argv(job), testing::IsSupersetOf({"--tool", "racecheck", "/f/racecheck.txt"}));
  EXPECT_THAT(fault_argv(job), testing::Not(testing::Contains("--padding")));
  EXPECT_EQ(fault_argv(job).back(), "job.json");
  job.tool = FaultTool::debugger;
  const auto argv = fault_argv(job);
  EXPECT_THAT(argv, testing::IsSupersetOf({"--batch", "-nx", "run", "--args"}));
  EXPECT_EQ(argv[argv.size() - 3], "--args");
  base::CommandResult late;
  late.timed_out = true, late.wall_ns = 2000000000;
  EXPECT_EQ(judge_fault_run(job, late, "#0 k").error().kind, base::ErrorKind::timeout);
  EXPECT_EQ(judge_fault_run(job, {}, " \n").error().kind, base::ErrorKind::environment);
  EXPECT_TRUE(judge_fault_run(job, {}, "#0 k").has_value());
}

TEST(Sass, ResourceReports) {
  auto ptxas =
      read_resources("ptxas info    : Compiling entry function '_Z1fPf' for 'sm_90a'\n"
                     "ptxas info    : Function properties for _Z1fPf\n"
                     "    576 bytes stack frame, 1252 bytes spill stores, 1448 bytes spill loads\n"
                     "ptxas info    : Used 32 registers, used 1 barriers, 4096 bytes smem\n",
                     "f");
  ASSERT_TRUE(ptxas.has_value());
  EXPECT_EQ((*ptxas)[0].function, "_Z1fPf");
  EXPECT_EQ((*ptxas)[0].architecture, "sm_90a");
  EXPECT_EQ((*ptxas)[0].registers, 32);
  EXPECT_EQ((*ptxas)[0].spill_store_bytes, 1252);
  EXPECT_EQ((*ptxas)[0].spill_load_bytes, 1448);
  EXPECT_EQ((*ptxas)[0].shared_bytes, 4096);
  auto usage = read_resources(golden("resource_usage.txt"), "f");
  ASSERT_TRUE(usage.has_value());
  EXPECT_EQ((*usage)[0].architecture, "sm_90a");
  EXPECT_GT((*usage)[0].registers, 0);
}

TEST(Sanitizer, RealOutputs) {
  auto oob = read_sanitizer(golden("sanitizer_memcheck_oob.txt"), "f");
  ASSERT_TRUE(oob.has_value());
  EXPECT_EQ(oob->errors, 2);
  ASSERT_GE(oob->findings.size(), 1u);
  EXPECT_EQ(oob->findings[0].kind, FaultKind::out_of_bounds);
  EXPECT_EQ(oob->findings[0].file, "faults.cu");
  EXPECT_EQ(oob->findings[0].line, 15);
  EXPECT_EQ(oob->findings[0].function, "write_past_end(float *, int)");
  EXPECT_EQ(oob->findings[0].block, "(4,0,0)");
  auto race = read_sanitizer(golden("sanitizer_racecheck_race.txt"), "f");
  ASSERT_TRUE(race.has_value());
  ASSERT_EQ(race->findings.size(), 1u);
  EXPECT_EQ(race->findings[0].kind, FaultKind::race);
  EXPECT_EQ(race->findings[0].line, 8);
  EXPECT_THAT(race->findings[0].text, testing::HasSubstr("faults.cu:10"));
  auto reads = read_sanitizer(golden("sanitizer_initcheck_uninitialised.txt"), "f");
  ASSERT_TRUE(reads.has_value());
  ASSERT_EQ(reads->findings.size(), 1u);
  EXPECT_GT(reads->findings[0].times, 5);
  EXPECT_EQ(reads->errors, 256);
  // The honest twin: memcheck has nothing to say about a race.
  auto clean = read_sanitizer(golden("sanitizer_memcheck_race.txt"), "f");
  ASSERT_TRUE(clean.has_value());
  EXPECT_TRUE(clean->findings.empty());
  EXPECT_EQ(clean->errors, 0);
  EXPECT_FALSE(read_sanitizer("hello", "f"));
}

TEST(CodeText, ToldApartByContent) {
  auto sass = read_code_text(golden("sass_stream_copy.txt"), "f");
  ASSERT_TRUE(sass && *sass);
  EXPECT_TRUE(std::holds_alternative<Disassembly>(**sass));
  EXPECT_THAT(to_text(**sass), testing::HasSubstr("4 x 128 bit"));
  auto resources = read_code_text(golden("resource_usage.txt"), "f");
  ASSERT_TRUE(resources && *resources);
  EXPECT_TRUE(std::holds_alternative<Resources>(**resources));
  auto faults = read_code_text(golden("sanitizer_memcheck_oob.txt"), "f");
  ASSERT_TRUE(faults && *faults);
  EXPECT_THAT(to_text(**faults), testing::HasSubstr("faults.cu:15: out of bounds"));
  EXPECT_EQ(to_json(**faults)["sanitizer"]["errors"], 2);
  auto ptx = read_code_text(golden("ptx_mix.txt"), "f");
  ASSERT_TRUE(ptx && *ptx);
  EXPECT_THAT(to_text(**ptx), testing::HasSubstr("17 instructions of PTX"));
  EXPECT_EQ(to_json(**ptx)["ptx"].size(), 5u);
  EXPECT_FALSE(code_delta(**sass, **ptx)) << "machine code against PTX";
  auto same = code_delta(**ptx, **ptx);
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(summary(*same), "");
  auto trace = read_code_text(golden("cuda_gdb_illegal_address.txt"), "f");
  ASSERT_TRUE(trace && *trace);
  EXPECT_THAT(to_text(**trace), testing::HasSubstr("raised at faults.cu:15"));
  EXPECT_EQ(to_json(**trace)["backtrace"]["signal"], "CUDA_EXCEPTION_14");
  EXPECT_FALSE(read_code_text("\"ID\",\"Kernel Name\"\n", "f").has_value());
}

TEST(CodeText, WhatTheCompilerChanged) {
  auto before = read_code_text(golden("sass_stream_copy.txt"), "f");
  auto after = read_code_text(golden("sass_local_sort.txt"), "f");
  ASSERT_TRUE(before && *before && after && *after);
  auto same = code_delta(**before, **before);
  ASSERT_TRUE(same.has_value());
  for (const auto& function : same->functions) EXPECT_TRUE(function.changes.empty());
  auto delta = code_delta(**before, **after);
  ASSERT_TRUE(delta.has_value());
  EXPECT_FALSE(to_text(*delta).empty());
  auto usage = read_code_text(golden("resource_usage.txt"), "f");
  EXPECT_FALSE(code_delta(**before, **usage));
  ResourceUse lean, fat;
  lean.function = fat.function = "k", lean.registers = 32, fat.registers = 40;
  auto registers = code_delta(Resources{lean}, Resources{fat});
  ASSERT_TRUE(registers.has_value());
  EXPECT_THAT(registers->functions[0].changes, testing::ElementsAre("registers 32 -> 40"));
  EXPECT_EQ(summary(*registers), "k: registers 32 -> 40");
}

} // namespace
} // namespace ako::profiles
