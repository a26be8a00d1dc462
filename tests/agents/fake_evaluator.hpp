// Judges by what stands in the candidate's text instead of running it, and records as the real one
// does: for campaigns of many turns and many kills.
//
//   // speed: 900      nanoseconds a call; less than 95 % of the incumbent's is improved
//   WRONG              incorrect          BROKEN   build_failed          BUSY   invalid_measurement
#pragma once

#include "drive/evaluator.hpp"

namespace ako::test {

std::unique_ptr<drive::Evaluator> fake_evaluator();

} // namespace ako::test
