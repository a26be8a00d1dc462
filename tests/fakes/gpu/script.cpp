#include "fakes/gpu/script.hpp"

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>

namespace ako::fakes {
namespace {

/// "keeper", "worker", "devices", or the test program's own: "test".
std::string role_of_this_process() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string program, role;
  std::getline(file, program, '\0');
  std::getline(file, role, '\0');
  return program.find("ako-child") == std::string::npos ? "test" : role;
}

std::mutex g_mutex;

} // namespace

Script& Script::of_this_process() {
  static Script script;
  return script;
}

Script::Script() {
  const char* folder = std::getenv("AKO_GPU_PATH");
  if (!folder) return;
  const auto role = role_of_this_process();
  std::ifstream file(std::string(folder) + "/script");
  for (std::string line; std::getline(file, line);) read_line(line, role);
}

void Script::read_line(const std::string& line, const std::string& role) {
  std::istringstream words(line);
  std::string verb, who;
  words >> verb;
  const auto mine = [&] {
    words >> who;
    return who == role || who == "any";
  };
  if (verb == "fail" && mine()) {
    Failure failure;
    words >> failure.symbol >> failure.at >> failure.code;
    m_failures.push_back(failure);
  } else if (verb == "duration") {
    std::string kernel;
    words >> kernel;
    for (std::uint64_t ns = 0; words >> ns;) m_durations[kernel].push_back(ns);
  } else if (verb == "nvml") {
    std::string key;
    double value = 0;
    words >> key >> value;
    m_nvml[key] = value;
  } else if (verb == "devices") {
    words >> m_devices;
  } else if (verb == "attribute") {
    int id = 0, value = 0;
    words >> id >> value;
    m_attributes[id] = value;
  } else if (verb == "elsewhere" && mine()) {
    m_elsewhere = true;
  } else if (verb == "hand" && mine()) {
    words >> m_in_hand;
  } else if (verb == "reserves" && mine()) {
    words >> m_most_reserved;
  } else if (verb == "no" && mine()) {
    m_gate = false;
  }
}

int Script::failure(const char* symbol) {
  const std::lock_guard lock(g_mutex);
  if (m_stuck) return m_stuck;
  const int call = ++m_calls[symbol], all = ++m_calls["*"];
  for (const auto& failure : m_failures) {
    const bool hit = (failure.symbol == symbol && failure.at == call) ||
                     (failure.symbol == "*" && failure.at == all);
    if (!hit) continue;
    if (failure.code >= 700 && failure.code < 800) m_stuck = failure.code;
    return failure.code;
  }
  return 0;
}

std::uint64_t Script::duration_ns(const std::string& kernel, std::uint64_t otherwise) {
  const auto at = m_durations.find(kernel);
  if (at == m_durations.end() || at->second.empty()) return otherwise;
  return at->second[m_turns[kernel]++ % at->second.size()];
}

double Script::nvml(const std::string& key, double otherwise) const {
  const auto at = m_nvml.find(key);
  return at == m_nvml.end() ? otherwise : at->second;
}

int Script::attribute(int id, int otherwise) const {
  const auto at = m_attributes.find(id);
  return at == m_attributes.end() ? otherwise : at->second;
}

} // namespace ako::fakes
