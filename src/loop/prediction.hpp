// What a step is expected to show, said before it is measured and held against it afterwards.
//
//   prediction = term { (";" | ",") term }
//   term       = metric [ "[" shape tag "]" ] [ ">=" | "<=" | ">" | "<" ] number [ unit ]
//   metric     = "gain"                    weighted, or of one shape; unit "%"
//              | "time"                    of one call at a shape; unit ns, us, ms or s
//              | "registers" | "shared" | "spills" | "stack"    of the compiler's report; bytes
// Without a relation: at least for gain, at most for everything else.
#pragma once

#include "model/artifact.hpp"
#include "model/verdict.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::loop {

struct Term {
  enum class Metric { gain, time, registers, shared, spills, stack };
  Metric metric = Metric::gain;
  std::string shape;    ///< empty = all of them, weighted
  std::string relation; ///< ">=", "<=", ">", "<"
  double value = 0;     ///< a share, nanoseconds, registers or bytes
  std::string text;     ///< as it was written
};

/// Kind usage, naming the term, what is allowed and, for shapes, which there are.
base::Expected<std::vector<Term>> parse_prediction(const std::string& text,
                                                   const std::vector<std::string>& shapes);

struct TermOutcome {
  Term term;
  enum class Result { held, failed, open, not_measured } result = Result::not_measured;
  std::string found; ///< "+41.8 % [+24.3, +55.2]", "11.75 us"
};
const char* to_string(TermOutcome::Result result);

/// A gain is held, failed or open by its interval; everything else by its value.
std::vector<TermOutcome> hold_against(const std::vector<Term>& prediction,
                                      const model::Verdict& verdict,
                                      const std::optional<model::Artifact>& artifact);
/// "gain >= 40 %: held (+54.3 % [...]); registers <= 64: failed (72)"
std::string text_of(const std::vector<TermOutcome>& outcomes);

} // namespace ako::loop
