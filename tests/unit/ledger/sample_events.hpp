// Events as an evaluation would make them, for the tests of the record.
#pragma once

#include "base/fs.hpp"
#include "ledger/verify.hpp"
#include "ledger/writer.hpp"

#include <gtest/gtest.h>

namespace ako::ledger::testing {

struct Step {
  std::int64_t number = 1;
  model::OutcomeKind outcome = model::OutcomeKind::equivalent;
  double gain = 0;
  model::Decision decision = model::Decision::revert;
  std::string direction = {}, lane = "cpu";
  Explore explore = Explore::no;
};
Iteration iteration(const Step& step);

std::vector<model::Sample> samples(int count, double seed);

/// A ledger in a folder of its own.
class LedgerTest : public ::testing::Test {
protected:
  void SetUp() override;
  Writer writer(Open mode = Open::create);
  Reader reader();
  /// Appends or fails the test.
  template <class Payload>
  Appended put(Writer& to, const Payload& payload, std::vector<Attachment> blobs = {},
               std::vector<model::Sample> rows = {}) {
    auto appended = to.append(payload, std::move(blobs), std::move(rows));
    if (!appended) ADD_FAILURE() << appended.error().text();
    return appended.value_or(Appended{});
  }
  Verified verified(const std::vector<KnownHead>& known = {});
  base::fs::path folder() const { return m_dir->path(); }
  base::fs::path path() const { return folder() / "ledger.sqlite"; }

private:
  std::optional<base::TemporaryDir> m_dir;
};

} // namespace ako::ledger::testing
