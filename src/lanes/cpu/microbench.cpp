#include "lanes/cpu/driver.hpp"
namespace ako::lanes::cpu {
base::Expected<model::SourceText> Driver::microbench(const model::Contract&) const {
  return base::fail(base::ErrorKind::internal, "being written");
}
} // namespace ako::lanes::cpu
