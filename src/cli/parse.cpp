// The only unit that knows CLI11 (it costs seconds to compile).
#include "base/fs.hpp"
#include "cli/command.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <string_view>

namespace ako::cli {
namespace {

constexpr const char* k_version = "ako 0.1.0";

std::string examples_text(const Command& command) {
  std::string out = command.help.empty() ? "" : command.help + "\n\n";
  out += "Examples:\n";
  for (const auto& line : command.examples) out += "  " + line + "\n";
  return out;
}

/// Values that CLI11 writes into, one slot an option, until they are copied into Arguments.
struct Slots {
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, std::string> words;
  std::map<std::string, bool> flags;
};

void declare(CLI::App& app, const Command& command, Slots& slots) {
  for (const auto& spec : command.positionals) {
    // A vector would swallow the words of the positionals behind it.
    auto* option = spec.arity == Arity::many
                       ? app.add_option(spec.name, slots.values[spec.name], spec.help)
                       : app.add_option(spec.name, slots.words[spec.name], spec.help);
    if (spec.required) option->required();
  }
  for (const auto& spec : command.options) {
    if (spec.arity == Arity::flag) {
      app.add_flag("--" + spec.name, slots.flags[spec.name], spec.help);
      continue;
    }
    auto* option = app.add_option("--" + spec.name, slots.values[spec.name], spec.help);
    option->type_name(spec.value)->expected(1)->take_last();
    if (spec.arity == Arity::many) option->take_all();
  }
  app.footer(examples_text(command));
}

void collect(const Command& command, const Slots& slots, Arguments& arguments) {
  auto take = [&](const std::string& name) {
    auto found = slots.values.find(name);
    if (found != slots.values.end())
      for (const auto& value : found->second) arguments.add(name, value);
    auto word = slots.words.find(name);
    if (word != slots.words.end() && !word->second.empty()) arguments.add(name, word->second);
  };
  for (const auto& spec : command.positionals) take(spec.name);
  for (const auto& spec : command.options) {
    if (spec.arity != Arity::flag) take(spec.name);
    else if (slots.flags.at(spec.name)) arguments.add(spec.name, "true");
  }
}

std::string nearest(const std::string& word) {
  std::string best;
  std::size_t best_distance = 3;
  for (const Command* command : commands()) {
    const std::string& name = command->name;
    std::vector<std::size_t> row(name.size() + 1);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= name.size(); ++j) {
        std::size_t cost = diagonal + (word[i - 1] != name[j - 1]);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, cost});
      }
    }
    if (row.back() < best_distance) best_distance = row.back(), best = name;
  }
  return best;
}

base::Error usage_error(const CLI::ParseError& problem, const std::string& command, int argc,
                        char** argv) {
  const std::string called = command.empty() ? "ako" : "ako " + command;
  base::Error error{base::ErrorKind::usage, problem.what(), called, {}, {}, called + " --help"};
  if (!command.empty() || dynamic_cast<const CLI::RequiredError*>(&problem) == nullptr)
    return error;
  error.where = "command line";
  error.message = "no command is named";
  for (const Command* each : commands())
    error.allowed += (error.allowed.empty() ? "" : ", ") + each->name;
  // The first word that is neither an option nor the folder of -C was meant as one.
  for (int i = 1; i < argc && error.found.empty(); ++i) {
    if (std::string_view(argv[i]) == "-C") ++i;
    else if (argv[i][0] != '-') error.found = argv[i];
  }
  if (error.found.empty()) return error;
  error.message = "there is no such command";
  if (const std::string near = nearest(error.found); !near.empty())
    error.next = "did you mean: ako " + near;
  return error;
}

struct Globals {
  std::string dir;
  bool json = false, quiet = false, verbose = false;
};

void declare_globals(CLI::App& app, Globals& globals) {
  app.add_option("-C", globals.dir, "Work in this folder instead of the current one")
      ->type_name("DIR");
  app.add_flag("--json", globals.json, "Answer with one JSON object on stdout");
  app.add_flag("--quiet", globals.quiet, "No progress");
  app.add_flag("--verbose", globals.verbose, "More about what is done");
}

} // namespace

Invocation parse(int argc, char** argv) {
  Invocation out;
  CLI::App app("ako: from a proven hot kernel to a measured, verified, portable win, or a record "
               "of why there is none");
  app.require_subcommand(1);
  app.set_version_flag("--version", k_version);
  Globals globals;
  declare_globals(app, globals);
  std::map<const CLI::App*, std::pair<const Command*, std::shared_ptr<Slots>>> known;
  for (const Command* command : commands()) {
    auto slots = std::make_shared<Slots>();
    auto* sub = app.add_subcommand(command->name, command->summary);
    declare(*sub, *command, *slots);
    declare_globals(*sub, globals);
    known[sub] = {command, slots};
  }
  auto chosen = [&]() -> const CLI::App* {
    for (const auto& entry : known)
      if (entry.first->parsed()) return entry.first;
    return nullptr;
  };
  out.context.json = false;
  for (int i = 1; i < argc; ++i) out.context.json |= std::string(argv[i]) == "--json";
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    out.print = chosen() ? chosen()->help() : app.help();
    return out;
  } catch (const CLI::CallForVersion&) {
    out.print = std::string(k_version) + "\n";
    return out;
  } catch (const CLI::ParseError& problem) {
    const CLI::App* sub = chosen();
    out.command_name = sub ? sub->get_name() : "";
    out.error = usage_error(problem, out.command_name, argc, argv);
    return out;
  }
  const auto& [command, slots] = known.at(chosen());
  out.command = command;
  out.context.json = globals.json;
  std::error_code gone;
  out.context.dir = globals.dir.empty() ? std::filesystem::current_path(gone)
                                        : std::filesystem::path(globals.dir);
  if (gone) {
    out.error = base::Error{base::ErrorKind::usage, "the current folder is not there any more",
                            "current folder",       gone.message(),
                            "a folder that exists", "go to one (cd), or name one with -C DIR"};
    return out;
  }
  out.verbosity = globals.quiet ? -1 : globals.verbose ? 1 : 0;
  collect(*command, *slots, out.arguments);
  return out;
}

} // namespace ako::cli
