// Shared memory between coalesced global accesses and each lane's consecutive elements.
#pragma once
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET {

/// Stage of one warp for one array: 32*kDepth elements of T, where lane l's rows start at element l*kDepth. The 16-byte
/// chunks are permuted to avoid bank conflicts, both among a warp's consecutive chunks and among the chunks j of all
/// lanes.
template <class T, int kDepth>
struct Stage {
  static constexpr int kElements = 32 * kDepth;
  static constexpr int kPerChunk = 16 / static_cast<int>(sizeof(T));
  static constexpr int kLaneChunks = kDepth / kPerChunk;  ///< 0 if a lane holds half a chunk
  static constexpr size_t kBytes = kElements * sizeof(T);

  static constexpr WARPLOOM_HOST_DEVICE int swizzle_shift() {
    int shift = 3;
    while ((1 << shift) < kLaneChunks) ++shift;
    return shift;
  }
  static WARPLOOM_DEVICE int place_chunk(int chunk) {
    return chunk ^ ((chunk >> swizzle_shift()) & 7);
  }
  static WARPLOOM_DEVICE int place(int element) {
    return place_chunk(element / kPerChunk) * kPerChunk + element % kPerChunk;
  }

  /// A lane's kDepth rows, from stage to registers.
  static WARPLOOM_DEVICE void read(const T* stage, int lane, T (&values)[kDepth]) {
    if constexpr (kLaneChunks > 0) {
      WARPLOOM_UNROLL
      for (int j = 0; j < kLaneChunks; ++j) {
        const auto pack = reinterpret_cast<const device::Pack<T>*>(stage)[place_chunk(lane * kLaneChunks + j)];
        WARPLOOM_UNROLL
        for (int k = 0; k < kPerChunk; ++k) values[j * kPerChunk + k] = pack.item[k];
      }
    } else {
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) values[j] = stage[place(lane * kDepth + j)];
    }
  }
  static WARPLOOM_DEVICE void write(T* stage, int lane, const T (&values)[kDepth]) {
    if constexpr (kLaneChunks > 0) {
      WARPLOOM_UNROLL
      for (int j = 0; j < kLaneChunks; ++j) {
        device::Pack<T> pack;
        WARPLOOM_UNROLL
        for (int k = 0; k < kPerChunk; ++k) pack.item[k] = values[j * kPerChunk + k];
        reinterpret_cast<device::Pack<T>*>(stage)[place_chunk(lane * kLaneChunks + j)] = pack;
      }
    } else {
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) stage[place(lane * kDepth + j)] = values[j];
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET
