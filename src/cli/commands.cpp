#include "cli/command.hpp"

namespace ako::cli {

extern const Command k_compare, k_new, k_check, k_doctor, k_calibrate, k_baseline, k_try, k_bench,
    k_status, k_log, k_show, k_report, k_verify, k_diagnose, k_scope, k_profile, k_refs, k_skill,
    k_preflight, k_port, k_validate, k_lane;

namespace {

std::vector<const Command*>& all_commands() {
  static std::vector<const Command*> all = {
      &k_compare, &k_new,      &k_refs,      &k_check,  &k_baseline, &k_try,
      &k_status,  &k_log,      &k_show,      &k_report, &k_verify,   &k_bench,
      &k_scope,   &k_profile,  &k_diagnose,  &k_doctor, &k_lane,     &k_preflight,
      &k_port,    &k_validate, &k_calibrate, &k_skill};
  return all;
}

} // namespace

const std::vector<const Command*>& commands() { return all_commands(); }

void add_commands(const std::vector<const Command*>& more) {
  all_commands().insert(all_commands().end(), more.begin(), more.end());
}

} // namespace ako::cli
