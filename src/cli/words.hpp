// Figures as people read them.
#pragma once

#include "ledger/events.hpp"
#include "model/verdict.hpp"

#include <string>
#include <vector>

namespace ako::loop {
class Session;
}

namespace ako::cli {

struct Reply;
/// Where what was read is the record that a finished task came with, the reply says so.
void say_whose_record(const loop::Session& session, Reply& reply);

std::string ns_text(double ns);                    ///< "812 ns", "18.2 us", "3.41 ms"
std::string percent_text(double share);            ///< "+12.3 %"
std::string interval_text(const model::Interval&); ///< "[11.0, 13.5]"; an end may be "open"
std::string gain_text(const model::Verdict&);      ///< "+12.3 % [11.0, 13.5]"
/// Per shape: tag, weight, old, new, gain with interval; fixed columns.
std::string verdict_table(const model::Verdict& verdict);
std::string figure_table(const std::vector<ledger::ShapeFigure>& shapes);
/// "host clock, cold-clean, sequential paired test ...": stands under every table.
std::string how_text(const model::Verdict& verdict);
/// The compiler's first complaints with the source lines they point at.
std::string messages_text(const std::vector<model::CompilerMessage>& messages, std::size_t most);
base::Json messages_json(const std::vector<model::CompilerMessage>& messages);
base::Json figures_json(const std::vector<ledger::ShapeFigure>& shapes);

} // namespace ako::cli
