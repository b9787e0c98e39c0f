// How the partition method divides systems among blocks. Plain C++; kernels contain no tuning constants of their own.
#pragma once
#include <cstdint>

namespace warploom::tridiagonal {

/// Message tags count phases in 30 bits; more problems than this use two passes.
inline constexpr int64_t kMostOnePassProblems = int64_t{1} << 28;

/// Overhead of a phase (messages, the system between blocks), expressed in rows of a warp.
inline constexpr int kPhaseWarps = 4;

/// Two passes: blocks per multiprocessor, so that one computes while another waits for its copies.
inline constexpr int kTwoPassBlocks = 4;

/// Interleaved batches in chunks: lanes per chunk, and systems per block, whose corresponding rows are one line of 128
/// bytes.
inline constexpr int kAcrossWidth = 16;
constexpr int across_systems(int element_bytes) { return element_bytes == 4 ? 32 : 16; }

/// One pass: whether elements are so small that a block has 512 threads with 128 registers each. Solving between blocks
/// needs them all.
constexpr bool crowded(int element_bytes) { return element_bytes == 4; }

/// One pass, two chunks per block: how many of the next chunk's four arrays are copied before the messages after the
/// second chunk. Copies in flight delay a block's messages. If registers are crowded, rows wait in three of the arrays.
constexpr int early_arrays(int element_bytes) { return crowded(element_bytes) ? 0 : 3; }

/// One pass: `slots` systems at once, each on `blocks` blocks of `warps` warps; no slots means that it does not fit.
struct OnePassShape {
  int warps = 0, blocks = 0, slots = 0;
};

/// The shape with the least work per multiprocessor: phases times its warps. Blocks of a whole multiprocessor if
/// systems fill them; smaller blocks if the last multiprocessor would be partly empty, and for a few small systems.
/// `resident(warps)`: blocks that fit one multiprocessor.
template <class Resident>
OnePassShape one_pass_shape(int64_t n, int64_t problems, int multiprocessors, int most_warps, int least_warps,
                            int warp_rows, int most_blocks, Resident resident) {
  OnePassShape best;
  int64_t least = 0;
  for (int warps = most_warps; warps >= least_warps; warps /= 2) {
    const int64_t rows = int64_t{warps} * warp_rows, blocks = n < 1 ? 1 : (n + rows - 1) / rows;
    const int64_t most = int64_t{resident(warps)} * multiprocessors;
    if (blocks > most_blocks || blocks > most) break;
    const int64_t slots = most / blocks < problems ? most / blocks : problems;
    const int64_t phases = (problems + slots - 1) / slots;
    const int64_t together = (slots * blocks + multiprocessors - 1) / multiprocessors;
    const int64_t cost = phases * (together * warps + kPhaseWarps);
    if (best.slots != 0 && cost >= least) continue;
    least = cost;
    best = {warps, static_cast<int>(blocks), static_cast<int>(slots)};
  }
  return best;
}

}  // namespace warploom::tridiagonal
