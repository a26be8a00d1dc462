#include "loop/harness.hpp"

#include <fmt/format.h>

namespace ako::loop {

std::optional<base::fs::path> harness_of(const workspace::Workdir& workdir) {
  const auto place = workdir.git();
  if (!place || place->common_dir.filename() != ".git") return std::nullopt;
  base::fs::path checkout = place->common_dir.parent_path();
  if (checkout.filename() != "AKO4ALL") return std::nullopt;
  return checkout;
}

base::Expected<std::string> harness_trouble(const workspace::Workdir& workdir,
                                            ledger::Reader* reader) {
  const auto checkout = harness_of(workdir);
  if (!checkout) return std::string();
  AKO_TRY(const workspace::Checkout now, workspace::look_at_checkout(*checkout));
  if (!now.whole()) return "the AKO4ALL checkout is not clean: " + now.text();
  std::optional<ledger::Validation> last;
  if (reader != nullptr)
    AKO_TRY_STATUS(reader->each(
        ledger::EventKind::validation, [&](const ledger::Event& event) -> base::Status {
          AKO_TRY(auto seen, ledger::payload_from<ledger::Validation>(event.payload));
          if (seen.name == k_preflight) last = std::move(seen);
          return {};
        }));
  if (!last) return std::string("no preflight of the AKO4ALL checkout is on record");
  if (!last->passed) return "the last preflight failed: " + last->detail;
  if (base::get_or<std::string>(last->data, "head", "") != now.head)
    return std::string("the AKO4ALL checkout moved since its last preflight");
  return std::string();
}

ledger::Validation validation_of(const workspace::Checkout& checkout) {
  ledger::Validation out;
  out.name = k_preflight;
  out.passed = checkout.whole();
  out.detail = checkout.whole()
                   ? fmt::format("{} at {}/{} ({})", checkout.head.substr(0, 12), checkout.remote,
                                 checkout.default_branch, checkout.url)
                   : checkout.text();
  out.data = {{"head", checkout.head},
              {"upstream", checkout.upstream},
              {"url", checkout.url},
              {"branch", checkout.branch}};
  return out;
}

} // namespace ako::loop
