#!/bin/bash
# CUTLASS kernels against the library on this machine's device: the examples' last iterations, judged and measured in pairs.
#   bench/gpu/run_cutlass.sh OUT SECONDS   with ako on PATH and CUTLASS where ako finds it; no step is begun after SECONDS.
# Compiles all sides of all tasks at the same time first. Leaves OUT/cutlass.txt and one JSON reply a comparison.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd) end=$((SECONDS + $2))
work=$(mktemp -d)
E=$root/examples/cutlass

# Eight shapes of the first product of a feed-forward block, and the library's flag: a side has the kernel's flags in a comparison.
gemm=$work/gemm
cp -r "$E/gemm_bias_silu_bf16" "$gemm"
python3 - "$gemm/task.toml" <<'EOF'
import re, sys
path = sys.argv[1]
text = open(path).read()
text = re.sub(r"(?s)\[\[shape\]\].*?(?=\[reference\])", "".join(
    f'[[shape]]\ntag = "m-{m}"\nM = {m}\nweight = 1\n\n' for m in (64, 128, 256, 512, 1024, 2048, 4096, 8192)), text)
text = text.replace('workload = ', 'flags = ["-lcublasLt", "-Xlinker", "-rpath=/usr/local/cuda/lib64"]\nworkload = ')
open(path, "w").write(text)
EOF
cp -r "$E/grouped_gemm_moe_bf16" "$work/grouped"
cp -r "$E/gemm_fp8_blocks" "$work/fp8"
# The Python baseline has its own lane and needs its packages: compared apart.
python3 - "$work/grouped/task.toml" <<'EOF'
import re, sys
path = sys.argv[1]
text = open(path).read()
open(path, "w").write(re.sub(r'(?s)# The library\'s: torch.*?(?=\[tolerance\])', "", text))
EOF
for task in gemm grouped fp8; do
  (cd "$work/$task" && git init -q . && git add -A && git -c user.name=ako -c user.email=ako@localhost commit -qm start)
done

compare() { # TASK OLD NEW NAME LIMIT
  [ $SECONDS -gt $end ] && { echo "### $4: not begun, the time is over"; return; }
  echo "### $4: ako compare $2 $3"
  (cd "$work/$1" && timeout -s INT "$5" ako compare "$2" "$3" --json >"$out/$4.json" 2>"$out/$4.err" </dev/null)
  echo "rc $? at $((SECONDS - begin)) s"
  python3 - "$out/$4.json" <<'EOF'
import json, sys
try:
    reply = json.load(open(sys.argv[1]))
except Exception as error:
    print("no reply:", error)
    sys.exit()
data = reply.get("data") or {}
verdict = data.get("verdict") or {}
print(reply.get("outcome"), (verdict.get("outcome") or {}).get("reason") or reply.get("error") or "")
for shape in verdict.get("shapes", []):
    old, new = shape.get("old_ns"), shape.get("new_ns")
    if old and new:
        print(f"   {shape.get('tag'):16} library {old / 1e3:9.1f} us   cutlass {new / 1e3:9.1f} us   ratio {new / old:.3f}")
EOF
}

begin=$SECONDS
{
  ako doctor 2>&1 | grep -A3 "lane cutlass"
  # One build of every file that will be needed, all at once; the comparisons find them in the cache.
  for side in gemm:input/cublaslt.cu:iterations/3-wide-tile-and-cluster/gemm.cu gemm:input/cublaslt.cu:iterations/5-neighbours-share/gemm.cu \
    gemm:input/cublaslt.cu:iterations/2-visitor-tree/gemm.cu grouped:input/grouped.cu:iterations/2-rows-of-64-in-turn/grouped.cu \
    grouped:input/grouped.cu:iterations/3-pairs-share-weights/grouped.cu grouped:input/grouped.cu:iterations/1-one-launch/grouped.cu \
    fp8:input/wgmma.cu:iterations/1-blockwise-collective/gemm.cu fp8:input/wgmma.cu:iterations/2-in-turn/gemm.cu \
    fp8:input/wgmma.cu:iterations/3-pairs-and-swizzle/gemm.cu; do
    IFS=: read -r task old new <<<"$side"
    (
      copy=$(mktemp -d)/t && cp -r "$work/$task" "$copy" && cp "$copy/$new" "$copy/solution/$(basename "$new")"
      ako -C "$copy" check --build-only >"$out/build-$task-$(basename "$(dirname "$new")").txt" 2>&1
    ) &
  done
  wait
  echo "all sides built at $((SECONDS - begin)) s"
  grep -h "FAILED" "$out"/build-*.txt | cut -c1-400
  compare gemm input/cublaslt.cu iterations/5-neighbours-share/gemm.cu gemm-neighbours 70
  compare grouped input/grouped.cu iterations/2-rows-of-64-in-turn/grouped.cu grouped-rows-of-64 40
  compare fp8 input/wgmma.cu iterations/1-blockwise-collective/gemm.cu fp8-blockwise 40
  compare gemm input/cublaslt.cu iterations/3-wide-tile-and-cluster/gemm.cu gemm-wide 50
  compare grouped iterations/1-one-launch/grouped.cu iterations/3-pairs-share-weights/grouped.cu grouped-pairs 40
} 2>&1 | tee "$out/cutlass.txt"
