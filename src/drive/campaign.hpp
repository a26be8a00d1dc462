// campaign.toml: what an unattended campaign may spend, touch and waive. docs/agents.md has the
// keys.
#pragma once

#include "base/error.hpp"
#include "base/fs.hpp"
#include "base/hash.hpp"
#include "model/contract.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ako::drive {

/// How an agent is started: an adapter's name, or a command for /bin/sh.
struct AgentSpec {
  std::string command; ///< "claude", "codex", or any command line
  double deadline_seconds = 900;
  std::vector<std::string> writable;      ///< task-relative; empty = what makes up a candidate
  std::vector<std::string> also_writable; ///< absolute, or below ~: the agent's own folders
  std::string prompt;                     ///< added to every prompt
};

struct Budget { ///< infinite where nothing is said, but for the iterations
  std::int64_t iterations = 20;
  double wall_seconds = 0, device_seconds = 0, money = 0; ///< 0 = no limit
};

/// Of one token each, for agents that print tokens and no price.
struct TokenPrices {
  double input = 0, cached = 0, output = 0;
  bool any() const { return input > 0 || cached > 0 || output > 0; }
};

struct Money {
  std::string pattern; ///< regular expression; its first group is a number
  double per = 1;      ///< what one of that number costs
  bool sum = false;    ///< all matches of a turn added; else the last one counts
  TokenPrices tokens;  ///< instead of a pattern
};

struct Stop {
  std::optional<double> gain; ///< confirmed, against the baseline: 0.3 = 30 %
  std::int64_t idle = 3;      ///< turns in a row that brought nothing to judge
  std::int64_t failures =
      3; ///< turns in a row in which the agent failed or hung, or that were lost
  std::int64_t stalls = 3;
};

struct CampaignWaiver {
  std::string gate, why;
};

/// Where a campaign goes on when its directions are used up and a stall comes.
struct CampaignLane {
  model::Lane lane = model::Lane::cpu;
  model::EntryRef entry; ///< below solution/
  std::string from;      ///< task-relative: the first version there, which no agent can edit
  std::vector<std::string> flags;
};

/// One of several that work side by side, each in a worktree of its own.
struct Setting {
  std::string name;
  AgentSpec agent;
};

enum class Confine { automatic, comparison };
enum class AfterDirections { ask, stop };

struct Campaign {
  std::string name;
  base::fs::path file;
  base::Hash hash; ///< of the file
  AgentSpec agent;
  Confine confine = Confine::automatic;
  Budget budget;
  Money money;
  Stop stop;
  std::vector<std::string> directions; ///< taken in turn at a stall
  std::vector<CampaignLane> lanes;     ///< then changed to, in turn
  AfterDirections after_directions = AfterDirections::ask;
  std::vector<CampaignWaiver> waivers;
  std::vector<Setting> settings;
  bool prepare = true; ///< check and baseline are run where they are missing
};

/// Kind invalid with file:line:column: what is no TOML, an unknown or mistyped key, a pattern that
/// is none. `agent`: of --agent; it goes before the file's.
base::Expected<Campaign> read_campaign(const base::fs::path& file, const std::string& agent);

/// The text of a campaign.toml to begin with.
const char* campaign_template();

} // namespace ako::drive
