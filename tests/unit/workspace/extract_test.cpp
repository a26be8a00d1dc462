#include "scratch_repo.hpp"
#include "workspace/extract.hpp"

#include "model/contract_toml.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace ako::test {
namespace {

class ExtractTest : public testing::Test {
protected:
  ExtractTest() {
    put(m_repo.top() / "src/norm.cpp",
        "#include \"detail/row.hpp\"\n#include <engine/config.h>\n#include <cmath>\n"
        "#include \"gone.h\"\n"
        "namespace engine {\n"
        "void rms(const std::uint16_t* x, float* y, int rows, std::int64_t width, float eps) {}\n"
        "void twice(int) {}\nvoid twice(long) {}\n"
        "template <class T> void generic(T* x) {}\n"
        "struct S { void member() {} };\nvoid hard(const std::vector<float>& v) {}\n}\n");
    put(m_repo.top() / "src/detail/row.hpp", "#include \"../shared.h\"\nint row;\n");
    put(m_repo.top() / "src/shared.h", "#include \"detail/row.hpp\"\n"); // a circle
    put(m_repo.top() / "include/engine/config.h", "int config;\n");
    put(m_repo.top() / "src/unrelated.h", "int unrelated;\n");
    m_repo.git("add -A && git commit -qm base && "
               "git remote add origin https://me:secret@example.org/engine.git");
  }
  base::Expected<workspace::Extracted> extract(const std::string& from) const {
    auto request = workspace::parse_from(m_repo.top().string() + ":" + from);
    EXPECT_TRUE(request) << request.error().text();
    return workspace::extract_kernel(*request);
  }
  static std::string text_of(const workspace::Extracted& extracted, const std::string& path) {
    for (const auto& file : extracted.files)
      if (file.path == path) return file.content;
    return "(absent)";
  }
  ScratchRepo m_repo{""};
};

TEST_F(ExtractTest, TakesTheFileAndWhatItIncludesFromTheRepository) {
  const auto extracted = extract("src/norm.cpp::engine::rms");
  ASSERT_TRUE(extracted) << extracted.error().text();
  std::vector<std::string> paths;
  for (const auto& file : extracted->files) paths.push_back(file.path);
  std::sort(paths.begin(), paths.end());
  EXPECT_EQ(paths, (std::vector<std::string>{
                       "context/origin.md", "input/include/engine/config.h",
                       "input/src/detail/row.hpp", "input/src/norm.cpp", "input/src/shared.h",
                       "solution/include/engine/config.h", "solution/src/detail/row.hpp",
                       "solution/src/norm.cpp", "solution/src/shared.h", "task.toml"}));
  ASSERT_EQ(extracted->unresolved.size(), 1u);
  EXPECT_NE(extracted->unresolved[0].find("gone.h (src/norm.cpp:4)"), std::string::npos);
  EXPECT_EQ(extracted->kernel, "rms");
  const std::string origin = text_of(*extracted, "context/origin.md");
  EXPECT_NE(origin.find(m_repo.git("rev-parse HEAD").substr(0, 40)), std::string::npos);
  EXPECT_NE(origin.find("https://example.org/engine.git"), std::string::npos) << origin;
  EXPECT_EQ(origin.find("secret"), std::string::npos);
}

TEST_F(ExtractTest, TheContractStopsAtExactlyWhatIsMissingAndReadsWhenAnswered) {
  const auto extracted = extract("src/norm.cpp::rms").value();
  std::string toml = text_of(extracted, "task.toml");
  for (const char* key : {"x.shape", "y.shape", "eps.value", "shape:"})
    EXPECT_TRUE(std::any_of(
        extracted.questions.begin(), extracted.questions.end(),
        [&](const std::string& question) { return question.find(key) != std::string::npos; }))
        << key;
  const auto unanswered = model::parse_contract(toml, "task.toml");
  ASSERT_FALSE(unanswered);
  EXPECT_NE(unanswered.error().text().find("?"), std::string::npos) << unanswered.error().text();
  const auto answer = [&](const std::string& question, const std::string& value) {
    for (std::size_t at = 0; (at = toml.find(question, at)) != std::string::npos;)
      toml.replace(at, question.size(), value);
  };
  answer("shape = [\"?\"]", "shape = [\"rows\", \"width\"]");
  answer("value = \"?\"", "value = 1e-5");
  answer("rows = \"?\"", "rows = 4");
  answer("width = \"?\"", "width = 64");
  const auto contract = model::parse_contract(toml, "task.toml");
  ASSERT_TRUE(contract) << contract.error().text() << "\n" << toml;
  EXPECT_EQ(contract->kernel.entry.symbol, "engine::rms");
  EXPECT_EQ(contract->kernel.args, (std::vector<std::string>{"x", "y", "rows", "width", "eps"}));
  EXPECT_EQ(contract->tensors[0].role, model::TensorRole::in);
  EXPECT_EQ(contract->tensors[1].role, model::TensorRole::out);
  EXPECT_EQ(contract->tensors[0].dtype, model::Dtype::uint16);
  EXPECT_EQ(contract->axes[0].max, INT32_MAX);
  EXPECT_EQ(contract->kernel.include_dirs,
            (std::vector<std::string>{"solution/include", "input/include"}));
}

TEST_F(ExtractTest, SaysWhyAndNamesTheCandidates) {
  const std::pair<const char*, const char*> cases[] = {
      {"src/norm.cpp::engine::rmss", "engine::rms("},
      {"src/norm.cpp::twice", "overloaded"},
      {"src/norm.cpp::generic", "template"},
      {"src/norm.cpp::S::member", "member"},
      {"src/gone.cpp::f", "cannot be read"},
      {"../x.cpp::f", "'..'"},
      {"src/kernel.rs::f", "no C++ file"},
      {"src/unrelated.h::f", "no function is defined"}};
  for (const auto& [from, words] : cases) {
    const auto extracted = extract(from);
    ASSERT_FALSE(extracted) << from;
    EXPECT_NE(extracted.error().text().find(words), std::string::npos) << from << "\n"
                                                                       << extracted.error().text();
  }
}

TEST_F(ExtractTest, AnArgumentThatNoContractGivesIsAQuestion) {
  const auto extracted = extract("src/norm.cpp::hard").value();
  ASSERT_EQ(extracted.questions.size(), 1u);
  EXPECT_NE(extracted.questions[0].find("std::vector<float>"), std::string::npos)
      << extracted.questions[0];
}

TEST(ParseFrom, TakesItApart) {
  const auto whole = workspace::parse_from("../engine:src/k.cpp::a::b").value();
  EXPECT_EQ(whole.repository, "../engine");
  EXPECT_EQ(whole.path, "src/k.cpp");
  EXPECT_EQ(whole.symbol, "a::b");
  EXPECT_EQ(workspace::parse_from("k.cpp::f")->repository, ".");
  EXPECT_EQ(workspace::parse_from("C:/x:y.cpp::f")->repository, "C:/x");
  for (const char* text : {"", "::", "x", "x:y", "x::", "::f", "r:::f"})
    EXPECT_FALSE(workspace::parse_from(text)) << text;
}

} // namespace
} // namespace ako::test
