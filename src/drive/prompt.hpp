// What an agent is told at the beginning of a turn.
#pragma once

#include "drive/state.hpp"
#include "loop/brief.hpp"

namespace ako::drive {

struct PromptParts {
  loop::Brief brief;
  State state;
  Budget budget;
  AgentSpec agent;
  std::vector<std::string> free; ///< task-relative, what it may edit
  double deadline_seconds = 0;
  std::string direction; ///< set by the campaign for this turn
  bool ask_direction = false;
};
std::string prompt_text(const PromptParts& parts);

} // namespace ako::drive
