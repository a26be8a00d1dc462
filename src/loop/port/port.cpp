#include "loop/port/port.hpp"

#include "base/time.hpp"
#include "loop/port/call_site.hpp"
#include "loop/setup.hpp"
#include "loop/try.hpp"
#include "workspace/snapshot.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::loop {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Status;
namespace fs = base::fs;

namespace {

/// Sources as they lie below kernel/: without "solution/" where all of them are in it.
struct Layout {
  std::vector<workspace::TreeFile> files; ///< paths below kernel/
  std::string entry;
};

Layout layout_of(const model::Sources& sources, const model::Contract& contract) {
  const std::string prefix = "solution/";
  const bool all = std::all_of(sources.texts.begin(), sources.texts.end(),
                               [&](const auto& text) { return text.path.starts_with(prefix); });
  const std::size_t cut = all ? prefix.size() : 0;
  Layout out;
  for (const auto& text : sources.texts)
    out.files.push_back({text.path.substr(cut), text.content, text.executable});
  out.entry =
      contract.kernel.entry.file.substr(contract.kernel.entry.file.starts_with(prefix) ? cut : 0);
  return out;
}

std::string relative(const std::string& to, const std::string& from_file) {
  return fs::path(to).lexically_relative(fs::path(from_file).parent_path()).generic_string();
}

/// One `ako port`, step by step.
class Porting {
public:
  Porting(const Session& session, const PortRequest& request, workspace::PortStore store,
          model::PortSpec spec)
      : m_session(session), m_request(request), m_store(std::move(store)), m_spec(std::move(spec)),
        m_contract(session.contract()) {}

  Expected<PortResult> run() {
    const std::int64_t started = base::monotonic_ns();
    AKO_TRY(base::FileLock lock, m_session.lock());
    AKO_TRY_STATUS(pass_gates());
    AKO_TRY_STATUS(read_target());
    AKO_TRY(const bool stands, look_at_last());
    if (!stands) {
      AKO_TRY_STATUS(record_measured());
      if (m_commit.empty()) AKO_TRY_STATUS(make_commits());
      AKO_TRY_STATUS(test_and_publish());
    }
    m_out.seconds = static_cast<double>(base::monotonic_ns() - started) / 1e9;
    return std::move(m_out);
  }

private:
  Status pass_gates() {
    AKO_TRY(m_facts, m_session.facts());
    auto closed = closed_gates(Claim::port, m_facts);
    AKO_TRY_STATUS(pass(closed, m_request.waive));
    AKO_TRY(m_incumbent, incumbent_of(m_session));
    if (m_incumbent.kernel) m_contract.kernel = *m_incumbent.kernel;
    if (m_incumbent.iteration == 0)
      return fail(ErrorKind::refused, "there is nothing to port: the baseline stands",
                  {.where = m_session.workdir().task().string(),
                   .found = m_incumbent.label,
                   .allowed = "a candidate that was kept",
                   .next = "ako try --hypothesis \"...\""});
    AKO_TRY(ledger::Writer writer, m_session.writer());
    m_writer.emplace(std::move(writer));
    for (const auto& gate : closed)
      AKO_TRY_STATUS(
          append(ledger::Waiver{to_string(gate.gate), *m_request.waive, "port", "user"}));
    return {};
  }

  template <class Payload>
  Status append(const Payload& payload, std::vector<ledger::Attachment> blobs = {}) {
    return m_writer->append(payload, std::move(blobs)).map([](const auto&) {});
  }

  Status read_target() {
    AKO_TRY(m_branch, m_store.branch(m_spec.branch));
    AKO_TRY(m_base, m_store.tip(m_branch));
    m_layout = layout_of(m_incumbent.sources, m_contract);
    AKO_TRY(m_kernel_tree, m_store.tree_of(m_layout.files));
    m_out.base = m_base;
    return {};
  }

  std::string kernel_path() const { return m_spec.folder + "/kernel"; }

  /// What the last port of this incumbent says: it stands, it has to follow a moved branch, or its
  /// owner worked on it.
  Expected<bool> look_at_last() {
    AKO_TRY(const auto last, standing_port(m_session));
    if (!last || last->port.repository != m_store.repository().string() ||
        last->folder != m_spec.folder)
      return false;
    AKO_TRY(const auto now, m_store.branch_commit(last->port.branch));
    if (!now) return false; // its owner threw the branch away: it is made anew
    const bool moved = last->base != m_base;
    if (*now == last->port.commit && !moved) {
      m_out.again = true;
      m_out.proven = proven_of(m_contract, judged_edges(m_contract));
      m_out.port = last->port;
      AKO_TRY(m_out.tree, m_store.work_tree("new", *now, {m_spec.folder}));
      return true;
    }
    m_out.moved = moved;
    if (*now == last->port.commit) return false; // made anew on the branch as it is now
    if (!moved) {
      m_commit = *now;
      return false;
    }
    AKO_TRY(m_commit, m_store.rebase(*now, last->base, m_base));
    return false;
  }

  Status record_measured() {
    ledger::Port port;
    port.state = k_measured;
    port.repository = m_store.repository().string();
    port.branch = m_branch;
    port.detail = fmt::format("{}, sources {}", m_incumbent.label,
                              m_incumbent.sources.snapshot.hash.substr(0, 12));
    port.data = {{"iteration", m_incumbent.iteration},
                 {"snapshot", m_incumbent.sources.snapshot.hash}};
    return append(port);
  }

  /// The kernel first, then what leads to it: each builds, and each can be read by itself.
  Status make_commits() {
    std::vector<workspace::TreeFile> kernel;
    for (const auto& file : m_layout.files)
      kernel.push_back({kernel_path() + "/" + file.path, file.content, file.executable});
    AKO_TRY(m_commit, m_store.commit_files(m_base, kernel_path(), kernel, kernel_message()));
    std::vector<workspace::TreeFile> files;
    AKO_TRY(const workspace::TreeFile dispatch, make_dispatch());
    files.push_back(dispatch);
    if (!m_spec.call_site.empty()) {
      AKO_TRY(workspace::TreeFile site, rewrite_call_site(dispatch.path));
      files.push_back(std::move(site));
    }
    AKO_TRY(m_commit, m_store.commit_files(m_commit, "", files, integration_message()));
    if (m_spec.patches.empty()) return {};
    std::vector<workspace::TreeFile> patches;
    for (const auto& path : m_spec.patches) {
      AKO_TRY(const fs::path whole, base::resolve_inside(m_session.workdir().task(), path));
      AKO_TRY(std::string text, base::read_file(whole));
      patches.push_back({path, std::move(text), false});
    }
    AKO_TRY(m_commit, m_store.commit_patches(m_commit, patches, patches_message()));
    return {};
  }

  std::string evidence() const {
    std::string out =
        fmt::format("From task {}, {}, sources {}.\n", m_session.workdir().name(),
                    m_incumbent.label, m_incumbent.sources.snapshot.hash.substr(0, 12));
    if (const auto& row = m_facts.standing.incumbent; row && row->base_gain)
      out +=
          fmt::format("Measured there: {:+.1f} % against the baseline{}.\n", 100 * *row->base_gain,
                      row->confirmed ? ", confirmed by a second opinion" : "");
    return out;
  }

  std::string kernel_message() const {
    return fmt::format("{}: kernel as it was measured\n\n{}\nAko-Ledger-Head: {}\n",
                       m_contract.kernel.name, evidence(), m_facts.standing.head);
  }
  std::string integration_message() const {
    return fmt::format("{}: dispatch with the old path behind {}\n\nProven for {}.\n{}\n"
                       "Ako-Ledger-Head: {}\n",
                       m_contract.kernel.name, m_spec.switch_name, text_of(m_out.proven),
                       evidence(), m_facts.standing.head);
  }
  std::string patches_message() const {
    return fmt::format("{}: integration\n\n{}\nAko-Ledger-Head: {}\n", m_contract.kernel.name,
                       evidence(), m_facts.standing.head);
  }

  Expected<workspace::TreeFile> make_dispatch() {
    m_out.proven = proven_of(m_contract, judged_edges(m_contract));
    DispatchSource source;
    source.kernel = m_contract.kernel.name;
    source.args = argument_names(m_contract);
    source.entry_file = m_layout.entry;
    AKO_TRY(const Target target, m_session.target());
    source.architecture = target.architecture();
    source.origin = fmt::format("{} of task {} (sources {}), measured on {}", m_incumbent.label,
                                m_session.workdir().name(),
                                m_incumbent.sources.snapshot.hash.substr(0, 12), target.name());
    const bool python = is_python(m_contract.kernel.lane);
    AKO_TRY(std::string text, python ? python_dispatch(m_contract, m_spec, m_out.proven, source)
                                     : native_dispatch(m_contract, m_spec, m_out.proven, source));
    return workspace::TreeFile{fmt::format("{}/{}_dispatch.{}", m_spec.folder,
                                           m_contract.kernel.name, python ? "py" : "hpp"),
                               std::move(text), false};
  }

  Expected<workspace::TreeFile> rewrite_call_site(const std::string& dispatch) {
    AKO_TRY(auto file, m_store.file_at(m_base, m_spec.call_site));
    if (!file)
      return fail(ErrorKind::refused, "the call site is not in the target branch",
                  {.where = m_spec.call_site,
                   .found = "nothing of that name at " + m_base.substr(0, 12),
                   .allowed = "a file of branch " + m_branch,
                   .next = "mend [port] call_site in task.toml"});
    const bool python = is_python(m_contract.kernel.lane);
    CallSite site{m_spec.call_site, m_spec.call, {}, {}};
    const std::string name = m_contract.kernel.name + "_or";
    site.dispatch = python ? name : "ako_port::" + name;
    if (python) {
      AKO_TRY(site.include, python_import(dispatch, name));
    } else {
      site.include = fmt::format("#include \"{}\"", relative(dispatch, m_spec.call_site));
    }
    AKO_TRY(Rewritten rewritten,
            python ? rewrite_python(file->content, site) : rewrite_native(file->content, site));
    m_out.call_lines = rewritten.lines;
    file->content = std::move(rewritten.text);
    return std::move(*file);
  }

  /// "from .kernels.rms.rms_dispatch import rms_or"; dots where the call site lies in a package.
  Expected<std::string> python_import(const std::string& dispatch, const std::string& name) {
    const fs::path folder = fs::path(m_spec.call_site).parent_path();
    AKO_TRY(const std::string package,
            m_store.object_at(m_base, (folder / "__init__.py").generic_string()));
    fs::path way = fs::path(dispatch).replace_extension().lexically_relative(
        folder.empty() ? fs::path(".") : folder);
    if (folder.empty()) way = fs::path(dispatch).replace_extension();
    std::string dots = package.empty() ? "" : ".", module;
    for (const auto& part : way) {
      const std::string word = part.string();
      if (word == "..") dots += '.';
      else module += (module.empty() ? "" : ".") + word;
    }
    if (package.empty() && !dots.empty())
      return fail(ErrorKind::unsupported, "the call site cannot import the dispatch",
                  {.where = m_spec.call_site,
                   .found = "a script in no package, with the kernel outside its folder",
                   .allowed = "[port] folder below the call site's folder, or a package",
                   .next = "choose another [port] folder, or integrate with patches"});
    return fmt::format("from {}{} import {}", dots, module, name);
  }

  std::vector<std::string> declared() const {
    std::vector<std::string> out = {m_spec.folder};
    if (!m_spec.call_site.empty()) out.push_back(m_spec.call_site);
    out.insert(out.end(), m_spec.paths.begin(), m_spec.paths.end());
    return out;
  }

  Status test_and_publish() {
    AKO_TRY(m_out.patch,
            m_store.test_patch({m_base, m_commit, declared(), kernel_path(), m_kernel_tree}));
    if (m_out.proven.shapes.empty()) m_out.proven = proven_of(m_contract, judged_edges(m_contract));
    AKO_TRY(const std::string name, free_name());
    AKO_TRY(const std::string branch, m_store.publish(m_commit, m_base, name));
    AKO_TRY(m_out.tree, m_store.work_tree("new", m_commit, declared()));
    ledger::Port port;
    port.state = k_integrated;
    port.repository = m_store.repository().string();
    port.branch = branch;
    port.commit = m_commit;
    port.detail =
        fmt::format("on {} at {}; {} files, +{} -{}; proven for {}; {} keeps the old path",
                    m_branch, m_base.substr(0, 12), m_out.patch.files.size(), m_out.patch.added,
                    m_out.patch.removed, text_of(m_out.proven), m_spec.switch_name);
    port.data = {{"iteration", m_incumbent.iteration},
                 {"snapshot", m_incumbent.sources.snapshot.hash},
                 {"target_branch", m_branch},
                 {"base", m_base},
                 {"folder", m_spec.folder},
                 {"kernel_tree", m_kernel_tree},
                 {"patch", m_out.patch.hash},
                 {"files", m_out.patch.files},
                 {"proven", text_of(m_out.proven)},
                 {"switch", m_spec.switch_name},
                 {"moved", m_out.moved}};
    m_out.port = port;
    return append(port, {{"patch", m_out.patch.text}});
  }

  /// ako/<task>, then ako/<task>-2 and so on: a branch that is there is never moved.
  Expected<std::string> free_name() const {
    std::string task;
    for (const char c : m_session.workdir().name())
      task += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' ? c : '-';
    for (int i = 1; i < 10000; ++i) {
      const std::string name = i == 1 ? "ako/" + task : fmt::format("ako/{}-{}", task, i);
      std::string flat = name;
      std::replace(flat.begin(), flat.end(), '/', '-');
      AKO_TRY(const auto taken, m_store.branch_commit(name));
      AKO_TRY(const auto flat_taken, m_store.branch_commit(flat));
      if (!taken && !flat_taken) return name;
    }
    return fail(ErrorKind::refused, "there are too many ports of this task",
                {.where = m_store.repository().string(),
                 .found = "branches ako/" + task + "-...",
                 .allowed = "a free name",
                 .next = "remove those that are done with: git branch -D"});
  }

  const Session& m_session;
  const PortRequest& m_request;
  workspace::PortStore m_store;
  model::PortSpec m_spec;
  model::Contract m_contract; ///< with the [kernel] that the incumbent was kept under
  Facts m_facts;
  Incumbent m_incumbent;
  std::optional<ledger::Writer> m_writer;
  Layout m_layout;
  std::string m_branch, m_base, m_commit, m_kernel_tree;
  PortResult m_out;
};

} // namespace

Expected<workspace::PortStore> open_store(const Session& session, const model::PortSpec& port) {
  AKO_TRY(const fs::path records, session.workdir().records());
  const fs::path repository = fs::path(port.repository).is_absolute()
                                  ? fs::path(port.repository)
                                  : session.workdir().task() / port.repository;
  return workspace::PortStore::open(records / "port", repository);
}

Expected<PortResult> port_back(const Session& session, const PortRequest& request) {
  AKO_TRY(model::PortSpec spec, model::load_port(session.workdir().task()));
  if (!spec.declared)
    return fail(ErrorKind::invalid, "the contract does not say where the kernel goes",
                {.where = (session.workdir().task() / "task.toml").string(),
                 .found = "no [port]",
                 .allowed = "[port] with repository, folder, call_site and call, switch",
                 .next = "add it (docs/task-toml.md); nothing has to be measured again for that"});
  AKO_TRY(workspace::PortStore store, open_store(session, spec));
  return Porting(session, request, std::move(store), std::move(spec)).run();
}

Expected<std::optional<PortState>> standing_port(const Session& session) {
  AKO_TRY(const ledger::Standing standing, session.standing());
  std::optional<PortState> out;
  if (!standing.incumbent) return out;
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(const auto all, reader.all<ledger::Port>());
  for (const auto& each : all) {
    if (each.payload.state != k_integrated) continue;
    PortState state;
    state.port = each.payload;
    state.event = each.event.seq;
    state.iteration = base::get_or<std::int64_t>(each.payload.data, "iteration", 0);
    state.snapshot = base::get_or<std::string>(each.payload.data, "snapshot", "");
    state.base = base::get_or<std::string>(each.payload.data, "base", "");
    state.folder = base::get_or<std::string>(each.payload.data, "folder", "");
    if (state.snapshot == standing.incumbent->snapshot) out = std::move(state);
  }
  return out;
}

Expected<std::string> port_outcome(ledger::Reader& reader, const PortState& port) {
  std::string out = k_integrated;
  AKO_TRY_STATUS(reader.each(
      ledger::EventKind::port,
      [&](const ledger::Event& event) -> Status {
        AKO_TRY(const auto each, ledger::payload_from<ledger::Port>(event.payload));
        if (each.commit == port.port.commit &&
            (each.state == k_confirmed || each.state == k_rejected))
          out = each.state;
        return {};
      },
      port.event));
  return out;
}

} // namespace ako::loop
