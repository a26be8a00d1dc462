#include "report/html/page.hpp"

#include "base/time.hpp"
#include "report/html/chart.hpp"
#include "report/html/style.hpp"
#include "report/roofline.hpp"
#include "report/text/words.hpp"

#include <fmt/format.h>

namespace ako::report {

namespace {

const char* colour(model::OutcomeKind kind) {
  using model::OutcomeKind;
  switch (kind) {
  case OutcomeKind::improved: return "good";
  case OutcomeKind::equivalent:
  case OutcomeKind::undecided: return "mid";
  case OutcomeKind::invalid_measurement:
  case OutcomeKind::environment:
  case OutcomeKind::unsupported:
  case OutcomeKind::task_error:
  case OutcomeKind::stale:
  case OutcomeKind::interrupted: return "warned";
  default: return "bad";
  }
}

std::string row(std::string_view name, const std::string& safe) {
  return safe.empty() ? std::string() : fmt::format("<dt>{}</dt><dd>{}</dd>", name, safe);
}

std::string hero(const Data& data) {
  const auto made = claim(data);
  if (!made)
    return fmt::format("<section class=\"hero\"><div class=\"gain\">{}</div></section>",
                       data.incumbent ? "A candidate was kept; its gain over the baseline was not "
                                        "measured"
                                      : "No win: the baseline stands");
  return fmt::format(
      "<section class=\"hero\"><div class=\"gain {}\">{}<small>time saved against {}, "
      "interval [{}, {}], {}</small></div><p class=\"dim\">Iteration {}; {} "
      "placements, {} pairs; {}</p></section>",
      made->verdict.outcome.kind == model::OutcomeKind::improved ? "good" : "mid",
      percent(made->verdict.gain), html(made->verdict.against), percent(made->verdict.interval.low),
      percent(made->verdict.interval.high), html(made->label), data.incumbent->payload.number,
      made->verdict.placements, made->verdict.pairs, html(made->verdict.outcome.reason));
}

std::string caveats(const Data& data) {
  std::string out = "<section class=\"warn\"><h2>Untested and waived</h2><ul>";
  for (const std::string& each : untested(data)) out += "<li>" + html(each) + "</li>";
  for (const auto& each : data.waivers)
    out += fmt::format("<li><strong>Waived</strong> gate {} for <code>{}</code> by {}: {}</li>",
                       html(each.payload.gate), html(each.payload.command), html(each.payload.by),
                       html(each.payload.why));
  if (data.waivers.empty()) out += "<li>No gate was waived.</li>";
  return out + "</ul></section>";
}

std::string chart(const Data& data) {
  const std::string svg = gain_chart(data);
  if (svg.empty()) return {};
  return "<h2>Gain over iterations</h2><figure>" + svg +
         "<figcaption><span class=\"key\" "
         "style=\"background:var(--accent);margin-left:0\"></span>kept, "
         "against the incumbent of its moment<span class=\"key\" style=\"border:2px solid "
         "var(--dim)\"></span>reverted<span class=\"key\" style=\"background:var(--good)\"></span>"
         "measured against the baseline. Bars are intervals.</figcaption></figure>";
}

std::string roof(const Data& data) {
  const auto roofline = roofline_of(data);
  if (!roofline) return {};
  const std::string svg = roofline_svg(*roofline);
  std::string out = "<h2>Under the roofs of the device</h2>";
  if (!svg.empty())
    out += "<figure>" + svg +
           "<figcaption><span class=\"key\" style=\"background:var(--accent);margin-left:0\">"
           "</span>incumbent<span class=\"key\" style=\"border:2px solid var(--dim)\"></span>"
           "baseline. Roofs: " +
           html(roofline->source) + ".</figcaption></figure>";
  return out + roofline_table_html(*roofline);
}

std::string profiles(const Data& data) {
  if (data.profiles.empty()) return {};
  std::string out = "<h2>Profiles</h2><ul>";
  for (const auto& each : data.profiles) {
    out += "<li>" + html(each.payload.tool) + ": " + html(each.payload.summary);
    if (!each.payload.findings.empty()) {
      out += "<ul>";
      for (const std::string& finding : each.payload.findings)
        out += "<li>" + html(finding) + "</li>";
      out += "</ul>";
    }
    out += "</li>";
  }
  return out + "</ul>";
}

std::string shapes(const model::Verdict& verdict, std::string_view old_name) {
  if (verdict.shapes.empty()) return {};
  // The gain comes second: on a phone the columns after it are reached by scrolling.
  std::string out = fmt::format("<div class=\"scroll\"><table><thead><tr><th>Shape</th>"
                                "<th class=\"n\">Gain</th><th class=\"n\">{}</th>"
                                "<th class=\"n\">New</th><th class=\"n\">Weight</th>"
                                "<th class=\"n\">Floor</th></tr></thead><tbody>",
                                old_name);
  for (const auto& each : verdict.shapes)
    out += fmt::format("<tr><td>{}{}</td><td class=\"n {}\">{}</td><td class=\"n\">{}</td>"
                       "<td class=\"n\">{}</td><td class=\"n\">{:g}</td>"
                       "<td class=\"n\">{}</td></tr>",
                       html(each.tag),
                       each.within_regression
                           ? ""
                           : " <span class=\"tag bad\">beyond the allowed regression</span>",
                       each.interval.low > 0    ? "good"
                       : each.interval.high < 0 ? "bad"
                                                : "mid",
                       gain(each.gain, each.interval), duration(each.old_ns), duration(each.new_ns),
                       each.weight, each.floor_ns > 0 ? duration(each.floor_ns) : "-");
  return out + "</tbody></table></div>";
}

std::string per_shape(const Data& data) {
  const auto made = claim(data);
  if (!made) return {};
  return "<h2>Per shape, incumbent against the baseline</h2>" + shapes(made->verdict, "Baseline");
}

std::string iteration(const Data& data, const ledger::Recorded<ledger::Iteration>& recorded) {
  const ledger::Iteration& it = recorded.payload;
  const model::Verdict& verdict = it.verdict;
  std::string out = fmt::format(
      "<article class=\"it\"><header><h3>{}</h3><span class=\"tag {}\">{}</span><span class=\"tag "
      "{}\">{}</span>",
      it.number, colour(verdict.outcome.kind), model::to_string(verdict.outcome.kind),
      it.decision == model::Decision::keep   ? "good"
      : it.decision == model::Decision::flag ? "warned"
                                             : "mid",
      model::to_string(it.decision));
  if (it.explore == ledger::Explore::yes) out += "<span class=\"tag mid\">exploring</span>";
  if (verdict.confirmed) out += "<span class=\"tag good\">confirmed</span>";
  for (const std::string& gate : it.waived)
    out += "<span class=\"tag warned\">waived " + html(gate) + "</span>";
  if (!verdict.shapes.empty())
    out += fmt::format("<span>{}</span>", gain(verdict.gain, verdict.interval));
  out += "</header><dl>";
  out += row("Hypothesis", html(it.hypothesis));
  out += row("Prediction", html(it.prediction) +
                               (it.predicted_gain ? " (" + percent(*it.predicted_gain) + ")" : ""));
  out += row("Came true", html(prediction_outcome(it.predicted_gain, verdict)));
  out += row("Cites", html(it.cites));
  out += row("Direction", html(it.direction));
  out += row("Change", html(it.change));
  out += row("Result", html(verdict.outcome.reason));
  for (const auto& each : verdict.outcome.evidence)
    out += row("Evidence", html(each.guard) + ": " + html(each.text));
  if (it.versus_baseline)
    out += row("Vs baseline", gain(it.versus_baseline->gain, it.versus_baseline->interval));
  out += row("Decision", html(it.decision_reason));
  const auto commit = data.commits.find(it.number);
  const std::string id = commit == data.commits.end() ? it.commit : commit->second;
  out += row("Recorded",
             fmt::format("{}, snapshot <code>{}</code>{}, {} samples",
                         base::iso_time(recorded.event.ts_ns), html(short_hash(it.snapshot.hash)),
                         id.empty() ? "" : ", commit <code>" + html(short_hash(id)) + "</code>",
                         recorded.event.sample_rows));
  out += "</dl>";
  if (!verdict.shapes.empty())
    out += "<details><summary>per shape, against " + html(verdict.against) + "</summary>" +
           shapes(verdict, "Old") + "</details>";
  return out + "</article>";
}

std::string iterations(const Data& data) {
  std::string out = "<h2>What each iteration tried</h2>";
  if (data.iterations.empty()) return out + "<p class=\"dim\">No iterations on record.</p>";
  if (data.left_out > 0)
    out += fmt::format("<p class=\"warned\">{} earlier iterations are in the ledger and not shown "
                       "here.</p>",
                       data.left_out);
  for (const auto& each : data.iterations) {
    out += iteration(data, each);
    for (const auto& stall : data.stalls)
      if (stall.payload.after_iteration == each.payload.number)
        out +=
            fmt::format("<p class=\"warned\">Stall: {} in a row were correct and not better; the "
                        "incumbent was measured again.</p>",
                        stall.payload.in_a_row);
  }
  return out;
}

std::string baseline(const Data& data) {
  if (!data.baseline) return {};
  const ledger::Baseline& base = data.baseline->payload;
  std::string out = "<h2>Baseline</h2><div class=\"scroll\"><table><thead><tr><th>Baseline</th>"
                    "<th>Shape</th><th>Sizes</th><th>Dtype</th><th class=\"n\">p50</th><th "
                    "class=\"n\">p95</th><th class=\"n\">Samples</th></tr></thead><tbody>";
  for (const auto& entry : base.entries)
    for (const auto& each : entry.shapes)
      out += fmt::format(
          "<tr><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td "
          "class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
          html(entry.name),
          entry.name == base.fastest ? " <span class=\"tag mid\">counts</span>" : "",
          html(each.tag), html(each.shape), html(each.dtype), duration(each.p50_ns),
          duration(each.p95_ns), each.samples);
  return out + "</tbody></table></div>";
}

std::string how(const Data& data) {
  std::string rows;
  const auto add = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) rows += fmt::format("<tr><th>{}</th><td>{}</td></tr>", name, html(text));
  };
  const auto made = claim(data);
  if (data.baseline) {
    const ledger::HowTaken& taken = data.baseline->payload.how;
    add("Clock", made ? made->verdict.clock : taken.clock);
    add("Cache", made ? made->verdict.cache : taken.cache);
    add("Statistic", made ? made->verdict.statistic : taken.statistic);
    add("Aggregation", "1 - sum(weight x new) / sum(weight x old); weight = calls in production");
    add("Device", taken.device);
    add("Warm-up, iterations", fmt::format("{}, {} calls", taken.warmup, taken.iterations));
    add("Baseline hash", data.baseline->payload.hash);
  }
  if (data.contract) add("Contract hash", data.contract->hash);
  if (data.environment) {
    add("Machine", data.environment->machine);
    add("System", data.environment->os);
    add("Compiler", data.environment->compiler);
    add("ako", data.environment->ako_version);
  }
  if (data.self_test)
    add("Contract's self-test",
        fmt::format("{}, {} steps", data.self_test->passed ? "passed" : "failed",
                    data.self_test->steps.size()));
  add("Ledger", fmt::format("{} events, head {}", data.standing.events, data.standing.head));
  return "<h2>How the figures were taken</h2><div class=\"scroll\"><table>" + rows +
         "</table></div>";
}

std::string rest(const Data& data) {
  std::string out;
  if (!data.readings.empty()) {
    out += "<h2>References read</h2><ul>";
    for (const auto& each : data.readings)
      out += fmt::format("<li>{} <code>{}</code> <span class=\"dim\">{}, read {}</span></li>",
                         html(each.title), html(guide_file(each)), html(short_hash(each.hash)),
                         base::iso_time(each.ts_ns));
    out += "</ul>";
  }
  if (!data.ports.empty() || !data.validations.empty()) {
    out += "<h2>Port and validation</h2><ul>";
    for (const auto& each : data.ports)
      out += fmt::format("<li>{}: {} {} {}</li>", html(each.payload.state),
                         html(each.payload.repository), html(each.payload.branch),
                         html(each.payload.detail));
    for (const auto& each : data.validations)
      out += fmt::format("<li class=\"{}\">{} {}: {}</li>", each.payload.passed ? "good" : "bad",
                         html(each.payload.name), each.payload.passed ? "passed" : "failed",
                         html(each.payload.detail));
    out += "</ul>";
  }
  if (data.contract)
    out += "<details><summary>the contract as ako understood it</summary><pre>" +
           html(data.contract->echo) + "</pre></details>";
  return out;
}

} // namespace

std::string report_html(const Data& data) {
  const std::string name = data.task ? html(data.task->task) : "ako";
  std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
                    "name=\"viewport\" content=\"width=device-width,initial-scale=1\"><meta "
                    "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src "
                    "'unsafe-inline'\"><title>" +
                    name + "</title><style>" + k_style + "</style></head><body><main>";
  out += "<h1>" + name + "</h1><p class=\"dim\">";
  if (data.task)
    out += "Kernel " + html(data.task->kernel) + ", lane " + html(data.task->lane) + ". ";
  out += fmt::format("{} iterations; record as of {}.</p>", data.standing.iterations,
                     base::iso_time(data.standing.last_ts_ns));
  out += hero(data) + caveats(data) + chart(data) + per_shape(data) + roof(data) + profiles(data) +
         iterations(data) + baseline(data) + how(data) + rest(data);
  return out + "</main></body></html>\n";
}

} // namespace ako::report
