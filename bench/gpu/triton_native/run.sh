#!/bin/bash
# bench/gpu/triton_native/run.sh OUT: see README.md beside this file.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$here" && python3 -B usual.py >"$out/usual.txt" 2>&1
for cache in warm cold; do
  work=$(mktemp -d)/task
  python3 -B make.py "$work" $cache || exit 1
  (
    cd "$work" && git init -q . && git add -A && git -c user.name=ako -c user.email=ako@localhost commit -qm start
    ako try --json --hypothesis "the same machine code, launched from C++" --waive "both are one kernel" >"$out/$cache.json" 2>"$out/$cache.err" </dev/null
    ako show 1 >"$out/$cache.txt" 2>&1
  )
done
