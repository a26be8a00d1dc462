// Which files of the contract a role is built from.
#pragma once

#include "lanes/lane.hpp"

namespace ako::lanes::native {

/// Entry, further sources and flags of the request's role.
struct Unit {
  model::EntryRef entry;
  std::vector<std::string> sources, flags;
  std::string prepare, plan;
};

/// A baseline without flags of its own takes the kernel's, when both are of one lane; it has the
/// kernel's prepare and plan where its file defines functions of those names.
base::Expected<Unit> unit_of(const BuildRequest& request);

/// Kind invalid when a file that the unit names is not among the request's sources.
base::Status check_sources(const BuildRequest& request, const Unit& unit);
/// Where the compiler does not list what inline assembly reads, it may read nothing: a file that
/// nobody knows of would change what is built behind the record's back.
base::Status check_assembly(const BuildRequest& request);

bool any_starts(const std::vector<std::string>& flags, std::string_view prefix);

} // namespace ako::lanes::native
