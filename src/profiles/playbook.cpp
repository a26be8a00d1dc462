#include "profiles/playbook.hpp"

#include <algorithm>
#include <array>

namespace ako::profiles {
namespace {

struct Id {
  std::string_view id, kind;
};
constexpr std::array k_ids = {Id{"dram_bandwidth_bound", "memory"},
                              Id{"l2_bandwidth_bound", "memory"},
                              Id{"l1_shared_bandwidth_bound", "memory"},
                              Id{"compute_bound_fp32", "compute"},
                              Id{"compute_bound_fp64", "compute"},
                              Id{"compute_bound_int", "compute"},
                              Id{"compute_bound_sfu", "compute"},
                              Id{"compute_bound_tensor", "compute"},
                              Id{"tensor_cores_idle", "compute"},
                              Id{"uncoalesced_global_access", "memory"},
                              Id{"narrow_accesses", "memory"},
                              Id{"shared_bank_conflicts", "memory"},
                              Id{"register_spills", "memory"},
                              Id{"local_memory_indexing", "memory"},
                              Id{"occupancy_registers", "occupancy"},
                              Id{"occupancy_shared_memory", "occupancy"},
                              Id{"occupancy_block_size", "occupancy"},
                              Id{"small_grid", "launch"},
                              Id{"tail_wave", "launch"},
                              Id{"block_imbalance", "launch"},
                              Id{"memory_latency", "latency"},
                              Id{"barrier_stalls", "synchronisation"},
                              Id{"warp_divergence", "compute"},
                              Id{"atomic_contention", "synchronisation"},
                              Id{"instruction_cache", "latency"},
                              Id{"layout_conversion", "layout"},
                              Id{"launch_overhead", "launch"},
                              Id{"host_gaps", "launch"},
                              Id{"copies_bound", "memory"},
                              Id{"sync_in_steady_state", "synchronisation"}};

struct Play {
  std::string_view id, lane; ///< lane empty: any
  int from, to;              ///< capabilities, both included; 0 = no bound
  std::string_view text, guide;
};

// One move a row: what to change, for whom, and where it is explained.
constexpr std::array k_plays = {
    Play{"dram_bandwidth_bound", "", 0, 0,
         "move fewer bytes: fuse with the neighbour that reads the result, store narrower types, "
         "skip what is masked",
         "memory-access"},
    Play{"dram_bandwidth_bound", "cuda", 80, 0,
         "let data that is read again stay in L2: evict_last on it, evict_first or ld.global.cs on "
         "streams",
         "memory-access"},
    Play{"dram_bandwidth_bound", "triton", 0, 0,
         "fuse the elementwise neighbours into one kernel; set eviction_policy on streamed loads",
         "triton-memory-lean"},
    Play{"l2_bandwidth_bound", "", 0, 0,
         "reuse each line more often once it is on the multiprocessor: larger tiles, data kept in "
         "registers or shared memory",
         "memory-access"},
    Play{"l2_bandwidth_bound", "cuda", 90, 0,
         "load a tile once for a cluster: TMA multicast, or distributed shared memory", "tma"},
    Play{"l2_bandwidth_bound", "triton", 0, 0,
         "order the programs in groups so that neighbours share tiles", "triton-persistent-matmul"},
    Play{"l1_shared_bandwidth_bound", "", 0, 0,
         "raise the work done for each value read: register tiles of 4 x 4 and more",
         "memory-access"},
    Play{"l1_shared_bandwidth_bound", "cuda", 0, 0,
         "read shared memory 16 bytes a thread; exchange inside a warp by shuffles",
         "memory-access"},
    Play{"l1_shared_bandwidth_bound", "cuda", 90, 90,
         "let wgmma read operands from shared memory by itself", "wgmma"},
    Play{"compute_bound_fp32", "", 0, 0,
         "do less arithmetic: hoist, share subexpressions, use fused multiply-adds, lower the "
         "degree",
         "instruction-mix"},
    Play{"compute_bound_fp32", "cuda", 80, 0,
         "if the contract allows it, half2 or bf16x2 arithmetic doubles the rate", "numerics"},
    Play{"compute_bound_fp64", "", 0, 0,
         "check that the contract needs double: a float with compensated sums is often enough",
         "numerics"},
    Play{"compute_bound_fp64", "cuda", 80, 90,
         "matrix products in double run on the tensor cores (DMMA)", "numerics"},
    Play{"compute_bound_int", "", 0, 0,
         "cheapen the address arithmetic: 32-bit indices, strength-reduced strides, shifts for "
         "divisions by constants",
         "instruction-mix"},
    Play{"compute_bound_int", "cuda", 0, 0,
         "LOP3 and PRMT do several bit operations at once: look for chains in the SASS",
         "sass-and-ptx"},
    Play{"compute_bound_sfu", "", 0, 0,
         "fewer special functions: exp2 with a folded scale, one reciprocal for several divisions",
         "instruction-mix"},
    Play{"compute_bound_sfu", "cuda", 0, 0,
         "compute part of the exponentials by a polynomial on the FMA pipe", "attention"},
    Play{"compute_bound_tensor", "", 0, 0,
         "only a narrower type or less work makes it faster: fp8, sparsity, skipped tiles",
         "numerics"},
    Play{"compute_bound_tensor", "cuda", 90, 90,
         "mma.sync reaches about 60 % of the chip: use wgmma with TMA and a producer warp",
         "wgmma"},
    Play{"compute_bound_tensor", "cutlass", 90, 90,
         "warp-specialised cooperative or ping-pong schedule, 128 x 256 x 64, clusters of 2",
         "cutlass-schedules"},
    Play{"compute_bound_tensor", "cuda", 100, 103,
         "tcgen05 with accumulators in tensor memory, two blocks a tile", "tcgen05"},
    Play{"compute_bound_tensor", "triton", 0, 0,
         "persistent programs, larger tiles, more stages; check that the epilogue overlaps",
         "triton-persistent-matmul"},
    Play{"tensor_cores_idle", "", 0, 0,
         "call it a matrix product: the library's fp16, bf16 or tf32 path is the baseline to beat",
         "choosing-a-lane"},
    Play{"tensor_cores_idle", "cuda", 80, 89, "mma.sync on tiles loaded by cp.async and ldmatrix",
         "async-copy"},
    Play{"tensor_cores_idle", "cuda", 90, 90, "wgmma on tiles loaded by TMA", "wgmma"},
    Play{"tensor_cores_idle", "cuda", 100, 103, "tcgen05.mma on tiles loaded by TMA", "tcgen05"},
    Play{"tensor_cores_idle", "triton", 0, 0,
         "tl.dot with input_precision tf32 or 16-bit operands; bf16x3 where single precision is "
         "needed",
         "numerics"},
    Play{"tensor_cores_idle", "cutlass", 0, 0,
         "a collective with the tensor-core atom of the architecture instead of a SIMT one",
         "cutlass-collectives"},
    Play{"uncoalesced_global_access", "", 0, 0,
         "let neighbouring threads touch neighbouring addresses: swap the loops, or turn arrays of "
         "structures inside out",
         "memory-access"},
    Play{"uncoalesced_global_access", "cuda", 0, 0,
         "read a tile row by row into shared memory and pick from there", "memory-access"},
    Play{"uncoalesced_global_access", "cuda", 90, 0,
         "let TMA fetch the box: it coalesces by itself", "tma"},
    Play{"uncoalesced_global_access", "triton", 0, 0,
         "make the fastest axis of the block the contiguous one; sort or bucket random indices "
         "first",
         "triton-programs"},
    Play{"narrow_accesses", "", 0, 0,
         "load and store 16 bytes a thread: several elements each, with a scalar tail",
         "memory-access"},
    Play{"narrow_accesses", "cuda", 0, 0,
         "uint4 through an aligned pointer; check for LDG.E.128 in the SASS", "memory-access"},
    Play{"narrow_accesses", "triton", 0, 0,
         "tell the compiler what is aligned and contiguous (multiple_of, max_contiguous), enlarge "
         "the block",
         "triton-programs"},
    Play{"shared_bank_conflicts", "", 0, 0,
         "spread a column over the banks: pad each row by one access width, or swizzle",
         "shared-memory"},
    Play{"shared_bank_conflicts", "cuda", 80, 0,
         "ldmatrix and the 128-byte swizzle of TMA are free of conflicts together",
         "shared-memory"},
    Play{"shared_bank_conflicts", "cutlass", 0, 0, "a Swizzle<3,4,3> layout for 128-byte rows",
         "cute-layouts"},
    Play{"register_spills", "", 0, 0,
         "need fewer registers at once: smaller tile a thread, shorter live ranges, fewer unrolled "
         "copies",
         "build-flags"},
    Play{"register_spills", "cuda", 0, 0,
         "raise the bound: __launch_bounds__ with fewer blocks, a larger maxrregcount",
         "build-flags"},
    Play{"register_spills", "cuda", 90, 0,
         "setmaxnreg moves registers from producer to consumer warps", "warp-specialisation"},
    Play{"register_spills", "triton", 0, 0, "more warps for the same tile, or a smaller tile",
         "triton-programs"},
    Play{"local_memory_indexing", "", 0, 0,
         "index arrays of registers by constants only: unroll fully, or select with predicates",
         "build-flags"},
    Play{"local_memory_indexing", "cuda", 0, 0,
         "keep an array that must be indexed in shared memory, one column a thread",
         "shared-memory"},
    Play{"occupancy_registers", "", 0, 0,
         "either fewer registers a thread or more loads in flight for each thread", "occupancy"},
    Play{"occupancy_registers", "cuda", 0, 0,
         "__launch_bounds__(threads, blocks) to the next step of the occupancy table, if nothing "
         "spills",
         "occupancy"},
    Play{"occupancy_registers", "triton", 0, 0, "a smaller block or more warps", "triton-programs"},
    Play{"occupancy_shared_memory", "", 0, 0,
         "less shared memory a block: smaller tiles, fewer stages, narrower staging types",
         "occupancy"},
    Play{"occupancy_shared_memory", "cuda", 80, 0,
         "keep the tile and fetch ahead instead: cp.async or TMA in stages needs few warps",
         "async-copy"},
    Play{"occupancy_shared_memory", "triton", 0, 0, "lower num_stages or the block's K",
         "triton-programs"},
    Play{"occupancy_block_size", "", 0, 0, "blocks of 128 to 512 threads, a multiple of 32",
         "occupancy"},
    Play{"occupancy_block_size", "triton", 0, 0, "num_warps 4 or 8 with several rows a program",
         "triton-programs"},
    Play{"small_grid", "", 0, 0,
         "cut the work into more blocks: split the reduction or the K axis, one block for each "
         "tile of a batch",
         "persistent-kernels"},
    Play{"small_grid", "cutlass", 0, 0, "stream-K or split-K scheduler", "cutlass-schedules"},
    Play{"small_grid", "triton", 0, 0, "split K with a second small reduction, smaller tiles",
         "triton-persistent-matmul"},
    Play{"tail_wave", "", 0, 0,
         "choose the tile so that the blocks fill whole waves, or smaller blocks",
         "persistent-kernels"},
    Play{"tail_wave", "cuda", 0, 0,
         "a persistent grid with one block a slot and the work dealt out evenly",
         "persistent-kernels"},
    Play{"tail_wave", "cutlass", 0, 0, "stream-K", "cutlass-schedules"},
    Play{"block_imbalance", "", 0, 0,
         "deal the work out by size: longest first, or fetch tiles from an atomic counter",
         "persistent-kernels"},
    Play{"block_imbalance", "triton", 0, 0,
         "a persistent kernel whose programs take tiles in turn; for causal work pair a long tile "
         "with a short one",
         "triton-persistent-matmul"},
    Play{"memory_latency", "", 0, 0,
         "more independent loads in flight: unroll, load all before the first use, 16 bytes each",
         "memory-access"},
    Play{"memory_latency", "cuda", 80, 0,
         "fetch the next tile while this one is used: cp.async, from sm_90 bulk copies on an "
         "mbarrier",
         "async-copy"},
    Play{"memory_latency", "", 0, 0,
         "break the chain of dependent loads: store indices beside the data, walk several chains "
         "at once",
         "memory-access"},
    Play{"memory_latency", "triton", 0, 0, "num_stages 3 or more on the loop, larger blocks",
         "triton-programs"},
    Play{"barrier_stalls", "", 0, 0,
         "fewer or narrower barriers: reduce by shuffles inside a warp, double-buffer, smaller "
         "blocks",
         "reductions"},
    Play{"barrier_stalls", "cuda", 80, 0,
         "split arrive and wait (mbarrier), so that work stands between", "mbarrier-pipelines"},
    Play{"warp_divergence", "", 0, 0,
         "make the lanes of a warp do alike: sort or bin by case, branch-free selection",
         "instruction-mix"},
    Play{"warp_divergence", "cuda", 0, 0,
         "give a warp one item of varying length instead of a lane", "reductions"},
    Play{"atomic_contention", "", 0, 0,
         "reduce before the atomic: in the warp by shuffles, in the block by shared memory, then "
         "one atomic a block",
         "atomics"},
    Play{"atomic_contention", "", 0, 0,
         "spread one hot address over private copies and add them at the end", "atomics"},
    Play{"instruction_cache", "", 0, 0,
         "shorter code: unroll less, split rare paths off, keep warps on one path", "build-flags"},
    Play{"layout_conversion", "", 0, 0,
         "let the producer write or the consumer read the layout that is wanted: the pass "
         "disappears",
         "layouts"},
    Play{"layout_conversion", "cuda", 0, 0,
         "if it must stay: 16-byte accesses on both sides through a swizzled tile",
         "shared-memory"},
    Play{"launch_overhead", "", 0, 0, "capture the steady state in a CUDA graph", "graphs"},
    Play{"launch_overhead", "", 0, 0, "fuse the small neighbours", "graphs"},
    Play{"launch_overhead", "cuda", 90, 0,
         "programmatic dependent launch overlaps the next kernel's start", "graphs"},
    Play{"host_gaps", "", 0, 0,
         "find what the host does in the gap: allocation, Python, input; move it off the path or "
         "ahead",
         "timelines"},
    Play{"copies_bound", "", 0, 0,
         "pinned memory and a copy stream of its own; keep data on the device", "timelines"},
    Play{"sync_in_steady_state", "", 0, 0,
         "take synchronising calls out of the loop: item(), blocking copies, cudaFree, stream "
         "synchronisation",
         "timelines"}};

bool holds(const Play& play, int capability) {
  if (play.from && (capability == 0 || capability < play.from)) return false;
  return !play.to || capability <= play.to;
}

} // namespace

std::string_view kind_of(std::string_view id) {
  for (const Id& one : k_ids)
    if (one.id == id) return one.kind;
  return {};
}

std::vector<std::string_view> finding_ids() {
  std::vector<std::string_view> all;
  for (const Id& one : k_ids) all.push_back(one.id);
  return all;
}

std::vector<model::Move> moves_for(std::string_view id, int capability, std::string_view lane) {
  std::vector<model::Move> general, own;
  for (const Play& play : k_plays) {
    if (play.id != id || !holds(play, capability)) continue;
    if (!lane.empty() && !play.lane.empty() && play.lane != lane) continue;
    (play.lane.empty() ? general : own)
        .push_back({std::string(play.text), std::string(play.lane), std::string(play.guide)});
  }
  if (lane.empty()) std::swap(general, own);
  own.insert(own.end(), general.begin(), general.end());
  return own;
}

} // namespace ako::profiles
