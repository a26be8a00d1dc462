// CUDA kernels taken out of repositories that look like those of inference engines.
#include "scratch_repo.hpp"
#include "workspace/extract.hpp"
#include "workspace/extract_cuda.hpp"

#include "model/contract_toml.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace ako::test {
namespace {

/// csrc/ beside a Python package: kernels in a namespace, launchers that take torch tensors,
/// bindings at the end.
constexpr const char* k_norm_file = R"(#include "type_convert.cuh"
#include "quantization/scales.cuh"
#include <torch/all.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_bf16.h>

namespace engine {

__device__ float square(float value) { return value * value; }

// The norm itself.
template <typename scalar_t, int width>
__global__ void __launch_bounds__(1024) norm_kernel(
    scalar_t* __restrict__ out, const scalar_t* __restrict__ input, const float eps,
    const int tokens, const int hidden) {
  if (threadIdx.x < tokens) out[0] = input[0];
}

__global__ void plain_kernel(const float* x, float* y, int n) { if (n) y[0] = square(x[0]); }

void plain_launch(const float* x, float* y, int n, cudaStream_t stream) {
  plain_kernel<<<1, 32, 0, stream>>>(x, y, n);
}

}  // namespace engine

void norm(torch::Tensor& out, torch::Tensor& input, double eps) {
  int hidden = input.size(-1);
  dim3 grid(input.numel() / hidden);
  dim3 block(std::min(hidden, 1024));
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "norm", [&] {
    engine::norm_kernel<scalar_t, 8>
        <<<grid, block, 0, stream>>>(out.data_ptr<scalar_t>(), input.data_ptr<scalar_t>(), eps,
                                     1, hidden);
  });
}

TORCH_LIBRARY(engine, m) {
  m.def("norm", &norm);
}
)";

class ExtractCudaTest : public testing::Test {
protected:
  ExtractCudaTest() {
    put(m_repo.top() / "csrc/norm.cu", k_norm_file);
    put(m_repo.top() / "csrc/type_convert.cuh", "#pragma once\n#include <cuda_fp16.h>\n"
                                                "#include <torch/types.h>\n");
    put(m_repo.top() / "csrc/quantization/scales.cuh", "#include \"../vec.cuh\"\nfloat scale;\n");
    put(m_repo.top() / "csrc/vec.cuh", "struct Vec {};\n");
    put(m_repo.top() / "csrc/other.cu", "int other;\n");
    // A second layout: a project below the top with an include folder of its own.
    put(m_repo.top() / "kernel-lib/csrc/elementwise/act.cu",
        "#include \"utils.h\"\n#include <flashy/vec.cuh>\n"
        "template <typename T> __global__ void act_kernel(T* x, int n) {}\n"
        "cudaError_t act(float* x, int n, cudaStream_t stream) {\n"
        "  act_kernel<float><<<n, 128, 0, stream>>>(x, n);\n  return cudaGetLastError();\n}\n");
    put(m_repo.top() / "kernel-lib/include/utils.h", "#include <stdint.h>\nint utils;\n");
    m_repo.git("add -A && git commit -qm base");
  }
  base::Expected<workspace::Extracted> extract(const std::string& from) const {
    auto request = workspace::parse_from(m_repo.top().string() + ":" + from);
    EXPECT_TRUE(request);
    return workspace::extract_kernel(*request);
  }
  static std::string text_of(const workspace::Extracted& extracted, const std::string& path) {
    for (const auto& file : extracted.files)
      if (file.path == path) return file.content;
    return "(absent)";
  }
  static bool mentions(const std::vector<std::string>& list, const std::string& part) {
    return std::any_of(list.begin(), list.end(), [&](const std::string& each) {
      return each.find(part) != std::string::npos;
    });
  }
  ScratchRepo m_repo{""};
};

TEST_F(ExtractCudaTest, AKernelComesWithThePlainLauncherOfItsFile) {
  const auto extracted = extract("csrc/norm.cu::engine::plain_kernel");
  ASSERT_TRUE(extracted) << extracted.error().text();
  EXPECT_EQ(extracted->lane, model::Lane::cuda);
  EXPECT_EQ(extracted->function.qualified, "engine::plain_launch");
  const std::string toml = text_of(*extracted, "task.toml");
  EXPECT_NE(toml.find("lane = \"cuda\""), std::string::npos);
  EXPECT_NE(toml.find("symbol = \"engine::plain_launch\""), std::string::npos) << toml;
  EXPECT_NE(toml.find("args = [\"x\", \"y\", \"n\", \"stream\"]"), std::string::npos) << toml;
  EXPECT_EQ(toml.find("march"), std::string::npos);
}

TEST_F(ExtractCudaTest, HeadersComeAlongTransitivelyAndForeignThingsAreLeftOutAndListed) {
  const auto extracted = extract("csrc/norm.cu::plain_kernel").value();
  for (const char* path :
       {"solution/csrc/norm.cu", "solution/csrc/type_convert.cuh",
        "solution/csrc/quantization/scales.cuh", "solution/csrc/vec.cuh", "input/csrc/vec.cuh"})
    EXPECT_NE(text_of(extracted, path), "(absent)") << path;
  EXPECT_EQ(text_of(extracted, "solution/csrc/other.cu"), "(absent)");
  for (const char* thing :
       {"#include torch/all.h (csrc/norm.cu:3)", "#include torch/types.h (csrc/type_convert.cuh:3)",
        "function norm (csrc/norm.cu:27), which uses torch::", "TORCH_LIBRARY"})
    EXPECT_TRUE(mentions(extracted.left_out, thing)) << thing;
  EXPECT_FALSE(mentions(extracted.left_out, "cuda_bf16.h"));
  const std::string text = text_of(extracted, "solution/csrc/norm.cu");
  EXPECT_EQ(text.find("at::cuda"), std::string::npos) << text;
  EXPECT_NE(text.find("// Left out by ako: #include <torch/all.h>"), std::string::npos);
  EXPECT_NE(text.find("plain_kernel<<<1, 32, 0, stream>>>"), std::string::npos);
  // Every line that stays keeps its number.
  const auto lines = [](const std::string& all) {
    return std::count(all.begin(), all.end(), '\n');
  };
  EXPECT_EQ(lines(text), lines(k_norm_file));
}

TEST_F(ExtractCudaTest, AKernelLaunchedByForeignCodeGetsALauncherToFinish) {
  const auto extracted = extract("csrc/norm.cu::engine::norm_kernel");
  ASSERT_TRUE(extracted) << extracted.error().text();
  const std::string launcher = text_of(*extracted, "solution/csrc/norm_kernel_launch.cu");
  for (const char* part :
       {"#include \"norm.cu\"", "#error \"QUESTION", "launched at line",
        "dim3 block(std::min(hidden", "template <typename scalar_t, int width>",
        "cudaError_t norm_kernel_launch(scalar_t* __restrict__ out, const scalar_t* __restrict__ "
        "input, "
        "const float eps, const int tokens, const int hidden, cudaStream_t stream)"})
    EXPECT_NE(launcher.find(part), std::string::npos) << part << "\n" << launcher;
  EXPECT_TRUE(mentions(extracted->questions, "launcher norm_kernel_launch: grid"));
  EXPECT_TRUE(mentions(extracted->questions, "tensor out.dtype"));
  const std::string toml = text_of(*extracted, "task.toml");
  EXPECT_NE(toml.find("file = \"solution/csrc/norm_kernel_launch.cu\""), std::string::npos) << toml;
}

TEST_F(ExtractCudaTest, AProjectBelowTheTopFindsItsIncludeFolder) {
  const auto extracted = extract("kernel-lib/csrc/elementwise/act.cu::act");
  ASSERT_TRUE(extracted) << extracted.error().text();
  EXPECT_NE(text_of(*extracted, "solution/kernel-lib/include/utils.h"), "(absent)");
  EXPECT_TRUE(
      mentions(extracted->left_out, "flashy/vec.cuh (kernel-lib/csrc/elementwise/act.cu:2)"));
  EXPECT_FALSE(mentions(extracted->left_out, "stdint.h"));
  const std::string toml = text_of(*extracted, "task.toml");
  EXPECT_NE(toml.find("include_dirs = [\"solution/kernel-lib/include\""), std::string::npos)
      << toml;
  EXPECT_FALSE(mentions(extracted->questions, "returns cudaError_t"));
}

TEST_F(ExtractCudaTest, AnAnsweredContractReads) {
  const auto extracted = extract("csrc/norm.cu::plain_launch").value();
  std::string toml = text_of(extracted, "task.toml");
  const auto answer = [&](const std::string& question, const std::string& value) {
    for (std::size_t at = 0; (at = toml.find(question, at)) != std::string::npos;)
      toml.replace(at, question.size(), value);
  };
  EXPECT_FALSE(model::parse_contract(toml, "task.toml"));
  answer("shape = [\"?\"]", "shape = [\"n\"]");
  answer("n = \"?\"", "n = 4");
  const auto contract = model::parse_contract(toml, "task.toml");
  EXPECT_TRUE(contract) << contract.error().text() << toml;
}

TEST(LaunchSites, AreFoundWithTemplateArgumentsAndAcrossLines) {
  const std::string text = "void f() {\n  kern<int,\n    4><<<a,\n    b>>>(x);\n}\n"
                           "void g() { other_kern<<<1, 2>>>(); kern(3); my.kern<<<1, 1>>>(); }\n";
  const auto sites = workspace::launch_sites(text, "kern");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(sites[0].line, 2);
  EXPECT_EQ(sites[0].text, "kern<int, 4><<<a, b>>>");
  EXPECT_EQ(sites[0].function, "f");
  EXPECT_EQ(sites[1].function, "g");
  EXPECT_TRUE(workspace::launch_sites("kern<<<", "kern").empty());
  EXPECT_TRUE(workspace::launch_sites("", "kern").empty());
}

} // namespace
} // namespace ako::test
