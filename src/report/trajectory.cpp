#include "report/trajectory.hpp"

#include "report/text/words.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace ako::report {
namespace {

using base::Json;

/// What the campaigns' events say: sums so far by event, and which turn an iteration belongs to.
struct Spent {
  std::int64_t event = 0;
  double agent_seconds = 0, device_seconds = 0, wall_seconds = 0, money = 0;
  std::int64_t turns = 0;
};
struct OfCampaign {
  std::string name;
  std::int64_t turn = 0;
};

struct Story {
  std::vector<Spent>
      spent; ///< rising events; sums of what no iteration tells: of turns, and of whole settings
  std::map<std::int64_t, OfCampaign> by_iteration;
  std::map<std::int64_t, double> device; ///< by iteration, where a campaign measured it
};

/// Settings tell their sums since the campaign began: what is new in `now` is added.
void add_settings(Spent& sum, Spent& before, const Spent& now) {
  sum.event = now.event;
  sum.turns += now.turns - before.turns;
  sum.agent_seconds += now.agent_seconds - before.agent_seconds;
  sum.wall_seconds += now.wall_seconds - before.wall_seconds;
  sum.device_seconds += now.device_seconds - before.device_seconds;
  sum.money += now.money - before.money;
  before = now;
}

/// Adds what a step cost that no iteration tells: a turn, lost ones as well, what prepared the task
/// or changed its lane, a judging that came to nothing. False where there is nothing to add.
bool add_step(Spent& sum, const ledger::Event& event, const ledger::Campaign& step) {
  const auto number = [&](const char* key) { return base::get_or<double>(step.data, key, 0.0); };
  const bool answered = step.step == "answered", of_agent = answered || step.step == "lost";
  const bool judged_nothing =
      step.step == "tried" && base::get_or<std::int64_t>(step.data, "iteration", 0) <= 0;
  if (!of_agent && !judged_nothing && step.step != "prepared" && step.step != "laned") return false;
  if (!answered && number("seconds") + number("device_seconds") + number("money") <= 0)
    return false;
  sum.event = event.seq;
  sum.turns += answered;
  sum.agent_seconds += of_agent ? number("seconds") : 0;
  sum.wall_seconds += number("seconds");
  sum.device_seconds += number("device_seconds");
  sum.money += number("money");
  return true;
}

base::Expected<Story> story_of(ledger::Reader& reader) {
  Story out;
  Spent sum;
  std::map<std::string, Spent> settings; ///< by campaign, as they were told last
  AKO_TRY_STATUS(
      reader.each(ledger::EventKind::campaign, [&](const ledger::Event& event) -> base::Status {
        AKO_TRY(const ledger::Campaign step, ledger::payload_from<ledger::Campaign>(event.payload));
        const auto number = [&](const char* key) {
          return base::get_or<double>(step.data, key, 0.0);
        };
        if (add_step(sum, event, step)) {
          out.spent.push_back(sum);
        } else if (step.step == "settings") {
          const Spent now{event.seq,
                          number("agent_seconds"),
                          number("device_seconds"),
                          number("wall_seconds"),
                          number("money"),
                          base::get_or<std::int64_t>(step.data, "turns", 0)};
          add_settings(sum, settings[step.name], now);
          out.spent.push_back(sum);
        } else if (step.step == "tried" || step.step == "contender") {
          const auto iteration = base::get_or<std::int64_t>(step.data, "iteration", 0);
          // Several, where the machine was at fault; the sums are of all of them.
          const auto first = base::get_or<std::int64_t>(step.data, "first_iteration", iteration);
          for (auto each = std::max<std::int64_t>(first, 1); each <= iteration; ++each)
            out.by_iteration[each] = {step.name, step.turn};
          const bool several = step.data.contains("last_device_seconds");
          if (iteration > 0 && (several || step.data.contains("device_seconds")))
            out.device[iteration] = number(several ? "last_device_seconds" : "device_seconds");
        }
        return {};
      }));
  return out;
}

double clean(double value) { return std::isfinite(value) ? value : 0; }

void add_spent(TrajectoryRow& row, const Spent& spent, double evaluations, double device) {
  row.agent_seconds = spent.agent_seconds;
  row.money = spent.money;
  row.turns = spent.turns;
  row.device_seconds = spent.device_seconds + device;
  row.wall_seconds = spent.wall_seconds + evaluations;
}

} // namespace

base::Expected<std::vector<TrajectoryRow>> trajectory(ledger::Reader& reader) {
  AKO_TRY(const Story story, story_of(reader));
  std::vector<TrajectoryRow> out;
  std::vector<std::int64_t> numbers;
  AKO_TRY_STATUS(reader.each_row([&](const ledger::IterationRow& row) {
    numbers.push_back(row.number);
    return base::Status{};
  }));
  double evaluations = 0, device = 0;
  std::optional<double> best;
  std::size_t turn_at = 0;
  Spent spent;
  for (const std::int64_t number : numbers) {
    AKO_TRY(const auto recorded, reader.iteration(number));
    if (!recorded) continue;
    const ledger::Iteration& it = recorded->payload;
    for (; turn_at < story.spent.size() && story.spent[turn_at].event < recorded->event.seq;
         ++turn_at)
      spent = story.spent[turn_at];
    TrajectoryRow row;
    row.iteration = number;
    if (const auto of = story.by_iteration.find(number); of != story.by_iteration.end())
      row.campaign = of->second.name, row.turn = of->second.turn;
    row.outcome = model::to_string(it.verdict.outcome.kind);
    row.decision = model::to_string(it.decision);
    row.hypothesis = it.hypothesis;
    row.confirmed = it.verdict.confirmed;
    if (it.verdict.placements > 0 && std::isfinite(it.verdict.gain)) row.gain = it.verdict.gain;
    if (it.decision != model::Decision::revert && it.versus_baseline)
      best = it.versus_baseline->gain;
    row.best_gain = best;
    row.speedup = best && *best < 1 ? 1 / (1 - *best) : 1;
    const double seconds = clean(it.seconds);
    const auto measured = story.device.find(number);
    evaluations += seconds;
    device += measured != story.device.end() ? measured->second : seconds;
    add_spent(row, spent, evaluations, device);
    out.push_back(std::move(row));
  }
  if (turn_at == story.spent.size()) return out;
  TrajectoryRow last;
  if (!out.empty()) last.iteration = out.back().iteration, last.speedup = out.back().speedup;
  last.best_gain = best;
  last.closing = true;
  add_spent(last, story.spent.back(), evaluations, device);
  out.push_back(std::move(last));
  return out;
}

std::string to_json_lines(const std::vector<TrajectoryRow>& rows) {
  std::string out;
  const auto number = [](const std::optional<double>& value) {
    return value ? base::number_or_null(*value) : Json();
  };
  for (const TrajectoryRow& row : rows)
    out += base::dump_json({{"iteration", row.closing ? Json() : Json(row.iteration)},
                            {"closing", row.closing},
                            {"campaign", row.campaign},
                            {"turn", row.turn},
                            {"turns", row.turns},
                            {"outcome", row.outcome},
                            {"decision", row.decision},
                            {"confirmed", row.confirmed},
                            {"gain", number(row.gain)},
                            {"best_gain", number(row.best_gain)},
                            {"speedup", row.speedup},
                            {"wall_seconds", row.wall_seconds},
                            {"device_seconds", row.device_seconds},
                            {"agent_seconds", row.agent_seconds},
                            {"money", row.money},
                            {"hypothesis", row.hypothesis}}) +
           "\n";
  return out;
}

std::string trajectory_table(const std::vector<TrajectoryRow>& rows) {
  std::string out =
      fmt::format("{:>5} {:>5}  {:<19} {:<7} {:>9} {:>8} {:>9} {:>9} {:>9}  {}\n", "iter", "turn",
                  "outcome", "kept", "gain", "best", "wall s", "device s", "money", "hypothesis");
  for (const TrajectoryRow& row : rows)
    out += fmt::format(
        "{:>5} {:>5}  {:<19} {:<7} {:>9} {:>7.3f}x {:>9.1f} {:>9.1f} {:>9.2f}  {}\n",
        row.closing ? "end" : fmt::format("{}", row.iteration),
        row.turn > 0 ? fmt::format("{}", row.turn) : "-", row.outcome, row.decision,
        percent(row.gain), row.speedup, row.wall_seconds, row.device_seconds, row.money,
        row.closing ? fmt::format("{} turns in all", row.turns) : plain_line(row.hypothesis, 60));
  return out;
}

namespace {

constexpr double k_panel_width = 380, k_panel_height = 230, k_panel_left = 54, k_panel_right = 12,
                 k_panel_top = 26, k_panel_bottom = 40;

struct Panel {
  const char* title;
  double (*value)(const TrajectoryRow&);
};

double round_step(double span) {
  if (span <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(span / 4)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (span / 4 <= factor * power) return factor * power;
  return 10 * power;
}

std::string grid_of(double most_x, double most_y) {
  const double width = k_panel_width - k_panel_left - k_panel_right,
               height = k_panel_height - k_panel_top - k_panel_bottom;
  std::string out;
  const double step_y = round_step(most_y - 1), step_x = round_step(most_x);
  for (double y = 1; y <= most_y + 1e-9; y += step_y) {
    const double at = k_panel_top + height * (1 - (y - 1) / (most_y - 1));
    out +=
        fmt::format("<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
                    "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.3g}x</text>",
                    k_panel_left, k_panel_left + width, at, at, k_panel_left - 6, at + 4, y);
  }
  for (double x = 0; x <= most_x + 1e-9; x += step_x)
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.4g}</text>",
                       k_panel_left + width * x / most_x, k_panel_top + height + 16, x);
  return out;
}

std::string panel_of(const std::vector<TrajectoryRow>& rows, const Panel& panel, double most_y) {
  double most_x = 0;
  for (const TrajectoryRow& row : rows) most_x = std::max(most_x, panel.value(row));
  if (most_x <= 0) most_x = 1;
  const double width = k_panel_width - k_panel_left - k_panel_right,
               height = k_panel_height - k_panel_top - k_panel_bottom;
  const auto x_of = [&](double value) { return k_panel_left + width * value / most_x; };
  const auto y_of = [&](double value) {
    return k_panel_top + height * (1 - (value - 1) / (most_y - 1));
  };
  std::string path = fmt::format("M{:.1f} {:.1f}", x_of(0), y_of(1)), dots;
  for (const TrajectoryRow& row : rows) {
    const double x = x_of(panel.value(row)), y = y_of(std::clamp(row.speedup, 1.0, most_y));
    path += fmt::format("H{:.1f}V{:.1f}", x, y);
    if (row.decision != "revert" && !row.closing)
      dots +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}</title></circle>", x,
                      y, html(fmt::format("iteration {}: {}", row.iteration, row.hypothesis)));
  }
  return grid_of(most_x, most_y) +
         fmt::format(
             "<path d=\"{}\"/>{}<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
             path, dots, k_panel_left + width / 2, k_panel_height - 6, panel.title);
}

} // namespace

std::string trajectory_svg(const std::vector<TrajectoryRow>& rows) {
  if (rows.empty()) return {};
  std::vector<Panel> panels = {
      {"iterations", [](const TrajectoryRow& row) { return static_cast<double>(row.iteration); }},
      {"wall time, s", [](const TrajectoryRow& row) { return row.wall_seconds; }},
      {"device time, s", [](const TrajectoryRow& row) { return row.device_seconds; }}};
  if (rows.back().money > 0)
    panels.push_back({"money", [](const TrajectoryRow& row) { return row.money; }});
  double most_y = 1.05;
  for (const TrajectoryRow& row : rows) most_y = std::max(most_y, row.speedup * 1.02);
  const std::size_t across = 2, down = (panels.size() + 1) / 2;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" "
      "role=\"img\" aria-label=\"best speed-up against what it took\"><style>"
      "svg{{background:#fff;font:12px "
      "system-ui,sans-serif}}text{{fill:#5f6670}}.grid{{stroke:#d9dce0}}"
      "path{{fill:none;stroke:#2456b8;stroke-width:2}}circle{{fill:#2456b8}}"
      "@media(prefers-color-scheme:dark){{svg{{background:#14171a}}text{{fill:#9aa3ad}}"
      ".grid{{stroke:#32383f}}"
      "path{{stroke:#8fb4ff}}circle{{fill:#8fb4ff}}}}</style>",
      k_panel_width * static_cast<double>(across), k_panel_height * static_cast<double>(down));
  for (std::size_t i = 0; i < panels.size(); ++i)
    out += fmt::format("<g transform=\"translate({:.0f} {:.0f})\">{}</g>",
                       k_panel_width * static_cast<double>(i % across),
                       k_panel_height * static_cast<double>(i / across),
                       panel_of(rows, panels[i], most_y));
  return out + "</svg>\n";
}

} // namespace ako::report
