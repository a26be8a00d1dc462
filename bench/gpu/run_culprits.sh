#!/bin/bash
# The culprits of the cuda lane and their honest twins through the whole judge, on this machine's first visible device.
#   bench/gpu/run_culprits.sh OUT [SECONDS]   with test_culprits_judged_cuda, ako-child and nvcc on PATH
# Leaves OUT/culprits.txt: every outcome, and last the score. No file is judged after SECONDS (default 600).
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
program=$(command -v test_culprits_judged_cuda) || { echo "test_culprits_judged_cuda is not on PATH" >&2; exit 2; }
export AKO_CULPRITS=${AKO_CULPRITS:-$root/tests/culprits} AKO_CHILD=${AKO_CHILD:-$(command -v ako-child)}
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$(mktemp -d)}
{
  echo "# $(date -u +%FT%TZ) bench/gpu/run_culprits.sh"
  nvidia-smi --query-gpu=name,uuid,driver_version,clocks.sm,power.limit --format=csv,noheader
  nvcc --version | tail -2
  AKO_CULPRITS_SECONDS=${2:-600} "$program" --gtest_brief=1
  echo "exit $?"
} 2>&1 | tee "$out/culprits.txt"
grep -c '^WRONG' "$out/culprits.txt" | sed 's/$/ not as their first comments say/'
grep -E '^(culprits caught|exit)' "$out/culprits.txt"
