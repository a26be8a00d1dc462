// How the place of a fault is looked for, on scripted tools that print what the real ones print.
#include "base/fs.hpp"
#include "executors/runner.hpp"
#include "loop/faults.hpp"
#include "loop/plain_launch.hpp"
#include "model/contract_toml.hpp"
#include "model/resolved.hpp"

#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::loop {
namespace {

using profiles::FaultTool;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Prints the golden output of the tool that is asked for where MODE names it; else a clean one.
const char* const k_sanitizer = R"sh(#!/bin/sh
echo "$*" >> "$0.calls"
while [ $# -gt 0 ]; do
  case "$1" in
    --tool) tool="$2"; shift 2 ;;
    --log-file) log="$2"; shift 2 ;;
    *) shift ;;
  esac
done
[ "$MODE" = hang ] && exec sleep 60
[ "$MODE" = silent ] && exit 1
if [ "$MODE" = "$tool" ]; then
  case "$tool" in
    memcheck) cat "GOLDEN/sanitizer_memcheck_oob.txt" > "$log" ;;
    racecheck) cat "GOLDEN/sanitizer_racecheck_race.txt" > "$log" ;;
    initcheck) cat "GOLDEN/sanitizer_initcheck_uninitialised.txt" > "$log" ;;
  esac
  exit 0
fi
printf '========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n' > "$log"
)sh";

const char* const k_debugger = R"sh(#!/bin/sh
echo "$*" >> "$0.calls"
if [ "$MODE" = host ]; then cat "GOLDEN/cuda_gdb_host_segfault.txt"
elif [ "$MODE" = device ]; then cat "GOLDEN/cuda_gdb_illegal_address.txt"
else cat "GOLDEN/cuda_gdb_clean.txt"; fi
)sh";

class Faults : public testing::Test {
protected:
  void SetUp() override {
    auto folder = base::TemporaryDir::make("faults");
    ASSERT_TRUE(folder.has_value());
    m_folder.emplace(std::move(*folder));
    std::string source = "// planted\n";
    for (int line = 2; line < 40; ++line) source += "  line(" + std::to_string(line) + ");\n";
    m_sources.texts = {{"solution/faults.cu", source, false}};
    m_request.sources = &m_sources, m_request.target = {"ako-launch", "job.json"};
    m_request.at = "shape small, seed 1";
    tools("");
  }
  void write(const char* name, std::string script, const std::string& mode) {
    for (std::size_t at; (at = script.find("GOLDEN")) != std::string::npos;)
      script.replace(at, 6, AKO_SOURCE_DIR "/tests/golden/profiles");
    script.insert(script.find('\n') + 1, "MODE=" + mode + "\n");
    ASSERT_TRUE(base::write_file_atomic(file(name), script));
    std::filesystem::permissions(file(name), std::filesystem::perms::owner_all);
  }
  void tools(const std::string& mode) {
    write("compute-sanitizer", k_sanitizer, mode);
    write("cuda-gdb", k_debugger, mode);
    ::setenv("AKO_COMPUTE_SANITIZER", file("compute-sanitizer").c_str(), 1);
    ::setenv("AKO_CUDA_GDB", file("cuda-gdb").c_str(), 1);
  }
  FaultLook look(std::vector<FaultTool> wanted) {
    m_request.tools = std::move(wanted);
    return look_for_fault(m_request, executors::local_runner());
  }
  std::string file(const char* name) const { return (m_folder->path() / name).string(); }

  std::optional<base::TemporaryDir> m_folder;
  model::Sources m_sources;
  FaultRequest m_request;
};

TEST_F(Faults, AnAccessOutsideIsMappedToTheSource) {
  tools("memcheck");
  const FaultLook found = look({FaultTool::memcheck, FaultTool::debugger});
  ASSERT_EQ(found.evidence.size(), 1u);
  const model::Evidence& one = found.evidence[0];
  EXPECT_EQ(one.guard, "compute-sanitizer");
  EXPECT_FALSE(one.decisive);
  EXPECT_TRUE(is_of_a_tool(one));
  EXPECT_THAT(one.text,
              HasSubstr("solution/faults.cu:15: out of bounds: Invalid __global__ write"));
  EXPECT_THAT(one.text, HasSubstr("`line(15);`"));
  EXPECT_THAT(one.text, HasSubstr("thread (0,0,0) of block (4,0,0)"));
  EXPECT_EQ(one.data["at"], "shape small, seed 1");
  // Found by the first: the next is not asked.
  ASSERT_EQ(found.pages.size(), 1u);
  EXPECT_EQ(found.pages[0].name, "memcheck");
  EXPECT_THAT(found.pages[0].bytes, HasSubstr("--padding 256"));
  EXPECT_FALSE(std::filesystem::exists(file("cuda-gdb.calls")));
  EXPECT_THAT(found.warnings, IsEmpty());
}

TEST_F(Faults, ARaceNamesBothLines) {
  tools("racecheck");
  const FaultLook found = look({FaultTool::racecheck, FaultTool::synccheck});
  ASSERT_EQ(found.evidence.size(), 1u);
  EXPECT_THAT(found.evidence[0].text, HasSubstr("solution/faults.cu:8: race"));
  EXPECT_THAT(found.evidence[0].text, HasSubstr("faults.cu:10"));
}

TEST_F(Faults, WhatAllFindCleanIsNoEvidence) {
  const FaultLook found = look({FaultTool::racecheck, FaultTool::synccheck, FaultTool::debugger});
  EXPECT_THAT(found.evidence, IsEmpty());
  EXPECT_EQ(found.pages.size(), 3u);
  EXPECT_THAT(found.warnings, ElementsAre(HasSubstr("racecheck, synccheck, cuda-gdb found nothing "
                                                    "in one plain launch at shape small")));
}

TEST_F(Faults, TheDebuggerNamesTheCandidatesOwnFrame) {
  tools("host");
  const FaultLook host = look({FaultTool::debugger, FaultTool::memcheck});
  ASSERT_EQ(host.evidence.size(), 1u);
  EXPECT_THAT(host.evidence[0].text, HasSubstr("cuda-gdb: solution/faults.cu:31: SIGSEGV"));
  EXPECT_EQ(host.evidence[0].data["frames"].size(), 4u);
  tools("device");
  const FaultLook device = look({FaultTool::memcheck, FaultTool::debugger});
  ASSERT_EQ(device.evidence.size(), 1u);
  EXPECT_THAT(device.evidence[0].text, HasSubstr("solution/faults.cu:15: CUDA_EXCEPTION_14"));
}

TEST_F(Faults, AToolThatIsMissingOrFailsIsAWarning) {
  ::setenv("AKO_COMPUTE_SANITIZER", file("absent").c_str(), 1);
  const FaultLook missing = look({FaultTool::racecheck, FaultTool::synccheck, FaultTool::memcheck});
  EXPECT_THAT(missing.evidence, IsEmpty());
  EXPECT_THAT(missing.warnings, ElementsAre(HasSubstr("AKO_COMPUTE_SANITIZER names no program")));
  tools("silent");
  EXPECT_THAT(look({FaultTool::memcheck}).warnings, ElementsAre(HasSubstr("without a word")));
  tools("hang");
  m_request.seconds = 0.3;
  EXPECT_THAT(look({FaultTool::memcheck}).warnings, ElementsAre(HasSubstr("did not end in time")));
}

model::Outcome ended(base::Json data, const char* guard = "worker_ended") {
  model::Outcome out;
  out.evidence.push_back({guard, "", std::move(data), true});
  return out;
}

TEST(FaultTools, WhatEachSuspicionCallsFor) {
  // An illegal address, as the generated entry reports it.
  const auto device = ended({{"failure", "returned_error"}, {"detail", {{"code", -80700}}}});
  EXPECT_THAT(tools_for(device),
              ElementsAre(FaultTool::memcheck, FaultTool::synccheck, FaultTool::debugger));
  // Its twin: a launch that asks for too much is known without looking.
  EXPECT_THAT(tools_for(ended({{"failure", "returned_error"}, {"detail", {{"code", -80009}}}})),
              IsEmpty());
  EXPECT_THAT(tools_for(ended({{"failure", "crashed"}, {"detail", {{"signal", 11}}}})),
              ElementsAre(FaultTool::debugger, FaultTool::memcheck));
  EXPECT_THAT(tools_for(ended({{"failure", "out_of_memory"}})), IsEmpty());
  EXPECT_EQ(tools_for(ended({}, "stability")).front(), FaultTool::racecheck);
  EXPECT_THAT(tools_for(ended({}, "red_zone")), ElementsAre(FaultTool::memcheck));
  EXPECT_THAT(tools_for(ended({}, "compare")), IsEmpty()) << "a wrong formula is no fault";
  EXPECT_THAT(tools_for({}), IsEmpty());
}

TEST(FaultTools, WhereItWasSeen) {
  EXPECT_EQ(shape_of_fault(ended({{"shape", "decode"}})), "decode");
  EXPECT_EQ(shape_of_fault(ended({{"place", {{"shape", "edge:M=1"}}}}, "red_zone")), "edge:M=1");
  EXPECT_EQ(shape_of_fault(ended({{"where", "\"y\" at shape hidden:2"}}, "stability")), "hidden:2");
  EXPECT_EQ(shape_of_fault({}), "");
}

TEST(FaultTools, APlaceInTheSources) {
  model::Sources sources;
  sources.texts = {{"solution/a.cu", "one\n  two\nthree", false},
                   {"solution/b/a.cuh", "x\n", false},
                   {"solution/c/a.cuh", "y\n", false}};
  EXPECT_EQ(place_in(sources, "/stage/a.cu", 2).place, "solution/a.cu:2");
  EXPECT_EQ(place_in(sources, "a.cu", 2).line, "two");
  EXPECT_EQ(place_in(sources, "a.cu", 3).line, "three");
  EXPECT_EQ(place_in(sources, "a.cu", 300).line, "");
  // Two of one name: it is not guessed.
  EXPECT_EQ(place_in(sources, "a.cuh", 1).place, "a.cuh:1");
  EXPECT_EQ(place_in(sources, "a.cuh", 1).line, "");
  EXPECT_EQ(place_in(sources, "", 1).place, "");
}

TEST(PlainLaunches, AContractWithOneShapeMoreIsAContract) {
  auto folder = base::TemporaryDir::make("shapes");
  ASSERT_TRUE(folder.has_value());
  const std::string toml = R"(format = 1
[kernel]
name = "twice"
lane = "cpu"
entry = { file = "solution/k.cpp", symbol = "twice" }
[axes]
N = { var = true, tile = 64 }
T = { dtype = ["float32", "bfloat16"] }
[[tensor]]
name = "x"
role = "in"
dtype = "T"
shape = ["N"]
[[tensor]]
name = "y"
role = "out"
dtype = "T"
shape = ["N"]
[[shape]]
tag = "small"
N = 128
T = "bfloat16"
[reference]
entry = { file = "input/k.cpp", symbol = "twice" }
[[baseline]]
name = "b"
entry = { file = "input/k.cpp", symbol = "twice" })";
  for (const char* file : {"solution/k.cpp", "input/k.cpp"})
    ASSERT_TRUE(base::write_file_atomic(folder->path() / file, "void twice();\n"));
  ASSERT_TRUE(base::write_file_atomic(folder->path() / "task.toml", toml));
  auto contract = model::load_contract(folder->path());
  ASSERT_TRUE(contract.has_value()) << contract.error().text();
  const auto edges = model::edge_shapes(*contract, 1 << 20);
  ASSERT_FALSE(edges.empty());
  for (const auto& edge : edges) {
    ASSERT_TRUE(
        base::write_file_atomic(folder->path() / "task.toml", with_shape(toml, edge, "as-judged")));
    auto more = model::load_contract(folder->path());
    ASSERT_TRUE(more.has_value()) << edge.tag << more.error().text();
    ASSERT_EQ(more->shapes.size(), 2u);
    EXPECT_EQ(more->shapes[1].tag, "as-judged");
    EXPECT_EQ(more->shapes[1].axes, edge.axes);
    EXPECT_EQ(more->shapes[1].dtypes, edge.dtypes);
  }
}

} // namespace
} // namespace ako::loop
