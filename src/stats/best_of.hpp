// Choosing the best of many candidates without believing it for that.
#pragma once

namespace ako::stats {

/// Where the samples behind a claim come from.
enum class Evidence { selection, fresh };
/// The rule for winners: a figure from the samples that chose the winner among several never
/// counts; it must be measured again. One candidate needs no second measurement for this reason.
enum class Claim { stands, measure_again };
Claim winner_rule(int candidates, Evidence evidence);

} // namespace ako::stats
