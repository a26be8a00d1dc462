// Hardware counters of the timed calls, where the kernel of this machine gives them. They are
// counted in the candidate's own process: kept to be read, decided by never.
#pragma once

#include "client/worker.hpp"
#include "model/samples.hpp"

#include <map>
#include <string>
#include <utility>

namespace ako::evaluation {

class Counted {
public:
  /// A block of this side at this shape; one without counters adds nothing.
  void add(const std::string& shape, model::Side side, const client::SampleReport& block);
  /// [{shape, side, calls, cycles, instructions, cache_misses}], each of one call in the mean, null
  /// where it is not known; empty where nothing was counted.
  base::Json json() const;

private:
  struct Sum {
    double count = 0;
    std::int64_t calls = 0; ///< of the blocks that had this counter
    void add(std::int64_t value, int of);
    base::Json mean() const;
  };
  struct Sums {
    Sum cycles, instructions, misses;
    std::int64_t calls = 0;
  };
  std::map<std::pair<std::string, model::Side>, Sums> m_sums;
};

} // namespace ako::evaluation
