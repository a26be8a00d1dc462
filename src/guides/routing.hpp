// Which guides a task requires: a table (references/routing.toml), read and asked. Pure but for the
// reading.
//
//   [[family]]  id, words               a kernel's name that holds one of the words is of it
//   [[marker]]  id, what, text, lanes   sources that hold one of the texts use it
//   [[rule]]    guides, why; lanes, architectures, families, claims, markers: each that is given
//               must hold one of the task's; a rule without claims holds for every claim
#pragma once

#include "guides/library.hpp"
#include "model/contract.hpp"
#include "model/sources.hpp"

#include <string>
#include <vector>

namespace ako::guides {

struct Family {
  std::string id;
  std::vector<std::string> words;
};
struct Marker {
  std::string id, what; ///< what: as people say it, "inline PTX"
  std::vector<std::string> text, lanes;
};
struct Rule {
  std::vector<std::string> guides, lanes, architectures, families, claims, markers;
  std::string why;
};

struct Routing {
  std::vector<Family> families;
  std::vector<Marker> markers;
  std::vector<Rule> rules;

  std::vector<std::string> family_ids() const;
};

/// Kind invalid naming file and line: an unknown key, a rule whose guide, family or marker does not
/// exist.
base::Expected<Routing> read_routing(std::string_view text, const std::string& file,
                                     const Library& library);
base::Expected<Routing> load_routing(const Library& library);

/// What kind of kernel it is, and how that is known.
struct FamilyGuess {
  std::string id; ///< empty: unknown
  std::string reason;
};
/// `declared`: kernel.family of task.toml; empty = infer it from the names, then from the shapes.
/// Kind invalid when a declared family does not exist.
base::Expected<FamilyGuess> family_of(const Routing& routing, const model::Contract& contract,
                                      const std::string& declared);
/// kernel.family as task.toml says it; empty where it does not. The text must be a lawful contract.
std::string declared_family(std::string_view task_toml);

struct Question {
  std::string lane;
  std::vector<std::string> architectures; ///< sm_90a is taken as sm_90
  std::string family;
  std::string claim = "iteration"; ///< iteration, port, report
  std::vector<model::SourceText> sources;
};

struct Required {
  const Guide* guide = nullptr;
  std::vector<std::string> why; ///< "lane cuda", "inline PTX in solution/k.cu"
};
/// In the order of the table, each guide once.
std::vector<Required> required(const Routing& routing, const Library& library,
                               const Question& question);

} // namespace ako::guides
