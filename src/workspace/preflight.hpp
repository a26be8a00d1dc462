// The checkout that a harness stands in, looked at before anything rests on it: clean, and exactly
// at the default branch of its upstream. Told apart are all the ways in which it may not be.
//
// Nothing of the user's is reset, cleaned, stashed or checked out. What this may do: clone a
// checkout that is missing, move a clean one forward along its branch, fetch into refs/ako/.
#pragma once

#include "base/error.hpp"
#include "base/fs.hpp"

#include <string>
#include <vector>

namespace ako::workspace {

// clang-format off
//      enumerator         spelling
#define AKO_CHECKOUT_STATES(X)                                                                     \
  X(missing,            "missing")            /* there is nothing of that name                  */ \
  X(not_a_repository,   "not-a-repository")   /* a file, a plain folder, a folder of another    */ \
  X(broken_repository,  "broken-repository")  /* git cannot read it                             */ \
  X(foreign_owner,      "foreign-owner")      /* git refuses it: it is somebody else's          */ \
  X(no_permission,      "no-permission")      /* it may not be read, or not be written          */ \
  X(bare,               "bare")               /* a repository without files                     */ \
  X(unborn,             "unborn")             /* no commit yet                                  */ \
  X(merge,              "merge")              /* in the middle of something:                    */ \
  X(rebase,             "rebase")                                                                  \
  X(apply_mail,         "am")                                                                      \
  X(cherry_pick,        "cherry-pick")                                                             \
  X(revert,             "revert")                                                                  \
  X(bisect,             "bisect")                                                                  \
  X(conflict,           "conflict")           /* unmerged paths                                 */ \
  X(index_locked,       "index-locked")                                                            \
  X(dirty,              "dirty")              /* tracked files were changed, staged or not      */ \
  X(untracked,          "untracked")                                                               \
  X(hidden,             "hidden-changes")     /* files that git was told not to look at         */ \
  X(sparse,             "sparse")             /* not all files are there                        */ \
  X(submodules,         "submodules")         /* missing, moved or changed                      */ \
  X(detached,           "detached")           /* on no branch                                   */ \
  X(no_upstream,        "no-upstream")        /* no remote, or none can be told from others     */ \
  X(other_upstream,     "other-upstream")     /* not the one that the environment names         */ \
  X(no_network,         "no-network")                                                              \
  X(wrong_credentials,  "wrong-credentials")                                                       \
  X(no_such_upstream,   "no-such-upstream")   /* there is no repository                         */ \
  X(empty_upstream,     "empty-upstream")     /* it has no branch, or says of none that it leads */ \
  X(wrong_branch,       "wrong-branch")       /* not the upstream's default one                 */ \
  X(shallow,            "shallow")            /* not enough history to tell behind from diverged */ \
  X(behind,             "behind")                                                                  \
  X(ahead,              "ahead")                                                                   \
  X(diverged,           "diverged")                                                                \
  X(in_the_way,         "in-the-way")         /* could not be moved forward: git says why       */
// clang-format on

enum class CheckoutState {
#define AKO_X(name, text) name,
  AKO_CHECKOUT_STATES(AKO_X)
#undef AKO_X
};
const char* to_string(CheckoutState state);

struct Trouble {
  CheckoutState state = CheckoutState::missing;
  std::string found;  ///< "3 tracked files: a.py, b.py, ..."
  std::string remedy; ///< what its owner can do
};

struct Checkout {
  enum class Done { nothing, cloned, forwarded };

  base::fs::path path, git_dir;
  std::string branch;                   ///< empty = detached
  std::string head;                     ///< commit; empty = none
  std::string remote, url;              ///< the upstream
  std::string default_branch, upstream; ///< its default branch and that one's commit
  int ahead = 0, behind = 0;
  Done done = Done::nothing;
  std::vector<Trouble> troubles;    ///< the first matters most; empty = as it must be
  std::vector<std::string> remarks; ///< lawful and worth a line

  bool whole() const { return troubles.empty(); }
  bool has(CheckoutState state) const;
  /// "dirty: 1 tracked file: a.py; ahead: 2 commits ..."
  std::string text() const;
};

/// Without the network: what can be told from the checkout alone. An Error only where git itself
/// cannot be used.
base::Expected<Checkout> look_at_checkout(const base::fs::path& path);

struct PreflightRequest {
  enum class Mode {
    look, ///< changes nothing but refs/ako/preflight
    bring ///< clones what is missing, forwards what is clean and behind
  };
  base::fs::path checkout;
  std::string upstream_url; ///< AKO4ALL_UPSTREAM_URL; empty = the checkout's own remote
  Mode mode = Mode::bring;
  double network_seconds = 120; ///< for one question; cloning may take ten times that
};

base::Expected<Checkout> preflight(const PreflightRequest& request);

/// Whose words git's words on a failed network call are. Pure.
CheckoutState network_trouble(const std::string& said);

/// The AKO4ALL checkout for work that begins in `dir`: <dir>/AKO4ALL, or that of the nearest folder
/// above; `dir`/AKO4ALL when there is none yet.
base::fs::path find_checkout(const base::fs::path& dir);

} // namespace ako::workspace
