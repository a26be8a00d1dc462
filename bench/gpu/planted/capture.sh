#!/usr/bin/env bash
# capture.sh BIN OUT: profiles every plant of this folder and packs what comes out.
#
# BIN holds the programs `planted` and `faults` (made when missing: nvcc for sm_90a). Writes OUT/captures.tar.gz with
#   <set>.raw.csv <set>.details.csv   base units, one row or block for each kernel, in launch order
#   <set>/<launch>.raw.csv ...        the same kernels one by one, units as ncu scales them
#   <set>.log                         the program's own prints: the order of the launches
#   sanitizer_*.txt sass_*.txt source_*.csv trace.json.gz environment.txt
# Clocks are left alone (--clock-control none); caches are flushed before each replay (--cache-control all).
set -u
bin=$1 out=$2 here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
stage=$work/captures
mkdir -p "$stage" "$bin" "$out"
ncu=${NCU:-ncu}
sections=(--set detailed --section SchedulerStats --section WarpStateStats --section SourceCounters
          --section InstructionStats --section MemoryWorkloadAnalysis_Tables)
started=$(date +%s)
say() { echo "[$(($(date +%s) - started)) s] $*"; }

if ! "$bin/planted" --list >/dev/null 2>&1; then
  say "building"
  for f in planted_main plants_memory plants_compute plants_latency plants_control; do
    nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a -lineinfo -O3 -c "$here/$f.cu" -o "$work/$f.o" &
  done
  wait
  nvcc -gencode=arch=compute_90a,code=sm_90a "$work"/*.o -o "$bin/planted"
  nvcc -gencode=arch=compute_90a,code=sm_90a -lineinfo "$here/faults.cu" -o "$bin/faults"
fi
chmod +x "$bin"/*

{ nvidia-smi -q | grep -E 'Product Name|Driver Version|CUDA Version|Graphics  |SM  |Memory  |Power Limit|Max Clocks|ECC Mode|Current  ' | head -60
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,power.limit,temperature.gpu --format=csv
  nvcc --version | tail -2; $ncu --version | tail -2; uname -r; python3 -c 'import torch, triton; print(torch.__version__, triton.__version__)'
  echo "ncu --clock-control none --cache-control all --profile-from-start off ${sections[*]} --import-source no"
} >"$stage/environment.txt" 2>&1

profile() { # profile SET COMMAND...: one report, several kernels
  local set=$1; shift
  timeout 200 "$ncu" --config-file off --clock-control none --cache-control all --profile-from-start off --nvtx "${sections[@]}" \
    -f -o "$work/$set" "$@" >"$stage/$set.log" 2>&1
  say "$set profiled, exit $?, $(grep -c ^launched "$stage/$set.log") launched"
}

export_set() { # export_set SET: needs no device
  local set=$1 i count
  "$ncu" --config-file off --import "$work/$set.ncu-rep" --csv --page raw --print-units base >"$stage/$set.raw.csv" 2>"$stage/$set.raw.err"
  "$ncu" --config-file off --import "$work/$set.ncu-rep" --csv --page details --print-units base >"$stage/$set.details.csv" 2>"$stage/$set.details.err"
  count=$(($(wc -l <"$stage/$set.raw.csv") - 2))
  mkdir -p "$stage/$set"
  "$ncu" --config-file off --import "$work/$set.ncu-rep" --csv --page raw --launch-skip 1 --launch-count 1 >"$stage/$set/probe.csv" 2>&1
  (($(wc -l <"$stage/$set/probe.csv") == 3)) || return 0 # this ncu does not filter an imported report
  for ((i = 0; i < count; ++i)); do
    (
      "$ncu" --config-file off --import "$work/$set.ncu-rep" --csv --page raw --launch-skip $i --launch-count 1 >"$stage/$set/$i.raw.csv" 2>&1
      "$ncu" --config-file off --import "$work/$set.ncu-rep" --csv --page details --launch-skip $i --launch-count 1 >"$stage/$set/$i.details.csv" 2>&1
    ) &
    while (($(jobs -rp | wc -l) >= 14)); do wait -n; done
  done
  wait
}

memory=$("$bin/planted" --list | awk 'NR <= 24 {print $1}')
rest=$("$bin/planted" --list | awk 'NR > 24 {print $1}')
profile cuda_one "$bin/planted" $memory
export_set cuda_one &
profile cuda_two "$bin/planted" $rest
export_set cuda_two &
profile python python3 "$here/plants_python.py"
export_set python &

say "sanitizer"
for tool in memcheck:oob racecheck:race initcheck:uninitialised memcheck:race; do
  timeout 40 compute-sanitizer --tool "${tool%%:*}" "$bin/faults" "${tool##*:}" >"$stage/sanitizer_${tool%%:*}_${tool##*:}.txt" 2>&1
done
say "trace"
timeout 60 python3 "$here/plants_python.py" --trace "$stage/trace.json.gz" >"$stage/trace.log" 2>&1
for f in stream_copy spilled_gemm mma_loop wgmma_loop gemm_tile16 shared_reader local_sort; do
  cuobjdump --dump-sass "$bin/planted" 2>/dev/null | awk -v f="$f" '/Function :/ {on = index($0, f)} on' | head -4000 >"$stage/sass_$f.txt" &
done
cuobjdump -res-usage "$bin/planted" >"$stage/resource_usage.txt" 2>&1
wait
"$ncu" --config-file off --import "$work/cuda_two.ncu-rep" --csv --page source --print-source sass --launch-count 2 >"$stage/source_two.csv" 2>&1
say "packing"
(cd "$stage" && find . -type f -size +6M -printf '%p %s\n')
tar -C "$work" -czf "$out/captures.tar.gz" captures
cp "$work"/*.ncu-rep "$out/" 2>/dev/null
ls -la "$out" "$work"/*.ncu-rep
rm -rf "$work"
say "done"
