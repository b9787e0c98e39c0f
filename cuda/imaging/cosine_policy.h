// How passes of cosine transforms are cut into tiles on the GPU.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace warploom::imaging::policy {

/// The most pairs of lines per block: 32 adjacent float32 columns are a memory line of 128 bytes.
inline constexpr int kMostPairs = 16;
/// With at least this many pairs, a block's columns fill whole sectors of 32 bytes; fewer only if shared memory is too
/// small.
inline constexpr int kLeastPairs = 4;
/// Up to this much shared memory per block, two blocks fit a multiprocessor.
inline constexpr size_t kComfortableBytes = 100 * 1024;
/// The fewest tiles a pass should have, so that every multiprocessor has work.
inline constexpr int64_t kLeastTiles = 132;
inline constexpr int kLineThreads = 256;
/// Blocks of a pass that keeps its buffers in global memory.
inline constexpr int64_t kScratchBlocks = 264;

/// Entries from one point of a tile to the next. Odd, so that consecutive points are in different banks.
inline int pitch_of(int pairs) { return pairs % 2 == 0 ? pairs + 1 : pairs; }
/// Both buffers of a block.
inline size_t tile_bytes(int m, int pairs, size_t entry_bytes) {
  return 2 * static_cast<size_t>(m) * static_cast<size_t>(pitch_of(pairs)) * entry_bytes;
}

/// Pairs per tile for complex transforms of length m; 0 if not even one pair fits `shared_bytes`.
inline int pairs_of(int m, size_t entry_bytes, int64_t pairs, int components, size_t shared_bytes) {
  const size_t comfortable = std::min(kComfortableBytes, shared_bytes);
  int taken = kMostPairs;
  while (taken > kLeastPairs && tile_bytes(m, taken, entry_bytes) > comfortable) taken /= 2;
  while (taken > kLeastPairs && (pairs + taken - 1) / taken * components < kLeastTiles) taken /= 2;
  while (taken > 1 && tile_bytes(m, taken, entry_bytes) > shared_bytes) taken /= 2;
  while (taken > 1 && taken / 2 >= pairs) taken /= 2;
  return tile_bytes(m, taken, entry_bytes) > shared_bytes ? 0 : taken;
}

/// Threads per block for tiles of `pairs` pairs: one for each butterfly of a radix-8 pass, within limits.
inline int line_threads(int m, int pairs, int most) {
  const int wanted = (pairs * std::max(1, m / 8) + 31) / 32 * 32;
  return std::min(std::max(wanted, (pairs + 31) / 32 * 32), most);
}

}  // namespace warploom::imaging::policy
