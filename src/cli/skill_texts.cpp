#include "cli/skill_texts.hpp"

namespace ako::cli {
namespace {

constexpr const char* k_version_mark = "Written by ako ";

constexpr const char* k_page = R"md(
# Making a GPU or CPU kernel faster with ako

`ako` proves that a task can be judged, judges and measures every change, decides, and writes it all down. The rules are
in the program: when it refuses, it says what is missing and which command supplies it. Every command takes `--json`.

**Use it** when a kernel that runs in production is to become faster and the result has to be believed: there is an
implementation to compare with, and you know the shapes it is called with.
**Do not use it** for code that no trace shows to be hot (`ako scope --trace FILE` tells), for changes that alter what is
computed, for whole-program work such as batching or scheduling, or to look for bugs.

## The flow

1. `ako doctor`: what this machine has; `ako calibrate`: its ceilings. Inside an AKO4ALL checkout: `ako preflight`.
   `ako scope --trace FILE`: is the kernel hot? `ako new NAME --from REPO:path::symbol` (or `--lane cuda`): the task. Answer
   what is asked in `task.toml`: shapes with their counts, dtypes, the reference. Two files and no task: `ako compare OLD NEW`.
2. `ako refs read --required`: the reading. `ako check`: can the contract judge? `ako baseline`: judged and measured.
3. Per iteration: `ako status`; change **one** thing in `solution/`; `ako try --cites ID --hypothesis "..."`.
   Improved is kept. What is correct and not better is put back by ako; its sources stay under `refs/ako/`.
   `ako lane suggest` weighs the other lanes; `ako lane switch` goes there, and the record goes on.
4. For evidence at any time: `ako bench`, `ako profile`, `ako diagnose FILE`, `ako log`, `ako show N --diff --evidence`.
5. Into the target, where `task.toml` has a `[port]`: `ako port` puts the winner on a branch there, `ako validate` asks the
   target's own build and benchmarks. At the end: `ako report`, `ako verify`.

With an MCP client: `ako -C TASK mcp` serves the same steps as tools, and this flow as the prompt `iteration`.
Unattended: `ako drive --agent CMD --campaign campaign.toml`.

## What the gates mean

- *clean-harness*: the AKO4ALL checkout is not clean and at its upstream. `ako preflight` names what its owner can mend.
- *contract-proven*: nothing shows yet that wrong answers would be caught. Run `ako check`; after any change of
  `task.toml` again.
- *baseline*: nothing to be better than, or it was measured on another machine or for another contract.
- *reading*, *citation*: the guides that the task requires are not on record as read; the hypothesis names neither a guide
  nor a finding (`ako refs` lists them).
- *direction*: three in a row were correct and not better. Read the lessons, look at the profile, choose something that
  none of them did: `--direction "..."`.
- *library-baseline*, before a port: no library is among the baselines. Add one, or `ako scope --no-library "why"`.
- *second-opinion*, before port and report: fresh processes have not confirmed the incumbent yet. `ako try` again.
- `--waive` and `--flag` are a person's decisions. Do not use them unless you were told to, in so many words.

## What the outcomes ask of you

| exit | outcome | do |
|---|---|---|
| 0 | improved | kept; look at `ako status`, think of the next one |
| 10 | equivalent, regressed, undecided | believe it; another idea, not the same one again |
| 11, 12 | incorrect, suspect | read the evidence: it names shape, tensor and element |
| 13 | does not build, crashes, too slow to end | `solution/` is yours to mend, or already put back |
| 14 | machine too busy, or something changed under the measurement | the same command again, quietly |

A number counts when `ako` printed it. Do not edit `input/`, `task.toml`, `ITERATIONS.md` between its marks, or the
record to make something pass; do not time kernels by hand and report that; do not claim more than the interval shows.
)md";

constexpr const char* k_description =
    "Make a GPU or CPU kernel faster with a result that holds: correctness judged first, speed "
    "measured in pairs, every "
    "attempt on record. Use when a hot kernel is to be optimised, when two kernels are to be "
    "compared, or when a folder "
    "has a task.toml.";

} // namespace

const std::vector<SkillPlace>& skill_places() {
  static const std::string description = k_description;
  static const std::vector<SkillPlace> all = {
      {"claude", "Claude Code", ".claude/skills/ako/SKILL.md",
       "---\nname: ako\ndescription: " + description + "\n---\n\n"},
      {"codex", "Codex", "AGENTS.md", ""},
      {"cursor", "Cursor", ".cursor/rules/ako.mdc",
       "---\ndescription: " + description + "\nglobs:\nalwaysApply: false\n---\n\n"},
      {"agents", "agents that read AGENTS.md", "AGENTS.md", ""}};
  return all;
}

std::string skill_block(const std::string& version) {
  return k_version_mark + version + "; `ako skill check` says whether that is the ako you have.\n" +
         k_page;
}

std::string skill_version(const std::string& block) {
  const std::string mark = k_version_mark;
  const std::size_t at = block.find(mark);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + mark.size();
  return block.substr(begin, block.find(';', begin) - begin);
}

} // namespace ako::cli
