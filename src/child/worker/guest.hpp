// What an interpreter brings when it is the worker: answers to questions, and functions to call.
#pragma once

#include "protocol/server.hpp"
#include "worker/guest_abi.h"
#include "worker/library.hpp"

#include <string>
#include <vector>

namespace ako::worker {

class Guest {
public:
  /// Fields beyond what the guest's struct holds stay empty.
  explicit Guest(const ako_guest& table);
  bool complete() const { return m_table.ask && m_table.call; }

  /// The guest's answer; its refusal; or kind "environment" for what is neither.
  protocol::Outcome<base::Json> ask(const char* verb, const base::Json& request) const;
  /// Loads the sealed file; `facts` is what the guest said about it.
  protocol::Outcome<Library> load(const SealedFile& file, const base::Json& order,
                                  base::Json& facts) const;
  /// State of the interpreter that a command left changed and that was put back.
  std::vector<std::string> restore() const;
  /// What was compiled since; an empty object when nothing was.
  base::Json report() const;
  /// Why the last call returned AKO_GUEST_RAISED.
  protocol::Refusal explain() const;

private:
  ako_guest m_table{};
};

} // namespace ako::worker
