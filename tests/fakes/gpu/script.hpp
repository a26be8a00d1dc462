// What the scripted driver is told to do: a text file beside the library, read once a process.
//   fail ROLE SYMBOL N CODE        the N-th call of SYMBOL (from 1) in that role (keeper, worker,
//   or
//                                  any) returns CODE; codes from 700 on stick, as a lost context
//                                  does
//   duration KERNEL NS...          how long runs of a kernel take, in turn; as recorded on a device
//   nvml KEY VALUE                 sm_mhz, reasons, processes, temperature_c, power_w
//   devices N                      how many there are (default 1)
//   attribute ID VALUE             of every device
//   reserves ROLE BYTES            no more addresses than these can be reserved at a time
//   elsewhere ROLE                 reserved addresses are not those that were asked for
//   hand ROLE BYTES                reservations up to this size come from what the driver has in
//                                  hand, whatever address is asked for
//   no ROLE WHAT                   WHAT = gate: stream memory operations are not supported
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ako::fakes {

class Script {
public:
  static Script& of_this_process();
  /// Counts the call; the result that it must return, 0 = go on.
  int failure(const char* symbol);
  std::uint64_t duration_ns(const std::string& kernel, std::uint64_t otherwise);
  double nvml(const std::string& key, double otherwise) const;
  int attribute(int id, int otherwise) const;
  int devices() const { return m_devices; }
  bool reserves_elsewhere() const { return m_elsewhere; }
  std::size_t in_hand() const { return m_in_hand; }
  std::size_t most_reserved() const { return m_most_reserved; } ///< bytes of addresses at a time
  bool has_gate() const { return m_gate; }

private:
  Script();
  void read_line(const std::string& line, const std::string& role);
  struct Failure {
    std::string symbol;
    int at = 0, code = 0;
  };
  std::vector<Failure> m_failures;
  std::map<std::string, int> m_calls;
  std::map<std::string, std::vector<std::uint64_t>> m_durations;
  std::map<std::string, std::size_t> m_turns;
  std::map<std::string, double> m_nvml;
  std::map<int, int> m_attributes;
  int m_devices = 1, m_stuck = 0;
  std::size_t m_in_hand = 0;
  std::size_t m_most_reserved = SIZE_MAX;
  bool m_elsewhere = false, m_gate = true;
};

} // namespace ako::fakes
