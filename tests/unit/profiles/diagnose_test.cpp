#include "base/fs.hpp"
#include "profiles/diagnose.hpp"
#include "profiles/playbook.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

namespace ako::profiles {
namespace {

const std::filesystem::path k_golden = AKO_SOURCE_DIR "/tests/golden/ncu";

model::KernelDiagnosis only(const std::filesystem::path& path) {
  auto report = diagnose_file(path);
  EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().text());
  if (!report || report->kernels.size() != 1) return {};
  return report->kernels[0];
}

std::string first_id(const model::KernelDiagnosis& kernel) {
  return kernel.findings.empty() ? "" : kernel.findings[0].id;
}

const std::map<std::string, std::string>& given() {
  static const std::map<std::string, std::string> all = {
      {"p01_uncoalesced", "uncoalesced_global_access"},
      {"p02_bank_conflict", "shared_bank_conflicts"},
      {"p05_spills", "register_spills"},
      {"p06_tail_wave", "tail_wave"},
      {"p08_latency_chase", "memory_latency"},
      {"p10_atomics", "atomic_contention"},
      {"p12_fp32_compute", "compute_bound_fp32"},
      {"p13_dram_stream", "dram_bandwidth_bound"},
      {"p17_gemm_no_tensor", "tensor_cores_idle"},
      {"p19_byte_loads", "narrow_accesses"}};
  return all;
}

TEST(Diagnose, TheTenGivenCaptures) {
  for (const auto& [name, id] : given())
    EXPECT_EQ(first_id(only(k_golden / "given" / (name + ".raw.csv"))), id) << name;
}

TEST(Diagnose, DetailsPagesAlone) {
  // The width of accesses is not on the details page: there the same waiting is called by its
  // general name.
  for (const auto& [name, id] : given())
    EXPECT_EQ(first_id(only(k_golden / "given" / (name + ".details.csv"))),
              name == "p19_byte_loads" ? "memory_latency" : id)
        << name;
}

struct Planted {
  std::string name, id, kind;
};
std::vector<Planted> half(const std::string& which) {
  std::ifstream file(k_golden / "h200" / "manifest.csv");
  std::vector<Planted> all;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    Planted one;
    std::string part;
    std::getline(in, one.name, ','), std::getline(in, one.id, ','), std::getline(in, one.kind, ','),
        std::getline(in, part, ',');
    if (part == which) all.push_back(one);
  }
  return all;
}

TEST(Diagnose, TheTuneHalfStaysFound) {
  auto all = half("tune");
  ASSERT_GE(all.size(), 40u);
  int first = 0;
  for (const Planted& one : all)
    first += first_id(only(k_golden / "h200" / (one.name + ".raw.csv"))) == one.id;
  EXPECT_GE(first, int(all.size()) - 2); // two plants did not take: see the README there
}

TEST(Diagnose, FindingsDoNotContradict) {
  for (const char* which : {"tune", "report"})
    for (const Planted& one : half(which)) {
      auto kernel = only(k_golden / "h200" / (one.name + ".raw.csv"));
      std::set<std::string> ids;
      for (const model::Finding& finding : kernel.findings) {
        EXPECT_TRUE(ids.insert(finding.id).second) << one.name << " twice " << finding.id;
        EXPECT_FALSE(kind_of(finding.id).empty()) << finding.id;
        EXPECT_FALSE(finding.evidence.empty()) << one.name << ' ' << finding.id;
        EXPECT_FALSE(finding.moves.empty()) << finding.id;
        EXPECT_GE(finding.gain_bound, 0);
        EXPECT_LT(finding.gain_bound, 1);
      }
      // A reached roof and waiting warps cannot both be the limit.
      if (kernel.done) {
        EXPECT_FALSE(ids.contains("memory_latency")) << one.name;
      }
      EXPECT_FALSE(ids.contains("tail_wave") && ids.contains("block_imbalance")) << one.name;
      EXPECT_FALSE(ids.contains("small_grid") && ids.contains("dram_bandwidth_bound")) << one.name;
    }
}

TEST(Diagnose, TunedKernelsAreDone) {
  auto kernel = only(k_golden / "given" / "p13_dram_stream.raw.csv");
  EXPECT_TRUE(kernel.done);
  EXPECT_EQ(kernel.roof, "DRAM bandwidth");
  EXPECT_NEAR(*kernel.at_ceiling, 0.867, 0.01);
  EXPECT_FALSE(only(k_golden / "given" / "p01_uncoalesced.raw.csv").done);
}

TEST(Diagnose, JsonHasExactlyItsKeys) {
  auto report = diagnose_file(k_golden / "given" / "p01_uncoalesced.raw.csv");
  ASSERT_TRUE(report.has_value());
  base::Json json = model::to_json(*report);
  auto keys = [](const base::Json& object) {
    std::set<std::string> all;
    for (auto& [key, value] : object.items()) all.insert(key);
    return all;
  };
  EXPECT_EQ(keys(json), (std::set<std::string>{"kernels", "skipped"}));
  const base::Json& kernel = json["kernels"][0];
  EXPECT_EQ(keys(kernel), (std::set<std::string>{"name", "launch", "device", "duration_ns", "class",
                                                 "at_ceiling_pct", "findings"}));
  EXPECT_EQ(kernel["device"], "NVIDIA H200 (sm_90)");
  EXPECT_EQ(kernel["class"], "memory");
  EXPECT_EQ(keys(kernel["findings"][0]),
            (std::set<std::string>{"id", "rank", "confidence", "gain_bound_pct", "evidence",
                                   "against", "moves"}));
  EXPECT_EQ(keys(kernel["findings"][0]["evidence"][0]),
            (std::set<std::string>{"metric", "value", "unit", "threshold"}));
  EXPECT_EQ(keys(kernel["findings"][0]["moves"][0]),
            (std::set<std::string>{"text", "lane", "guide"}));
}

TEST(Diagnose, WrongKernelAndWrongFile) {
  DiagnoseOptions options;
  options.kernel = "another";
  auto wrong = diagnose_file(k_golden / "given" / "p01_uncoalesced.raw.csv", options);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().text().find("p01_uncoalesced"), std::string::npos);
  EXPECT_FALSE(diagnose_file(k_golden / "README.md"));
  EXPECT_FALSE(diagnose_file(k_golden / "not_there.csv"));
}

TEST(Playbook, EveryIdHasMovesAndLanesAreRespected) {
  EXPECT_EQ(finding_ids().size(), 30u);
  for (std::string_view id : finding_ids()) {
    EXPECT_FALSE(moves_for(id, 0).empty()) << id;
    for (const model::Move& move : moves_for(id, 90, "triton"))
      EXPECT_TRUE(move.lane.empty() || move.lane == "triton") << id;
  }
  auto says = [](int capability, const char* word) {
    for (const model::Move& move : moves_for("compute_bound_tensor", capability, "cuda"))
      if (move.text.find(word) != std::string::npos) return true;
    return false;
  };
  EXPECT_TRUE(says(90, "wgmma"));
  EXPECT_FALSE(says(100, "use wgmma"));
  EXPECT_TRUE(says(100, "tcgen05"));
  EXPECT_FALSE(says(80, "wgmma"));
}

} // namespace
} // namespace ako::profiles
