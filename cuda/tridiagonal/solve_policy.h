// Tuning table of tridiagonal.solve: which algorithm and packing depth for a size, type and batch. Plain C++, found by
// `npm run tune`; kernels contain no tuning constants of their own.
#pragma once
#include <cstdint>

#include "cuda/tridiagonal/solve.h"
#include "cuda/tridiagonal/partition/partition_policy.h"
#include "cuda/tridiagonal/regpack/span_policy.h"

namespace warploom::tridiagonal {

/// One line: systems of up to `rows` unknowns use `depth` rows per thread.
struct DepthRule {
  int64_t rows;
  int depth;
};

/// How a batch's rows reach the registers.
enum class Access {
  direct,       ///< equal, aligned systems, as vectors
  interleaved,  ///< lines of neighbouring systems
  staged,       ///< anything else, through shared memory
};

/// Batches that fill the device: few threads per system, much work in registers.
inline constexpr DepthRule kThroughput4[] = {{16, 4}, {32, 8}, {INT64_MAX, 16}};
inline constexpr DepthRule kThroughput8[] = {{16, 4}, {32, 8}, {INT64_MAX, 16}};
inline constexpr DepthRule kThroughput16[] = {{16, 4}, {INT64_MAX, 8}};
/// Small batches: more threads per system, a shorter path to the answer.
inline constexpr DepthRule kLatency4[] = {{64, 4}, {512, 8}, {INT64_MAX, 16}};
inline constexpr DepthRule kLatency8[] = {{64, 4}, {512, 8}, {INT64_MAX, 16}};
inline constexpr DepthRule kLatency16[] = {{64, 4}, {INT64_MAX, 8}};
/// Rows read as vectors: as few per lane as fill a sector, as long as one block has enough lanes.
inline constexpr DepthRule kDirectThroughput4[] = {{16, 4}, {1024, 8}, {INT64_MAX, 16}};
inline constexpr DepthRule kDirectThroughput8[] = {{64, 4}, {512, 8}, {INT64_MAX, 16}};
inline constexpr DepthRule kDirectLatency4[] = {{64, 4}, {1024, 8}, {INT64_MAX, 16}};
inline constexpr DepthRule kDirectLatency8[] = {{512, 4}, {INT64_MAX, 16}};
/// Interleaved systems: at most as many lanes as one warp has.
inline constexpr DepthRule kInterleaved4[] = {{32, 4}, {256, 8}, {INT64_MAX, 16}};
inline constexpr DepthRule kInterleaved8[] = {{32, 4}, {256, 8}, {INT64_MAX, 16}};
inline constexpr DepthRule kInterleaved16[] = {{64, 4}, {INT64_MAX, 8}};

/// One row of `npm run tune -- --table`: on devices of this compute capability, systems of more than half of `rows`
/// and up to `rows` unknowns.
struct TunedDepth {
  int compute_capability;
  int element_bytes;
  int64_t rows;
  int depth;
};
inline constexpr TunedDepth kTunedDepths[] = {
#include "cuda/tridiagonal/solve_policy_table.inc"
    {0, 0, 0, 0},  // ends the table
};

/// The depth from a table that ends with zeros; 0 if it has none.
inline int tuned_depth(const TunedDepth* table, int compute_capability, int element_bytes, int64_t n) {
  for (const TunedDepth* row = table; row->depth != 0; ++row) {
    const bool same = row->compute_capability == compute_capability && row->element_bytes == element_bytes;
    if (same && n <= row->rows && n > row->rows / 2) return row->depth;
  }
  return 0;
}

/// Consecutive tiles that a worker solves before its block ends, if several blocks share a multiprocessor. Two overlap
/// copies with arithmetic. With more, the blocks drift apart and DRAM accesses lose locality (measured on an H200: 96 %
/// of the floor with 2, 93 % with 4, 91 % with 8 and with endless workers).
inline constexpr int kTilesPerWorker = 2;

/// Whether a batch does not fill the device; then its time is one chain of latencies.
inline bool is_small(int64_t n, int64_t problems, int multiprocessors) {
  return problems * n < int64_t{multiprocessors} * 8192;
}

/// Packing depth for systems of n unknowns of `element_bytes` bytes.
inline int regpack_depth(Access access, int element_bytes, int64_t n, int64_t problems, int multiprocessors,
                         int compute_capability) {
  const bool latency = is_small(n, problems, multiprocessors);
  if (access == Access::direct && !latency) {  // the case that the search measures
    const int tuned = tuned_depth(kTunedDepths, compute_capability, element_bytes, n);
    if (tuned != 0) return tuned;
  }
  const auto by_size = [=](const DepthRule* of4, const DepthRule* of8, const DepthRule* of16) {
    return element_bytes == 4 ? of4 : element_bytes == 8 ? of8 : of16;
  };
  const DepthRule* rule = latency ? by_size(kLatency4, kLatency8, kLatency16)
                                  : by_size(kThroughput4, kThroughput8, kThroughput16);
  if (access == Access::interleaved) rule = by_size(kInterleaved4, kInterleaved8, kInterleaved16);
  if (access == Access::direct) {
    rule = latency ? by_size(kDirectLatency4, kDirectLatency8, kLatency16)
                   : by_size(kDirectThroughput4, kDirectThroughput8, kThroughput16);
  }
  while (n > rule->rows) ++rule;
  return rule->depth;
}

/// Instructions of the stages across lanes and across warps, in units of a row's instructions (float32: 1,000 with 16
/// rows per lane, 500 with 8).
inline constexpr int kLaneRows = 5, kWarpRows = 2;
/// Share of its lanes that an even depth must fill to be kept when it moves rows by chunks.
inline constexpr double kFilled = 0.9;

/// Lanes per system at a depth: a power of two within a warp, or whole warps.
inline int64_t lanes_of(int64_t n, int depth) {
  const int64_t lanes = (n + depth - 1) / depth;
  int64_t width = 1;
  while (width < lanes && width < 32) width *= 2;
  return lanes <= 32 ? width : (lanes + 31) / 32 * 32;
}

/// The odd depth with the least work; `otherwise` if no block holds the system.
inline int least_span_depth(int element_bytes, int64_t n, int otherwise) {
  int best = otherwise;
  int64_t least = INT64_MAX;
  for (const int depth : kSpanDepths) {
    const int64_t lanes = lanes_of(n, depth);
    const int64_t cost = lanes * (depth + kLaneRows + (lanes > 32 ? kWarpRows : 0));
    if (lanes > span_threads(element_bytes, depth) || cost >= least) continue;
    least = cost;
    best = depth;
  }
  return best;
}

/// Most warps per system of DirectRegpackAgent at a depth; 0: none. Neighbouring lanes with up to 32 bytes per band
/// read whole sectors together. With 64 bytes the first-level cache runs short of tags. With more than two warps,
/// systems that fill their lanes (`fills`) are faster through shared memory: 98 % of the floor at 1024 rows of float64,
/// but 83 % at 1000 and 60 % at 600 (an H200), where two such warps reach 98 % at 500. Four warps have not been
/// measured on a GPU yet.
constexpr int direct_warps(int element_bytes, int depth, bool fills) {
  const int bytes = depth * element_bytes;
  if (depth < 4 || bytes < 16 || bytes > 64) return 0;
  return bytes <= 32 || (element_bytes == 8 && !fills) ? 4 : 2;
}
/// Whether systems of n rows, which consist of 16-byte vectors, are read as vectors at a depth.
inline bool reads_vectors(int element_bytes, int64_t n, int depth) {
  return (n + depth - 1) / depth <= 32 * direct_warps(element_bytes, depth, n % (32 * depth) == 0);
}
/// `even`, or 8 if only that depth reads such systems as vectors or fills every lane of its warps.
inline int vector_depth(int element_bytes, int64_t n, int even) {
  const auto suits = [=](int depth) { return n % (32 * depth) == 0 || reads_vectors(element_bytes, n, depth); };
  return suits(even) || !suits(8) ? even : 8;
}

/// `even`, or an odd depth if `even` leaves many lanes idle or systems are not aligned. The reasons: 16-byte copies
/// replace copies of single elements (float32, n = 511: 5 rather than 16 per band and lane), and for n = 513 one warp
/// of 17 rows per lane replaces two of 16 (an H200: 72 % of the floor rather than 61 and 37 %; float64 83 % rather than
/// 71 and 48 %).
inline int span_depth(int element_bytes, int64_t n, int even, bool aligned) {
  const double filled = static_cast<double>(n) / static_cast<double>(lanes_of(n, even) * even);
  return n <= 32 || (aligned && filled >= kFilled) ? even : least_span_depth(element_bytes, n, even);
}

/// Most unknowns for which interleaved systems fit the lanes of a warp, at the depths of kInterleaved.
inline int64_t interleaved_rows(int element_bytes) { return element_bytes == 16 ? 256 : 512; }

/// Other batches that are strided in memory, with enough systems to fill the device at one thread each: the Thomas
/// algorithm reads them directly, whereas register packing would gather every row separately.
inline bool prefers_thomas(int64_t problems, int multiprocessors) { return problems >= int64_t{multiprocessors} * 64; }

/// From this many rows on, periodic systems are solved in one pass: it moves 5 arrays, where condensation in steps
/// moves 14 (an H200, 65536×512: 352 rather than 757 us, float64 590 rather than 1133). Right-hand sides that share a
/// matrix gained nothing from such a kernel: four at a time took 8 instructions per row and side rather than 16, but
/// 121 us rather than 101.
inline constexpr int64_t kLeastPeriodicRows = 34;
/// Rows per lane of periodic systems that fill a power of two of a warp's lanes; their elimination closes over these.
inline constexpr int kCyclicDepth = 16;
inline bool closes_over_lanes(int64_t n) {
  const int64_t lanes = n / kCyclicDepth;
  return n % kCyclicDepth == 0 && lanes <= 32 && (lanes & (lanes - 1)) == 0;
}

/// Longer interleaved systems are solved in chunks if one thread per system would leave most of the device idle (at
/// 8192×2048 that reaches 8.6 % of the floor in float32, 14.2 % in float64). So are systems that all share their bands,
/// which chunks hardly read: 3 arrays rather than 6 (an H200, 4096×4096: 165 us, by register packing 363; float64 280
/// rather than 491). For systems with bands of their own the choice goes by counting; it has not been measured on a GPU
/// yet.
inline bool prefers_chunks(int64_t problems, int element_bytes, bool one_matrix, int multiprocessors) {
  if (problems < across_systems(element_bytes)) return false;
  return one_matrix || problems < int64_t{multiprocessors} * 512;
}

}  // namespace warploom::tridiagonal
