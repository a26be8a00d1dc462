// The typed shim against a real compiler: what it lets pass, what it refuses and in which words.
#include "bench_of_builds.hpp"
#include "lanes/native/shim.hpp"
#include "model/entry_status.hpp"

#include <fstream>
#include <gtest/gtest.h>

namespace ako::test {
namespace {

constexpr const char* k_good = "#include <cstdint>\n"
                               "void k(const float* x, float* y, std::int64_t n, float eps) {\n"
                               "  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] + eps;\n"
                               "}\n";

TEST(CpuBuild, CallsTheEntryWithTheContractsArguments) {
  BuildBench bench;
  bench.contract.kernel.prepare = "warm_up";
  auto result = bench.build(std::string(k_good) +
                            "void warm_up(const float*, float* y, int n, double) { y[0] = n; }\n");
  Loaded loaded(result);
  float x[3] = {1, 2, 3}, y[3] = {};
  EXPECT_EQ(loaded.call({x, y}, {3, 0}, {0.5}), 0);
  EXPECT_EQ(y[2], 3.5f);
  EXPECT_TRUE(loaded.has("ako_prepare"));
  EXPECT_FALSE(loaded.has("ako_plan"));
  EXPECT_FALSE(loaded.has("_Z1kPKfPflf")); // nothing of the candidate's is visible
}

struct Case {
  const char* parameters;
  const char* words; ///< of the error; nullptr = an honest twin
};

TEST(CpuBuild, RefusesWrongAndNarrowingArguments) {
  const Case cases[] = {
      {"const float* x, float* y, long n, double e", nullptr},
      {"const float* x, float* y, int n, float e", nullptr}, // N is at most 65536: int holds it
      {"const float* x, float* y, unsigned n, float e", nullptr},
      {"const float* __restrict__ x, float* const y, const int& n, float e", nullptr},
      {"const void* x, void* y, unsigned long n, float e", nullptr},
      {"float* x, float* y, long n, float e", "argument 1 of 'k'"},
      {"const double* x, float* y, long n, float e", "argument 1 of 'k'"},
      {"const float* x, const float* y, long n, float e", "argument 2 of 'k'"},
      {"const float* x, int* y, long n, float e", "argument 2 of 'k'"},
      {"const float* x, float* y, short n, float e", "argument 3 of 'k'"},
      {"const float* x, float* y, float n, float e", "argument 3 of 'k'"},
      {"const float* x, float* y, bool n, float e", "argument 3 of 'k'"},
      {"const float* x, float* y, float* n, float e", "argument 3 of 'k'"},
      {"const float* x, float* y, long n, int e", "argument 4 of 'k'"},
      {"const float* x, float* y, long& n, float e", "argument 3 of 'k'"},
      {"const float* x, float* y, long n", "'k' takes 3 arguments, the contract gives 4"},
      {"", "'k' takes 0 arguments, the contract gives 4"},
  };
  for (const auto& each : cases) {
    BuildBench bench;
    auto result = bench.build(std::string("int k(") + each.parameters + ") { return 0; }\n");
    if (each.words == nullptr) {
      EXPECT_TRUE(result.artifact) << each.parameters << "\n"
                                   << (result.error ? result.error->text() : "");
      continue;
    }
    ASSERT_TRUE(result.error) << each.parameters;
    EXPECT_NE(result.error->message.find(each.words), std::string::npos) << each.parameters << "\n"
                                                                         << result.error->text();
    EXPECT_EQ(result.outcome.kind, model::OutcomeKind::build_failed);
    EXPECT_FALSE(result.error->allowed.empty());
  }
}

TEST(CpuBuild, TheMessageSaysWhatIsGivenAndWhatIsTaken) {
  BuildBench bench;
  const auto error = *bench.build("void k(const float*, double* y, int, float) {}\n").error;
  EXPECT_EQ(error.message, "argument 2 of 'k' has the wrong type: the contract gives tensor y "
                           "(out, float32), the function takes double*");
  EXPECT_EQ(error.allowed, "float*, void*");
  EXPECT_NE(error.where.find("solution/k.cpp"), std::string::npos);
}

TEST(CpuBuild, ClangSaysTheSame) {
  BuildBench bench;
  bench.contract.kernel.compiler = "clang++";
  const auto error = *bench.build("void k(const float*, double* y, int, float) {}\n").error;
  EXPECT_EQ(error.message, "argument 2 of 'k' has the wrong type: the contract gives tensor y "
                           "(out, float32), the function takes double *");
  auto good = bench.build(k_good);
  Loaded loaded(good);
  float x[1] = {1}, y[1] = {};
  EXPECT_EQ(loaded.call({x, y}, {1, 0}, {0.5}), 0);
  EXPECT_EQ(y[0], 1.5f);
}

TEST(CpuBuild, AnAxisBeyondThirtyTwoBitsIsNotNarrowed) {
  BuildBench bench;
  bench.contract.axes[0].max = std::int64_t{1} << 33;
  const auto error = *bench.build("void k(const float*, float*, int n, float) {}\n").error;
  EXPECT_NE(error.message.find("axis N (1 to 8589934592)"), std::string::npos) << error.text();
  EXPECT_NE(error.next.find("axes.N.max"), std::string::npos);
  EXPECT_TRUE(bench.build(k_good).artifact);
}

TEST(CpuBuild, AnAxisWithoutMaxIsCheckedAtTheCall) {
  BuildBench bench;
  bench.contract.kernel.args = {"y", "L"};
  auto result = bench.build("void k(float* y, int n) { y[0] = float(n); }\n");
  Loaded loaded(result);
  float x[1] = {}, y[1] = {};
  EXPECT_EQ(loaded.call({x, y}, {0, 7}, {0}), 0);
  EXPECT_EQ(y[0], 7);
  EXPECT_EQ(loaded.call({x, y}, {0, std::int64_t{1} << 32}, {0}), model::k_range_status);
  EXPECT_EQ(y[0], 7);
}

TEST(CpuBuild, ElementTypesOfEveryDtype) {
  const std::pair<model::Dtype, const char*> good[] = {
      {model::Dtype::float64, "double"},
      {model::Dtype::float16, "std::uint16_t"},
      {model::Dtype::float16, "_Float16"},
      {model::Dtype::bfloat16, "std::uint16_t"},
      {model::Dtype::float8_e4m3fn, "std::uint8_t"},
      {model::Dtype::float4_e2m1fn, "std::uint8_t"},
      {model::Dtype::int4, "std::uint8_t"},
      {model::Dtype::int64, "long long"},
      {model::Dtype::int8, "std::int8_t"},
      {model::Dtype::uint32, "std::uint32_t"},
      {model::Dtype::boolean, "bool"}};
  for (const auto& [dtype, type] : good) {
    BuildBench bench;
    bench.contract.tensors[0].dtype = dtype;
    bench.contract.kernel.args = {"x"};
    const std::string head = "#include <cstdint>\nvoid k(const ";
    EXPECT_TRUE(bench.build(head + type + "*) {}\n").artifact) << type;
    EXPECT_FALSE(bench.build(head + "char*) {}\n").artifact) << type;
  }
}

TEST(CpuBuild, AReferenceWritesInItsPrecision) {
  BuildBench bench;
  bench.role = lanes::Role::reference;
  bench.write("input/ref.cpp", "void ref(const float* x, double* y, int n, float e) { "
                               "for (int i = 0; i < n; ++i) y[i] = double(x[i]) + e; }\n");
  Loaded loaded(bench.build());
  float x[1] = {1};
  double y[1] = {};
  EXPECT_EQ(loaded.call({x, y}, {1, 0}, {0.25}), 0);
  EXPECT_EQ(y[0], 1.25);
  bench.write("input/ref.cpp", "void ref(const float* x, float* y, int n, float e) {}\n");
  const auto wrong = bench.build();
  ASSERT_TRUE(wrong.error);
  EXPECT_EQ(wrong.outcome.kind, model::OutcomeKind::task_error);
  EXPECT_EQ(wrong.outcome.fault, model::Fault::task);
}

TEST(CpuBuild, AnEntryThatIsNotOneFunction) {
  const Case cases[] = {
      {"void other(const float* x, float*, int, float) {}", "there is no function 'k'"},
      {"void k(int) {} void k(const float*, float*, int, float) {}", "is overloaded"},
      {"template <class T> void k(const T*, T*, int, float) {}", "is a template"},
      {"namespace deep { void k(const float*, float*, int, float) {} }", "there is no function"},
      {"int k = 3;", "is no function"},
      {"double k(const float*, float*, int, float) { return 0; }", "returns the wrong type"}};
  for (const auto& each : cases) {
    BuildBench bench;
    auto result = bench.build(std::string(each.parameters) + "\n");
    ASSERT_TRUE(result.error) << each.parameters;
    EXPECT_NE(result.error->message.find(each.words), std::string::npos) << each.parameters << "\n"
                                                                         << result.error->text();
  }
  BuildBench bench;
  bench.contract.kernel.entry.symbol = "deep::k<float>";
  EXPECT_TRUE(
      bench.build("namespace deep { template <class T> void k(const T*, T*, int, float) {} }\n")
          .artifact);
}

TEST(CpuBuild, TheCompilersMessagesCarryTheCandidatesOwnLines) {
  BuildBench bench;
  auto result = bench.build("#include <vector>\n#include <algorithm>\nstruct S {};\n"
                            "void k(const float*, float*, int, float) {\n"
                            "  std::vector<S> list(3);\n"
                            "  std::sort(list.begin(), list.end());\n}\n");
  ASSERT_FALSE(result.messages.empty());
  EXPECT_EQ(result.messages[0].file, "solution/k.cpp");
  EXPECT_EQ(result.messages[0].line, 6);
  EXPECT_EQ(result.messages[0].source_line, "  std::sort(list.begin(), list.end());");
  EXPECT_EQ(result.outcome.kind, model::OutcomeKind::build_failed);
  EXPECT_LE(result.messages.size(), 50u);
  EXPECT_TRUE(fs::exists(result.log_path)); // the rest is kept in a file
}

TEST(CpuBuild, AnUndefinedFunctionIsTheLinkersMessage) {
  BuildBench bench;
  const auto result =
      bench.build("void gone(float*); void k(const float*, float* y, int, float) { gone(y); }\n");
  ASSERT_TRUE(result.error);
  EXPECT_NE(result.error->text().find("gone(float*)"), std::string::npos) << result.error->text();
}

TEST(CpuBuild, SeveralSourcesAndOpenMp) {
  BuildBench bench;
  bench.contract.kernel.flags = {"-O2", "-fopenmp"};
  bench.contract.kernel.sources = {"solution/more.cpp"};
  bench.write("solution/common.hpp", "void more(float* y, int n);\n");
  bench.write("solution/more.cpp",
              "#include \"common.hpp\"\n#include <omp.h>\n"
              "void more(float* y, int n) {\n#pragma omp parallel for\n"
              "for (int i = 0; i < n; ++i) y[i] = float(omp_in_parallel() + i);"
              " }\n");
  Loaded loaded(bench.build("#include \"common.hpp\"\n"
                            "void k(const float*, float* y, int n, float) { more(y, n); }\n"));
  float x[4] = {}, y[4] = {};
  EXPECT_EQ(loaded.call({x, y}, {4, 0}, {0}), 0);
  EXPECT_GE(y[3], 3);
}

TEST(CpuBuild, FilesOutsideTheTaskAreRefusedByName) {
  BuildBench bench;
  std::ofstream(bench.root() / "outside.h") << "int outside;\n";
  const std::string body = "void k(const float*, float*, int, float) {}\n";
  const std::string absolute = (bench.root() / "outside.h").string();
  for (const std::string& name : {absolute, std::string("../../outside.h")}) {
    const auto result = bench.build("#include \"" + name + "\"\n" + body);
    ASSERT_TRUE(result.error) << name;
    EXPECT_NE(result.error->message.find("a file outside the task"), std::string::npos)
        << result.error->text();
    EXPECT_NE(result.error->found.find("outside.h"), std::string::npos);
  }
  fs::create_symlink(absolute, bench.task() / "input/link.h");
  EXPECT_TRUE(bench.build("#include \"../input/link.h\"\n" + body).error);
  fs::remove(bench.task() / "input/link.h");
  bench.write("input/inside.h", "int inside;\n");
  EXPECT_TRUE(bench.build("#include \"../input/inside.h\"\n#include <cmath>\n" + body).artifact);
}

/// A kernel whose answer stands in a file that inline assembly takes in.
std::string answers_from(const std::string& path) {
  return "asm(\".section .rodata\\n.balign 4\\nanswer_:\\n.incbin \\\"" + path +
         "\\\"\\n.previous\\n\");\n"
         "extern \"C\" __attribute__((visibility(\"hidden\"))) const char answer_[];\n"
         "void k(const float*, float* y, int, float) { y[0] = answer_[0]; }\n";
}

TEST(CpuBuild, WhatInlineAssemblyReadsBelongsToTheBuild) {
  BuildBench bench;
  bench.write("input/answer.bin", "A");
  const auto first = bench.build(answers_from("input/answer.bin"));
  ASSERT_TRUE(first.artifact) << first.error->text();
  EXPECT_TRUE(bench.build(answers_from("input/answer.bin")).artifact->from_cache);
  bench.write("input/answer.bin", "B");
  const auto second = bench.build(answers_from("input/answer.bin"));
  ASSERT_TRUE(second.artifact) << second.error->text();
  EXPECT_FALSE(second.artifact->from_cache);
  EXPECT_NE(second.artifact->library_hash, first.artifact->library_hash);

  std::ofstream(bench.root() / "outside.bin") << "C";
  const auto outside = bench.build(answers_from((bench.root() / "outside.bin").string()));
  ASSERT_TRUE(outside.error);
  EXPECT_EQ(outside.outcome.kind, model::OutcomeKind::build_failed);
  EXPECT_NE(outside.error->found.find("outside.bin"), std::string::npos) << outside.error->text();
}

TEST(CpuBuild, InlineAssemblyThatReadsNothingIsLawfulEverywhere) {
  const std::string honest = "// no .incbin \"here\"\nasm(\".text\\n\");\n"
                             "void k(const float*, float* y, int, float) {\n"
                             "  asm volatile(\"nop\" ::: \"memory\"); y[0] = 1;\n}\n";
  for (const char* compiler : {"g++", "clang++"}) {
    BuildBench bench;
    bench.contract.kernel.compiler = compiler;
    const auto result = bench.build(honest);
    EXPECT_TRUE(result.artifact) << result.error->text();
  }
  BuildBench bench; // whose assembler lists nothing
  bench.contract.kernel.compiler = "clang++";
  bench.write("input/answer.bin", "A");
  const auto result = bench.build(answers_from("input/answer.bin"));
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->where, bench.contract.kernel.entry.file + ":1") << result.error->text();
  EXPECT_NE(result.error->next.find("array"), std::string::npos);
}

TEST(CpuBuild, TheCacheAnswersExactlyWhenNothingChanged) {
  BuildBench bench;
  bench.write("input/scale.h", "inline float scale() { return 2; }\n");
  const std::string text =
      "#include \"../input/scale.h\"\n"
      "void k(const float* x, float* y, int, float) { y[0] = x[0] * scale(); }\n";
  const auto first = bench.build(text);
  ASSERT_TRUE(first.artifact) << first.error->text();
  EXPECT_FALSE(first.artifact->from_cache);
  const auto begin = base::monotonic_ns();
  const auto second = bench.build(text);
  RecordProperty("cached_ms", static_cast<int>((base::monotonic_ns() - begin) / 1'000'000));
  EXPECT_TRUE(second.artifact->from_cache);
  EXPECT_EQ(second.artifact->library_hash, first.artifact->library_hash);

  bench.write("input/scale.h", "inline float scale() { return 3; }\n"); // a header read through it
  const auto third = bench.build(text);
  EXPECT_FALSE(third.artifact->from_cache);
  EXPECT_NE(third.artifact->library_hash, first.artifact->library_hash);
  bench.write("input/scale.h", "inline float scale() { return 2; }\n");
  EXPECT_TRUE(bench.build(text).artifact->from_cache);
  bench.contract.kernel.flags = {"-O2"};
  EXPECT_FALSE(bench.build(text).artifact->from_cache);
  bench.contract.kernel.compiler = "clang++";
  EXPECT_FALSE(bench.build(text).artifact->from_cache);
}

TEST(CpuBuild, ATornLibraryInTheCacheIsBuiltAgain) {
  BuildBench bench;
  const auto first = bench.build(k_good);
  ASSERT_TRUE(first.artifact);
  fs::permissions(first.artifact->library_path, fs::perms::owner_all);
  std::ofstream(first.artifact->library_path, std::ios::trunc) << "torn";
  const auto second = bench.build(k_good);
  ASSERT_TRUE(second.artifact);
  EXPECT_FALSE(second.artifact->from_cache);
  EXPECT_EQ(second.artifact->library_hash, first.artifact->library_hash); // and the same again
}

TEST(CpuBuild, RefusedFlags) {
  for (const char* flag : {"-o", "-c", "-MD", "@args", "-fplugin=x.so", "-B/tmp", "-E"}) {
    BuildBench bench;
    bench.contract.kernel.flags = {flag};
    const auto result = bench.build(k_good);
    ASSERT_TRUE(result.error) << flag;
    EXPECT_EQ(result.error->where, "kernel.flags");
    EXPECT_NE(result.error->allowed.find("kernel.include_dirs"), std::string::npos);
  }
}

TEST(CpuBuild, FoldersToSearchLieInTheTaskWhateverFlagNamesThem) {
  BuildBench bench;
  const fs::path outside = bench.root() / "library";
  fs::create_directories(outside);
  std::ofstream(outside / "plus.h") << "#define PLUS 1\n";
  const std::string text = "#include <plus.h>\n"
                           "void k(const float*, float* y, int, float) { y[0] = PLUS; }\n";
  for (const char* flag : {"-I", "-isystem", "-idirafter"}) {
    bench.contract.kernel.flags = {flag + outside.string()};
    const auto result = bench.build(text);
    ASSERT_TRUE(result.error) << flag;
    EXPECT_EQ(result.error->message, "the candidate includes a file outside the task");
    EXPECT_NE(result.error->found.find("plus.h"), std::string::npos) << result.error->text();
    EXPECT_NE(result.error->next.find("kernel.include_dirs"), std::string::npos);
  }
  bench.write("input/plus.h", "#define PLUS 1\n");
  bench.contract.kernel.flags = {"-Iinput"};
  EXPECT_TRUE(bench.build(text).artifact);
  bench.contract.kernel.flags = {};
  bench.contract.kernel.include_dirs = {"input"};
  EXPECT_TRUE(bench.build(text).artifact);
}

TEST(CpuBuild, PathsWithSpacesAndUmlauts) {
  BuildBench bench;
  bench.contract.kernel.entry.file = "solution/mein Körnel.cpp";
  bench.write("solution/ein schlüssel.h", "#define PLUS 1\n");
  bench.write("solution/mein Körnel.cpp",
              "#include \"ein schlüssel.h\"\r\nvoid k(const float* x, float* y, int, float) {\r\n"
              "  y[0] = x[0] + PLUS;\r\n}\r\n");
  const auto result = bench.build();
  Loaded loaded(result);
  float x[1] = {1}, y[1] = {};
  EXPECT_EQ(loaded.call({x, y}, {1, 0}, {0}), 0);
  EXPECT_EQ(y[0], 2);
}

TEST(CpuBuild, AnExceptionDoesNotCrossTheCall) {
  BuildBench bench;
  Loaded loaded(bench.build("void k(const float*, float*, int, float) { throw 1; }\n"));
  float x[1] = {}, y[1] = {};
  EXPECT_EQ(loaded.call({x, y}, {1, 0}, {0}), model::k_exception_status);
}

} // namespace
} // namespace ako::test
