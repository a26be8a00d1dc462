#!/bin/bash
# The whole loop on example tasks, on this machine's device: check, baseline, every recorded step, log, verify, report.
#   bench/gpu/run_examples.sh OUT SECONDS TASK...   with ako on PATH; no step is begun after SECONDS.
# TASK is the name of one of the cuda lane, or LANE/NAME. Leaves OUT/doctor.txt, OUT/NAME.txt and OUT/NAME/ (ledger, texts,
# one JSON reply a step).
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd) end=$((SECONDS + $2))
shift 2
ako doctor >"$out/doctor.txt" 2>&1
step() { # NAME COMMAND...: what it says, how it ended and how long it took
  local name=$1 began=$SECONDS
  shift
  "$@"
  echo "$name: exit $?, $((SECONDS - began)) s"
}
for given in "$@"; do
  task=${given##*/} lane=cuda
  [ "$task" = "$given" ] || lane=${given%%/*}
  work=$(mktemp -d)/$task
  cp -r "$root/examples/$lane/$task" "$work" && rm -rf "$work/record"
  mkdir -p "$out/$task"
  (
    cd "$work" || exit
    git init -q . && git add -A && git -c user.name=ako -c user.email=ako@localhost commit -qm start
    step check ako check --all --verbose
    ako refs read --required --quiet >/dev/null
    step baseline ako baseline
    while IFS='|' read -r folder hypothesis cites; do
      [ $SECONDS -gt $end ] && break
      cp "iterations/$folder"/* solution/
      ako refs read --required --quiet >/dev/null # what this source is built on
      began=$SECONDS
      ako try --json --hypothesis "$hypothesis" --cites "$cites" >"$out/$task/try-$folder.json" </dev/null
      echo "$folder: exit $?, $((SECONDS - began)) s"
    done <steps.txt
    ako log
    ako verify
    ako report
    cp -r ITERATIONS.md report.md report.html .git/ako "$out/$task/"
  ) >"$out/$task.txt" 2>&1
done
