#include "drive/prompt.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::drive {
namespace {

constexpr std::size_t k_most_told = 20;

std::string last_turn_text(const State& state) {
  if (state.turn == 0) return {};
  std::string out = fmt::format("\n## Your last turn ({})\n\n", state.turn);
  if (state.answer.how == "timeout") out += "It took longer than its deadline and was ended.\n";
  if (state.answer.how == "failed") out += "Your command ended with an error.\n";
  if (!state.answer.changed)
    out += "No file of the candidate was changed, so nothing was judged.\n";
  if (!state.answer.trouble.empty())
    out += "It could not be judged: " + state.answer.trouble + "\n";
  const std::size_t told = std::min(state.answer.outside.size(), k_most_told);
  for (std::size_t i = 0; i < told; ++i)
    out += fmt::format("Undone, for it is not yours to edit: {}\n", state.answer.outside[i]);
  if (told < state.answer.outside.size())
    out += fmt::format("Undone as well: {} more\n", state.answer.outside.size() - told);
  if (!state.answer.done.empty())
    out += "You said that you are done; the campaign goes on until its own conditions end it.\n";
  return out + state.feedback;
}

} // namespace

std::string prompt_text(const PromptParts& parts) {
  std::string out = loop::to_text(parts.brief);
  out += last_turn_text(parts.state);
  out += "\n## What is left\n\n" + remaining_text(parts.budget, parts.state);
  out += fmt::format("- this turn: {:.0f} s\n", parts.deadline_seconds);
  out += fmt::format(
      "\n## This turn\n\nMake one change to the candidate, from one hypothesis that the diagnosis, "
      "a "
      "guide or the attempts above support. You may edit only: {}. Anything else that you change "
      "is "
      "undone and reported. Do not run `ako try`: when you end, ako takes the files as they are, "
      "judges them (inputs and sizes that you have not seen, then speed, twice), keeps what is "
      "better "
      "and reverts the rest. Gates, budgets, waivers and the end of the campaign are ako's. "
      "Scratch "
      "space is in $AKO_SCRATCH.\n\nEnd your answer with a line\n\nHypothesis: what you changed "
      "and why "
      "it is faster, in one sentence\n\nand a line `Cites: ID` with the guide or finding that it "
      "rests "
      "on, and, where you dare, a line `Predict-gain: PERCENT`. The guides that this task requires "
      "are in $AKO_SCRATCH/reading: read them. If "
      "you see "
      "nothing left that could help, say so in a line `Done: why`.\n",
      fmt::join(parts.free, ", "));
  if (!parts.direction.empty())
    out += "\nThree attempts in a row brought nothing. This turn's direction is set: " +
           parts.direction + "\n";
  else if (parts.ask_direction)
    out +=
        "\nThree attempts in a row brought nothing. Choose a direction that none of them took, and "
        "add a line `Direction: ...`; without it nothing is judged.\n";
  if (!parts.agent.prompt.empty()) out += "\n" + parts.agent.prompt + "\n";
  return out;
}

} // namespace ako::drive
