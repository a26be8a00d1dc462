#!/bin/bash
# The triton lane on this machine's device, part by part, each with its own limit in seconds:
#   bench/triton/run.sh OUT PART[:SECONDS]...     with ako, nvcc and a Python with torch and Triton on PATH
# PART: doctor interpret native verdict calibrate library loop=TASK (of examples/triton). Leaves OUT/PART/..., OUT/log.txt.
# bench/triton/figures.py OUT prints the figures.
set -u
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
exec >>"$out/log.txt" 2>&1

fresh_task() { # a copy that is a repository of its own
  local work; work=$(mktemp -d)/${1##*/}
  cp -r "$1" "$work" && rm -rf "$work/record" && cd "$work" || exit 1
  git init -q . && git add -A && git -c user.name=ako -c user.email=ako@localhost commit -qm start
}
part_doctor() { ako doctor; python3 -c 'import torch, triton, numpy; print(torch.__version__, triton.__version__, numpy.__version__)'; }
part_interpret() {
  for task in rmsnorm_residual_bf16 softmax_rows; do
    (fresh_task "$root/examples/triton/$task" && ako check --interpret)
  done
}
part_native() { bash "$root/bench/gpu/triton_native/run.sh" "$1"; cat "$1"/*.txt; }
part_verdict() { # an edit that gains is saved; nothing of it was built or compiled before
  for run in 1 2 3; do
    local work; work=$(mktemp -d)/task
    python3 -B "$here/verdict_task.py" "$work" && cd "$work" || exit 1
    git init -q . && git add -A && git -c user.name=ako -c user.email=ako@localhost commit -qm start
    sed -i "1s/.*/\"\"\"RMSNorm over rows of 4096 bfloat16, saved for the $run. time.\"\"\"/" solution/rmsnorm.py
    began=$(date +%s.%N)
    ako try --json --hypothesis "rows are read once" --waive "timing the way to a verdict" >"$1/try-$run.json" </dev/null
    echo "run $run: exit $?, $(echo "$(date +%s.%N) $began" | awk '{printf "%.2f", $1 - $2}') s" | tee -a "$1/wall.txt"
  done
  ako show 1
}
part_calibrate() { ako calibrate --device 0 --json >"$1/calibrate.json"; }
part_library() { python3 -B "$here/library.py" ${LIBRARY:-} >"$1/library.txt" 2>&1; cat "$1/library.txt"; } # LIBRARY: words of library.py
part_loop() { bash "$root/bench/gpu/run_examples.sh" "$1" $(($3 - 40)) "triton/$2"; cat "$1"/*.txt; }

export -f fresh_task part_doctor part_interpret part_native part_verdict part_calibrate part_library part_loop
export here root
for given in "$@"; do
  part=${given%%:*} limit=120
  [ "$part" = "$given" ] || limit=${given##*:}
  name=${part%%=*} word=${part#*=}
  mkdir -p "$out/$part"
  echo "=== $part (at most $limit s), $(date +%T)"
  began=$SECONDS
  timeout -k 10 "$limit" bash -c "part_$name \"\$1\" \"\$2\" \"\$3\"" _ "$out/$part" "$word" "$limit" </dev/null
  echo "=== $part: exit $?, $((SECONDS - began)) s"
done
