// The choice of a device from what the child lists.
#include "executors/devices.hpp"

#include <gtest/gtest.h>

namespace ako::test {
namespace {

using base::ErrorKind;
using base::Json;

Json device(const char* uuid, bool visible = true, const char* mode = "default") {
  return {{"uuid", uuid},       {"name", "NVIDIA H200"}, {"pci", "0000:18:00.0"},
          {"visible", visible}, {"compute_mode", mode},  {"architecture", "sm_90"}};
}

executors::Inventory inventory(const std::vector<Json>& devices) {
  return executors::inventory_from_json({{"devices", devices}, {"problem", nullptr}}).value();
}

executors::Inventory two() { return inventory({device("GPU-0aa1"), device("GPU-0bb2")}); }

TEST(Devices, AWishIsAnIndexAUuidOrItsBeginning) {
  EXPECT_EQ(choose_device(two(), std::nullopt)->uuid, "GPU-0aa1");
  EXPECT_EQ(choose_device(two(), "1")->uuid, "GPU-0bb2");
  EXPECT_EQ(choose_device(two(), "GPU-0bb2")->uuid, "GPU-0bb2");
  EXPECT_EQ(choose_device(two(), "GPU-0b")->uuid, "GPU-0bb2");
  EXPECT_EQ(choose_device(two(), "GPU-0b")->architecture, "sm_90");
}

TEST(Devices, AWishThatFitsNoneOrSeveralListsThoseThereAre) {
  for (const char* wish : {"2", "-1", "GPU-0", "GPU-0cc", "", "gpu-0aa1", "1x"}) {
    const auto chosen = choose_device(two(), wish);
    ASSERT_FALSE(chosen) << wish;
    EXPECT_EQ(chosen.error().kind, ErrorKind::usage) << wish;
    EXPECT_EQ(chosen.error().allowed, "0 = GPU-0aa1 (NVIDIA H200), 1 = GPU-0bb2 (NVIDIA H200)");
  }
}

TEST(Devices, AHiddenDeviceIsPassedOverAndRefusedWhenNamed) {
  const auto one = inventory({device("GPU-0aa1", false), device("GPU-0bb2")});
  EXPECT_EQ(choose_device(one, std::nullopt)->uuid, "GPU-0bb2");
  const auto named = choose_device(one, "0");
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().kind, ErrorKind::refused);
  EXPECT_NE(named.error().next.find("CUDA_VISIBLE_DEVICES"), std::string::npos);
  const auto all = choose_device(inventory({device("GPU-0aa1", false)}), std::nullopt);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().kind, ErrorKind::environment);
  EXPECT_NE(all.error().found.find("hides all"), std::string::npos);
}

TEST(Devices, AProhibitedDeviceIsNotTaken) {
  const auto one = inventory({device("GPU-0aa1", true, "prohibited"), device("GPU-0bb2")});
  EXPECT_EQ(choose_device(one, std::nullopt)->uuid, "GPU-0bb2");
  EXPECT_EQ(choose_device(one, "GPU-0aa1").error().kind, ErrorKind::refused);
}

TEST(Devices, WithoutADeviceTheChildsReasonAndRemedyAreSaid) {
  const Json none = {{"devices", Json::array()},
                     {"problem",
                      {{"what", "no CUDA driver"},
                       {"found", "libcuda.so.1: not found"},
                       {"next", "install the driver"}}}};
  for (const auto& wish : {std::optional<std::string>(), std::optional<std::string>("0")}) {
    const auto chosen = choose_device(executors::inventory_from_json(none).value(), wish);
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().kind, ErrorKind::environment);
    EXPECT_EQ(chosen.error().found, "no CUDA driver: libcuda.so.1: not found");
    EXPECT_EQ(chosen.error().next, "install the driver; without a device: ako check --build-only");
  }
}

TEST(Devices, WhatIsNoListIsRefused) {
  for (const Json& json : {Json(), Json(3), Json::array(), Json::object(), Json{{"devices", 1}},
                           Json{{"devices", {Json{{"uuid", "GPU-1"}}}}}})
    EXPECT_FALSE(executors::inventory_from_json(json)) << json.dump();
}

TEST(Devices, TheChildIsAskedAndItsTroubleIsNamed) {
  const auto answer = [](base::CommandResult result) {
    return executors::ask_inventory("/x/ako-child", [&](const base::CommandOptions& options) {
      EXPECT_EQ(options.argv, (std::vector<std::string>{"/x/ako-child", "devices"}));
      return base::Expected<base::CommandResult>(result);
    });
  };
  base::CommandResult good;
  good.ending.exited = true;
  good.out = Json{{"devices", {device("GPU-0aa1")}}}.dump();
  EXPECT_EQ(answer(good)->devices.size(), 1u);
  base::CommandResult hung = good;
  hung.timed_out = true;
  EXPECT_NE(answer(hung).error().found.find("no answer within"), std::string::npos);
  base::CommandResult failed = good;
  failed.ending.code = 3;
  failed.err = "boom";
  EXPECT_NE(answer(failed).error().found.find("boom"), std::string::npos);
  base::CommandResult nonsense = good;
  nonsense.out = "{";
  EXPECT_FALSE(answer(nonsense));
}

} // namespace
} // namespace ako::test
