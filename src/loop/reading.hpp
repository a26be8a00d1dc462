// What an open task requires to be read, and what its record says about that.
#pragma once

#include "guides/reading.hpp"
#include "loop/session.hpp"

namespace ako::loop {

/// The library stands behind the items: keep both together.
struct Reading {
  guides::Library library;
  guides::Routing routing;
  guides::FamilyGuess family;
  std::string lane, claim;
  std::vector<std::string> architectures; ///< empty: none named and no device at hand
  std::vector<guides::ReadItem> items;    ///< required, in order
  std::vector<guides::Receipt> receipts;  ///< all on record, in order
};

/// `claim`: "iteration", "port" or "report". Kind environment when the guides are not found.
base::Expected<Reading> reading_of(const Session& session, const std::string& claim = "iteration");

/// Puts on record that these guides were shown, as they are now.
base::Status record_reading(const Session& session, const std::vector<const guides::Guide*>& shown);

/// The facts of the reading gates: names of what is unread, for an iteration and for a port.
struct Unread {
  std::vector<std::string> iteration, port; ///< "loop", "tma (changed since it was read)"
  std::string trouble;                      ///< why it is not known; empty = it is
};
Unread unread_of(const Session& session);

/// What the hypothesis of a step rests on, checked for existence; see guides::citations.
base::Expected<std::vector<std::string>>
cited_by(const std::string& hypothesis, const std::string& cites, std::int64_t iterations);

} // namespace ako::loop
