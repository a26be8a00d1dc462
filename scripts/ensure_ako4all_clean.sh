#!/usr/bin/env bash
# Is <base-dir>/AKO4ALL clean and exactly at its upstream's default branch? Clones it when it is missing
# (AKO4ALL_UPSTREAM_URL), moves it forward when it is clean and behind, and stops with the reason otherwise.
#   scripts/ensure_ako4all_clean.sh [base-dir]
# The work is done by `ako preflight`: $AKO, else ako in PATH, else a build of this repository.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
ako=${AKO:-$(command -v ako || true)}
for build in release ci dev; do
  [ -n "$ako" ] || [ ! -x "$root/build/$build/bin/ako" ] || ako=$root/build/$build/bin/ako
done
if [ -z "$ako" ]; then
  echo "ensure_ako4all_clean: ako was not found; build it (scripts/demo) or set AKO to the program" >&2
  exit 3
fi
exec "$ako" preflight "$@"
