// The cuda lane against a real nvcc: what it builds, what it refuses and in which words.
#include "cuda_bench.hpp"
#include "lanes/cuda/resources.hpp"

namespace ako::test {

namespace {

constexpr const char* k_good = R"(
#include <cuda_runtime.h>
#include <cstdint>
__global__ void scale(const float* x, float* y, std::int64_t n, float eps) {
  __shared__ float part[32];
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  part[threadIdx.x % 32] = eps;
  __syncthreads();
  if (i < n) y[i] = x[i] + part[(threadIdx.x + 1) % 32];
}
void k(const float* x, float* y, std::int64_t n, float eps, cudaStream_t stream) {
  scale<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(x, y, n, eps);
}
)";

std::string text_of(const lanes::BuildResult& result) {
  return result.error ? result.error->text() : "no error";
}

TEST(CudaBuild, AKernelBecomesALibraryWithItsResourceReport) {
  AKO_NEEDS_NVCC();
  CudaBench bench;
  const auto result = bench.build(k_good);
  ASSERT_TRUE(result.artifact) << text_of(result);
  Loaded loaded(result);
  EXPECT_TRUE(loaded.has("ako_call"));
  EXPECT_FALSE(loaded.has("_Z1kPKfPflfP11CUstream_st")); // nothing of the candidate's is visible
  const auto& artifact = *result.artifact;
  for (const char* word : {"-lineinfo", "arch=compute_90a,code=sm_90a", "-O3", "-std=c++20"})
    EXPECT_NE(artifact.compile_line.find(word), std::string::npos) << artifact.compile_line;
  ASSERT_EQ(artifact.resources["kernels"].size(), 1u) << artifact.resources.dump();
  const auto& kernel = artifact.resources["kernels"][0];
  EXPECT_EQ(kernel["name"], "scale");
  EXPECT_EQ(kernel["architecture"], "sm_90a");
  EXPECT_GT(kernel["registers"], 4);
  EXPECT_EQ(kernel["shared_bytes"], 128);
  EXPECT_EQ(kernel["barriers"], 1);
  EXPECT_EQ(kernel["spill_store_bytes"], 0);
  EXPECT_EQ(kernel["image"]["agrees"], true) << kernel.dump();
  EXPECT_EQ(artifact.resources["code_hash"].get<std::string>().size(), 64u);
  EXPECT_NE(lanes::cuda::resource_text(artifact.resources).find("scale sm_90a: "),
            std::string::npos);
  EXPECT_TRUE(artifact.messages.empty()) << artifact.messages[0].text;
}

TEST(CudaBuild, ASecondBuildComesFromTheCacheWithTheSameReport) {
  AKO_NEEDS_NVCC();
  CudaBench bench;
  const auto first = bench.build(k_good), second = bench.build(k_good);
  ASSERT_TRUE(first.artifact && second.artifact) << text_of(first);
  EXPECT_FALSE(first.artifact->from_cache);
  EXPECT_TRUE(second.artifact->from_cache);
  EXPECT_EQ(first.artifact->resources, second.artifact->resources);
  bench.contract.kernel.flags = {"-O2"};
  EXPECT_FALSE(bench.build(k_good).artifact->from_cache);
}

struct Case {
  const char* declaration; ///< of k, with its parameters
  const char* words;       ///< of the error; nullptr = an honest twin
};

TEST(CudaBuild, RefusesWrongNarrowingAndStreamlessArguments) {
  AKO_NEEDS_NVCC();
  const Case cases[] = {
      {"cudaError_t k(const float* x, float* y, int n, float e, cudaStream_t s)", nullptr},
      {"int k(const void* x, void* y, unsigned n, float e, void* s)", nullptr},
      {"int k(float* x, float* y, int n, float e, cudaStream_t s)", "argument 1 of 'k'"},
      {"int k(const float* x, float* y, short n, float e, cudaStream_t s)", "argument 3 of 'k'"},
      {"int k(const float* x, float* y, int n, float e, int s)", "argument 5 of 'k'"},
      {"int k(const float* x, float* y, int n, float e)",
       "'k' takes 4 arguments, the contract gives 5"},
      {"float k(const float* x, float* y, int n, float e, cudaStream_t s)",
       "'k' returns the wrong type"},
  };
  for (const auto& each : cases) {
    CudaBench bench;
    const auto result = bench.build("#include <cuda_runtime.h>\n" + std::string(each.declaration) +
                                    " { return {}; }\n");
    if (each.words == nullptr) {
      EXPECT_TRUE(result.artifact) << each.declaration << "\n" << text_of(result);
      continue;
    }
    ASSERT_TRUE(result.error) << each.declaration;
    EXPECT_NE(result.error->message.find(each.words), std::string::npos) << result.error->text();
    EXPECT_EQ(result.outcome.kind, model::OutcomeKind::build_failed);
  }
}

TEST(CudaBuild, ElementTypesAreTheToolkits) {
  AKO_NEEDS_NVCC();
  using model::Dtype;
  CudaBench bench;
  const std::pair<Dtype, const char*> types[] = {
      {Dtype::bfloat16, "__nv_bfloat16"},       {Dtype::float16, "__half"},
      {Dtype::float8_e4m3fn, "__nv_fp8_e4m3"},  {Dtype::float8_e5m2, "__nv_fp8_e5m2"},
      {Dtype::float8_e8m0fnu, "__nv_fp8_e8m0"}, {Dtype::float4_e2m1fn, "__nv_fp4x2_e2m1"},
      {Dtype::bfloat16, "std::uint16_t"},       {Dtype::int8, "std::int8_t"}};
  bench.contract.tensors.clear();
  bench.contract.kernel.args.clear();
  bench.contract.scalars.clear();
  bench.contract.axes.clear();
  std::string parameters;
  int number = 0;
  for (const auto& [dtype, type] : types) {
    model::Tensor tensor;
    tensor.name = "t" + std::to_string(number++);
    tensor.dtype = dtype;
    bench.contract.tensors.push_back(tensor);
    parameters += std::string("const ") + type + "* " + tensor.name + ", ";
  }
  const std::string headers = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
                              "#include <cuda_fp8.h>\n#include <cuda_fp4.h>\n#include <cstdint>\n";
  const auto good = bench.build(headers + "void k(" + parameters + "cudaStream_t) {}\n");
  EXPECT_TRUE(good.artifact) << text_of(good);
  bench.contract.tensors[0].dtype = Dtype::float16; // and not the other half
  const auto bad = bench.build(headers + "void k(" + parameters + "cudaStream_t) {}\n");
  ASSERT_TRUE(bad.error);
  EXPECT_NE(bad.error->message.find("argument 1 of 'k'"), std::string::npos) << bad.error->text();
}

TEST(CudaBuild, AReferenceWritesItsOwnPrecision) {
  AKO_NEEDS_NVCC();
  CudaBench bench;
  bench.role = lanes::Role::reference;
  bench.write("input/ref.cu", "#include <cuda_runtime.h>\nvoid ref(const float*, double*, int, "
                              "float, cudaStream_t) {}\n");
  const auto good = bench.build();
  EXPECT_TRUE(good.artifact) << text_of(good);
  bench.write("input/ref.cu", "#include <cuda_runtime.h>\nvoid ref(const float*, float*, int, "
                              "float, cudaStream_t) {}\n");
  const auto bad = bench.build();
  EXPECT_EQ(bad.outcome.kind, model::OutcomeKind::task_error);
}

TEST(CudaBuild, AnErrorIsShownWithTheCandidatesOwnLine) {
  AKO_NEEDS_NVCC();
  CudaBench bench;
  const auto result =
      bench.build("#include <cuda_runtime.h>\nvoid k(const float*, float* y, int n, "
                  "float, cudaStream_t) {\n  y[0] = nosuch;\n}\n");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->where.substr(0, 15), "solution/k.cu:3") << result.error->text();
  EXPECT_NE(result.error->found.find("\"nosuch\" is undefined"), std::string::npos);
  ASSERT_FALSE(result.messages.empty());
  EXPECT_EQ(result.messages[0].source_line, "  y[0] = nosuch;");
}

TEST(CudaBuild, WgmmaOnAnArchitectureWithoutItIsExplained) {
  AKO_NEEDS_NVCC();
  CudaBench bench;
  const std::string text = "#include <cuda_runtime.h>\n__global__ void g() {\n"
                           "  asm volatile(\"wgmma.fence.sync.aligned;\");\n}\n"
                           "void k(const float*, float*, int, float, cudaStream_t s) {\n"
                           "  g<<<1, 128, 0, s>>>();\n}\n";
  bench.contract.kernel.architectures = {"sm_90"};
  const auto bad = bench.build(text);
  ASSERT_TRUE(bad.error);
  EXPECT_EQ(bad.error->message, "'wgmma.fence' is not there on sm_90");
  EXPECT_EQ(bad.error->where, "solution/k.cu:3");
  EXPECT_NE(bad.error->next.find("architectures = [\"sm_90a\"]"), std::string::npos);
  bench.contract.kernel.architectures = {"sm_90a"};
  const auto good = bench.build(text);
  EXPECT_TRUE(good.artifact) << text_of(good);
  bench.contract.kernel.architectures.clear(); // the device says sm_90, the source asks for the a
  bench.device_architecture = "sm_90";
  const auto chosen = bench.build(text);
  ASSERT_TRUE(chosen.artifact) << text_of(chosen);
  EXPECT_EQ(chosen.artifact->resources["kernels"][0]["architecture"], "sm_90a");
}

TEST(CudaBuild, CodeLeftOutBehindATestOfTheArchitectureIsSaidSo) {
  AKO_NEEDS_NVCC();
  CudaBench bench;
  const std::string text = "#include <cuda_runtime.h>\n__global__ void g() {\n"
                           "#ifdef __CUDA_ARCH_FEAT_SM90_ALL\n"
                           "  asm volatile(\"wgmma.fence.sync.aligned;\");\n#endif\n}\n"
                           "void k(const float*, float*, int, float, cudaStream_t s) {\n"
                           "  g<<<1, 128, 0, s>>>();\n}\n";
  bench.contract.kernel.architectures = {"sm_90"};
  const auto without = bench.build(text);
  ASSERT_TRUE(without.artifact) << text_of(without);
  ASSERT_EQ(without.artifact->messages.size(), 1u);
  EXPECT_EQ(without.artifact->messages[0].line, 4);
  EXPECT_NE(without.artifact->messages[0].text.find("needs sm_90a"), std::string::npos);
  bench.contract.kernel.architectures = {"sm_90a"};
  EXPECT_TRUE(bench.build(text).artifact->messages.empty());
}

TEST(CudaBuild, TooMuchStaticSharedMemoryIsExplained) {
  AKO_NEEDS_NVCC();
  CudaBench bench;
  const auto result = bench.build(
      "#include <cuda_runtime.h>\n__global__ void g(float* y) {\n  __shared__ float s[70000];\n"
      "  s[threadIdx.x] = y[0];\n  __syncthreads();\n  y[1] = s[255 - threadIdx.x];\n}\n"
      "void k(const float*, float* y, int, float, cudaStream_t s) { g<<<1, 256, 0, s>>>(y); }\n");
  ASSERT_TRUE(result.error);
  EXPECT_NE(result.error->message.find("more static shared memory"), std::string::npos);
  EXPECT_EQ(result.error->found, "280000 bytes");
  EXPECT_EQ(result.error->allowed, "at most 232448 bytes");
}

TEST(CudaBuild, SeveralSourcesPtxAndHeadersFromTheTask) {
  AKO_NEEDS_NVCC();
  CudaBench bench;
  bench.contract.kernel.sources = {"solution/part.cu", "solution/host.cpp", "solution/add.ptx"};
  bench.contract.kernel.include_dirs = {"solution/include"};
  bench.write(
      "solution/include/shared.cuh",
      "#pragma once\n#include <cuda_runtime.h>\nvoid part(float*, cudaStream_t);\nint host();\n");
  bench.write("solution/part.cu",
              "#include <shared.cuh>\n__global__ void p(float* y) { *y = 1; }\n"
              "void part(float* y, cudaStream_t s) { p<<<1, 1, 0, s>>>(y); }\n");
  bench.write("solution/host.cpp", "int host() { return 7; }\n");
  bench.write("solution/add.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n"
                                  ".visible .entry add_one(.param .u64 p) {\n  ret;\n}\n");
  const auto result = bench.build(
      "#include \"include/shared.cuh\"\nextern \"C\" const unsigned char ako_image_add[];\n"
      "int k(const float*, float* y, int, float, cudaStream_t s) {\n"
      "  part(y, s);\n  return host() - 7 + (ako_image_add[0] == 0x7f ? 0 : 5);\n}\n");
  ASSERT_TRUE(result.artifact) << text_of(result);
  EXPECT_NE(result.artifact->compile_line.find("ptxas"), std::string::npos);
  EXPECT_EQ(result.artifact->resources["kernels"].size(), 2u); // p, and add_one out of the PTX
}

TEST(CudaBuild, AWrongSetOfArchitecturesForTheDeviceIsUnsupported) {
  CudaBench bench;
  AKO_NEEDS_NVCC();
  bench.contract.kernel.architectures = {"sm_100a"};
  bench.device_architecture = "sm_90";
  const auto result = bench.build(k_good);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->kind, base::ErrorKind::unsupported);
  EXPECT_EQ(result.error->next, "add \"sm_90\"");
  bench.contract.kernel.architectures.clear();
  bench.device_architecture.clear();
  EXPECT_EQ(bench.build(k_good).error->kind, base::ErrorKind::unsupported);
}

TEST(CudaBuild, RefusesFlagsThatWouldChangeWhatIsBuilt) {
  AKO_NEEDS_NVCC();
  for (const char* flag :
       {"-arch=sm_80", "-cubin", "-o", "-gencode=arch=compute_80", "-MD", "--keep"}) {
    CudaBench bench;
    bench.contract.kernel.flags = {flag};
    const auto result = bench.build(k_good);
    ASSERT_TRUE(result.error) << flag;
    EXPECT_EQ(result.error->found, flag);
  }
}

} // namespace
} // namespace ako::test
