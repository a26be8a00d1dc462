#include "lanes/cuda/driver.hpp"

namespace ako::lanes::cuda {

base::Expected<model::SourceText> Driver::microbench(const model::Contract& contract) const {
  return base::fail(
      base::ErrorKind::unsupported, "the cuda lane writes no microbench",
      {.where = contract.kernel.name, .found = {}, .allowed = {}, .next = "ako bench"});
}

} // namespace ako::lanes::cuda
