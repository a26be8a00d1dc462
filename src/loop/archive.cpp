#include "loop/archive.hpp"

#include "loop/builds.hpp"
#include "loop/environment.hpp"
#include "loop/setup.hpp"
#include "loop/try.hpp"
#include "model/contract_toml.hpp"
#include "workspace/git.hpp"
#include "workspace/listing.hpp"
#include "workspace/snapshot.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace ako::loop {

using base::ArchiveFile;
using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Status;
namespace fs = base::fs;

namespace {

constexpr int k_format = 1;
constexpr std::uint64_t k_largest_file = 256u << 20;

Status add_task_files(const workspace::Workdir& workdir, std::vector<ArchiveFile>& out) {
  std::vector<std::string> paths = {"task.toml", "ITERATIONS.md"};
  for (const char* folder : {"input", "solution", "bench", "context"}) {
    AKO_TRY(const auto below, workspace::list_below(workdir.task(), folder));
    paths.insert(paths.end(), below.begin(), below.end());
  }
  for (const auto& path : paths) {
    std::error_code why;
    const auto status = fs::symlink_status(workdir.task() / path, why);
    if (!fs::is_regular_file(status)) continue;
    AKO_TRY(std::string content, base::read_file(workdir.task() / path, k_largest_file));
    out.push_back({"task/" + path, std::move(content)});
  }
  return {};
}

Status add_sources(const Session& session, ledger::Reader& reader, std::vector<ArchiveFile>& out) {
  AKO_TRY(const ledger::Standing standing, reader.standing());
  for (std::int64_t number = 0; number <= standing.iterations; ++number) {
    const std::string name = fmt::format("iter-{}", number);
    const auto sources = workspace::read_snapshot(session.workdir(), name);
    if (!sources && number == 0) continue; // a waiver let it begin without a baseline
    if (!sources) return tl::unexpected(sources.error());
    for (const auto& text : sources->texts)
      out.push_back({fmt::format("sources/{}/{}", name, text.path), text.content});
  }
  return {};
}

/// SQLite's own whole copy: the file as it lies may have its newest rows in a log beside it.
Expected<std::string> ledger_copy(ledger::Reader& reader) {
  AKO_TRY(const auto scratch, base::TemporaryDir::make("ako-archive-"));
  const fs::path copy = scratch.path() / "ledger.sqlite";
  AKO_TRY(base::Statement vacuum, reader.database().prepare("VACUUM INTO ?"));
  vacuum.bind(1, std::string_view(copy.native()));
  AKO_TRY_STATUS(vacuum.run());
  return base::read_file(copy, k_largest_file * 16);
}

base::Json manifest_of(const Session& session, const std::vector<ArchiveFile>& files,
                       const base::Hash& head) {
  base::Json hashes = base::Json::object();
  for (const auto& file : files) hashes[file.path] = base::sha256(file.content);
  return {{"format", k_format},
          {"task", session.workdir().name()},
          {"ako", k_ako_version},
          {"head", head},
          {"files", std::move(hashes)}};
}

/// The archive's files in a folder of their own.
Status unpack(const std::vector<ArchiveFile>& files, const fs::path& into) {
  for (const auto& file : files)
    AKO_TRY_STATUS(base::write_file_atomic(into / file.path, file.content));
  return {};
}

Expected<base::Json> read_manifest(const std::vector<ArchiveFile>& files, const fs::path& archive) {
  for (const auto& file : files) {
    if (file.path != "MANIFEST.json") continue;
    AKO_TRY(base::Json manifest, base::parse_json(file.content, "MANIFEST.json"));
    if (base::get_or<std::int64_t>(manifest, "format", 0) == k_format) return manifest;
  }
  return fail(ErrorKind::invalid, "this is no archive of ako",
              {.where = archive.string(),
               .found = "no MANIFEST.json of format 1",
               .allowed = "what `ako report --archive` wrote",
               .next = "fetch it again from where it came"});
}

void check_files(const std::vector<ArchiveFile>& files, ArchiveVerified& out) {
  std::map<std::string, std::string> listed;
  const auto hashes = base::get_or<base::Json>(out.manifest, "files", base::Json::object());
  for (const auto& [path, hash] : hashes.items())
    listed[path] = hash.is_string() ? hash.get<std::string>() : "";
  for (const auto& file : files) {
    if (file.path == "MANIFEST.json") continue;
    ++out.files;
    const auto at = listed.find(file.path);
    if (at == listed.end()) {
      out.wrong.push_back(file.path + " is not in the manifest");
      continue;
    }
    if (at->second != base::sha256(file.content))
      out.wrong.push_back(file.path + " is not what the manifest says");
    listed.erase(at);
  }
  for (const auto& [path, hash] : listed) out.wrong.push_back(path + " is missing");
}

/// What each iteration tried is what its record names.
Status check_sources(const std::vector<ArchiveFile>& files, ledger::Reader& reader,
                     ArchiveVerified& out) {
  std::map<std::string, std::vector<model::SourceText>> tried;
  for (const auto& file : files) {
    if (!file.path.starts_with("sources/")) continue;
    const std::size_t slash = file.path.find('/', 8);
    if (slash == std::string::npos) continue;
    tried[file.path.substr(8, slash - 8)].push_back(
        {file.path.substr(slash + 1), file.content, false});
  }
  return reader.each(ledger::EventKind::iteration, [&](const ledger::Event& event) -> Status {
    AKO_TRY(const auto it, ledger::payload_from<ledger::Iteration>(event.payload));
    const auto at = tried.find(fmt::format("iter-{}", it.number));
    const base::Hash hash =
        at == tried.end() ? base::Hash() : workspace::make_sources(at->second).snapshot.hash;
    if (hash == it.snapshot.hash) ++out.sources;
    else
      out.wrong.push_back(
          fmt::format("the sources of iteration {} are not those on record", it.number));
    return {};
  });
}

Status check_ledger(const fs::path& path, const base::Json& manifest, ArchiveVerified& out) {
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(path));
  const std::string head = base::get_or<std::string>(manifest, "head", "");
  AKO_TRY(out.ledger, ledger::verify(reader, {{head, "the archive's manifest"}}));
  if (out.ledger.broken) {
    out.wrong.push_back(
        fmt::format("the ledger: {} (event {})", out.ledger.broken->what, out.ledger.broken->seq));
    return {};
  }
  if (out.ledger.head != head)
    out.wrong.emplace_back("the ledger does not end where the manifest says");
  auto verdicts = recompute_all(reader);
  if (!verdicts) {
    out.wrong.push_back("the verdicts cannot be worked out again: " + verdicts.error().text());
    return {};
  }
  out.verdicts = std::move(*verdicts);
  for (const auto& each : out.verdicts)
    if (each.result == Recomputed::Result::different)
      out.wrong.push_back(fmt::format("{}: on record {}, from its samples {}", each.what,
                                      each.recorded, each.found));
  return {};
}

} // namespace

Expected<base::Json> write_task_archive(const Session& session, const fs::path& into,
                                        std::vector<ArchiveFile> further) {
  AKO_TRY(ledger::Reader reader, session.reader());
  std::vector<ArchiveFile> files;
  AKO_TRY(const base::Hash head, reader.head());
  AKO_TRY(std::string ledger, ledger_copy(reader));
  files.push_back({"ledger.sqlite", std::move(ledger)});
  AKO_TRY_STATUS(add_task_files(session.workdir(), files));
  AKO_TRY_STATUS(add_sources(session, reader, files));
  for (auto& each : further) files.push_back(std::move(each));
  base::Json manifest = manifest_of(session, files, head);
  files.insert(files.begin(), {"MANIFEST.json", base::dump_json(manifest, 1) + "\n"});
  AKO_TRY_STATUS(base::write_archive(into, files));
  return manifest;
}

Expected<ArchiveVerified> verify_archive(const fs::path& archive) {
  AKO_TRY(const auto files, base::read_archive(archive));
  ArchiveVerified out;
  AKO_TRY(out.manifest, read_manifest(files, archive));
  check_files(files, out);
  AKO_TRY(const auto scratch, base::TemporaryDir::make("ako-archive-"));
  AKO_TRY_STATUS(unpack(files, scratch.path()));
  const fs::path ledger = scratch.path() / "ledger.sqlite";
  std::error_code why;
  if (!fs::exists(ledger, why)) {
    out.wrong.emplace_back("there is no ledger in it");
    return out;
  }
  auto checked = check_ledger(ledger, out.manifest, out);
  if (!checked) {
    out.wrong.push_back("the ledger does not read: " + checked.error().text());
    return out;
  }
  if (out.ledger.broken) return out;
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(ledger));
  AKO_TRY_STATUS(check_sources(files, reader, out));
  // That a ledger in an archive is a copy needs no remark.
  return out;
}

namespace {

/// The archive's task in a repository of its own, as it would be on the machine it came from.
Expected<workspace::Workdir> stage_task(const std::vector<ArchiveFile>& files, const fs::path& top,
                                        std::int64_t incumbent) {
  const std::string kept = fmt::format("sources/iter-{}/", incumbent);
  for (const auto& file : files) {
    if (file.path.starts_with("task/") && !file.path.starts_with("task/solution/"))
      AKO_TRY_STATUS(base::write_file_atomic(top / file.path, file.content));
    if (file.path.starts_with(kept))
      AKO_TRY_STATUS(
          base::write_file_atomic(top / "task" / file.path.substr(kept.size()), file.content));
  }
  const workspace::Git git(top / "task");
  AKO_TRY_STATUS(git.run({"init", "--quiet", "--initial-branch=main"}));
  return workspace::Workdir::at(top / "task");
}

Expected<Rerun> stated_claim(ledger::Reader& reader) {
  AKO_TRY(const ledger::Standing standing, reader.standing());
  Rerun out;
  if (standing.incumbent) {
    AKO_TRY(const auto recorded, reader.iteration(standing.incumbent->number));
    out.iteration = standing.incumbent->number;
    if (recorded && recorded->payload.versus_baseline) {
      out.stated = *recorded->payload.versus_baseline;
      out.device = recorded->payload.how.device;
      return out;
    }
  }
  return fail(ErrorKind::refused, "there is no claim in this archive to run again",
              {.where = "ledger.sqlite",
               .found = standing.incumbent ? "the incumbent was not measured against the baseline"
                                           : "the baseline stands",
               .allowed = "a kept candidate, measured against the baseline",
               .next = "ako verify --archive, without --rerun"});
}

} // namespace

Expected<Rerun> rerun_archive(const fs::path& archive, const std::optional<std::string>& device) {
  AKO_TRY(const auto files, base::read_archive(archive));
  AKO_TRY_STATUS(read_manifest(files, archive).map([](const auto&) {}));
  AKO_TRY(const auto scratch, base::TemporaryDir::make("ako-rerun-"));
  for (const auto& file : files)
    if (file.path == "ledger.sqlite")
      AKO_TRY_STATUS(base::write_file_atomic(scratch.path() / file.path, file.content));
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(scratch.path() / "ledger.sqlite"));
  AKO_TRY(Rerun out, stated_claim(reader));
  AKO_TRY_STATUS(stage_task(files, scratch.path(), out.iteration).map([](const auto&) {}));
  AKO_TRY(Session session, Session::open(scratch.path() / "task", Need::contract));
  session.use_device(device);
  AKO_TRY(const Target target, session.target());
  if (target.name() != out.device)
    return fail(ErrorKind::environment, "this is no device of the kind that was measured on",
                {.where = archive.string(),
                 .found = target.name(),
                 .allowed = out.device,
                 .next = "run it on such a device; what is on record can be verified anywhere"});
  std::string baseline = out.stated.against;
  if (baseline.starts_with("baseline:")) baseline.erase(0, 9);
  Builder builder(session.workdir(), session.contract(), target.architecture());
  Sides sides;
  AKO_TRY(sides.candidate, must_build(builder.candidate()));
  AKO_TRY(sides.incumbent, must_build(builder.baseline(baseline)));
  AKO_TRY(sides.reference, must_build(builder.reference()));
  sides.against = out.stated.against;
  auto setup = set_up(session.workdir(), session.contract(), session.shapes(), sides, {},
                      Scope::contract_shapes, target);
  setup.request.recipes = {inputs::Recipe::plain};
  setup.request.second_opinion = false;
  AKO_TRY(executors::Lease lease, take_lease(target));
  AKO_TRY(evaluation::Report report, evaluation::evaluate(setup.request, setup.make_stage));
  out.now = report.verdict;
  const bool measured = out.now.placements > 0;
  // An end that is not finite is open.
  out.landed = measured && !(out.now.gain < out.stated.interval.low) &&
               !(out.now.gain > out.stated.interval.high);
  return out;
}

} // namespace ako::loop
