#include "model/samples.hpp"

namespace ako::model {

using base::Json;

const char* to_string(Side side) {
  switch (side) {
  case Side::reference: return "reference";
  case Side::incumbent: return "incumbent";
  case Side::candidate: return "candidate";
  }
  return "candidate";
}

// Rows are arrays under one list of column names: a hundred thousand of them stay readable and
// small.
Json to_json(const Samples& samples) {
  Json rows = Json::array();
  for (const Sample& each : samples.rows)
    rows.push_back(Json::array({each.shape, each.placement, each.pair, to_string(each.side),
                                each.order, base::number_or_null(each.device_ns),
                                base::number_or_null(each.call_ns), each.calls, each.flags}));
  Json blocks = Json::array();
  for (const BlockState& each : samples.blocks)
    blocks.push_back({{"clock_ratio", base::number_or_null(each.clock_ratio)},
                      {"foreign_load", base::number_or_null(each.foreign_load)},
                      {"parent_wall_ns", base::number_or_null(each.parent_wall_ns)},
                      {"device", each.device}});
  return Json{
      {"columns",
       {"shape", "placement", "pair", "side", "order", "device_ns", "call_ns", "calls", "flags"}},
      {"rows", std::move(rows)},
      {"blocks", std::move(blocks)}};
}

} // namespace ako::model
