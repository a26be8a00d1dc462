#include "loop/catch_up.hpp"

#include "loop/trailers.hpp"
#include "workspace/commit.hpp"
#include "workspace/git.hpp"

#include <fmt/format.h>
#include <sstream>

namespace ako::loop {

base::Expected<std::string> catch_up(const Session& session, ledger::Writer& writer,
                                     const TextWriter& write_texts) {
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(const ledger::Standing standing, reader.standing());
  if (!standing.last) return std::string();
  const std::int64_t number = standing.last->number;
  AKO_TRY(const std::string known, reader.commit_of(number));
  if (!known.empty()) return std::string();
  // Killed between the commit and the note of it: the commit says whose it is.
  AKO_TRY(const auto heads, heads_in_commits(session.workdir()));
  const std::string subject = fmt::format(" [iter {}] ", number);
  for (const auto& head : heads) {
    if (head.origin.find(subject) == std::string::npos) continue;
    std::istringstream origin(head.origin); // "commit 1a2b3c4 [iter N] ..."
    std::string word, id, full;
    origin >> word >> id;
    const workspace::Git git(session.workdir().task());
    AKO_TRY(const std::string said, git.run({"rev-parse", id}));
    std::istringstream(said) >> full;
    AKO_TRY_STATUS(
        writer.append(ledger::Committed{number, full, head.hash}).map([](const auto&) {}));
    return std::string();
  }
  if (write_texts) AKO_TRY_STATUS(write_texts(session));
  workspace::IterationCommit commit;
  commit.number = static_cast<int>(number);
  commit.hypothesis = standing.last->hypothesis;
  commit.body = fmt::format("{}: {}\nMade up for: the command that recorded it ended before its "
                            "commit.",
                            model::to_string(standing.last->decision),
                            model::to_string(standing.last->outcome));
  commit.ledger_head = standing.head;
  commit.paths = {"bench", "context", "ITERATIONS.md"};
  auto id = workspace::commit_iteration(session.workdir(), commit);
  if (!id)
    return fmt::format("iteration {} is on record and has no commit yet: {}", number,
                       id.error().text());
  AKO_TRY_STATUS(
      writer.append(ledger::Committed{number, *id, commit.ledger_head}).map([](const auto&) {}));
  return fmt::format("the commit of iteration {} was missing and has been made; look whether "
                     "solution/ is what you mean to try (ako show {})",
                     number, number);
}

} // namespace ako::loop
