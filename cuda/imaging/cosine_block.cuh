// Cosine transforms of a tile of line pairs by one block: point j of pair p is entry j * pitch + p of a buffer.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/imaging/cosine_lines.h"
#include "cuda/imaging/cosine_point.h"

namespace warploom::WARPLOOM_TARGET::imaging {

namespace operation = ::warploom::imaging;
using operation::CosinePlan;
using operation::CosineStage;
using operation::Pair;

/// Two buffers of a block, in shared memory, or in global memory if they do not fit.
template <class T>
struct TileBuffers {
  Pair<T>* data;   ///< input of the next step
  Pair<T>* other;
  int pairs, pitch;
};

template <class T>
WARPLOOM_DEVICE TileBuffers<T> tile_buffers(const device::Block& block, Pair<T>* scratch, int m, int pairs, int pitch) {
  Pair<T>* const data = scratch != nullptr ? scratch + block.index() * 2 * m * pitch : block.shared<Pair<T>>();
  return {data, data + m * pitch, pairs, pitch};
}

/// The pair and the first point of a thread: consecutive threads take one point of all pairs, then the next point.
struct TileLane {
  int pair, first, step;
  WARPLOOM_DEVICE TileLane(const device::Block& block, int pairs)
      : pair(block.thread() % pairs), first(block.thread() / pairs), step(block.threads() / pairs) {
    if (first >= step) first = 1 << 30;  // not enough threads left for another point
  }
};

template <class T>
struct TileTransform {
  using Entry = Pair<T>;
  const device::Block& block;
  const CosinePlan& plan;
  const Entry* table;
  TileLane lane;

  WARPLOOM_DEVICE TileTransform(const device::Block& b, const CosinePlan& p, const T* words, int pairs)
      : block(b), plan(p), table(reinterpret_cast<const Entry*>(words)), lane(b, pairs) {}

  template <int kRadix>
  WARPLOOM_DEVICE void stage(const CosineStage& s, const TileBuffers<T>& tile) const {
    const int count = plan.m / kRadix, step = plan.m / (s.before * kRadix), pitch = tile.pitch;
    for (int j = lane.first; j < count; j += lane.step) {
      const Entry* const from = tile.data + j * pitch + lane.pair;
      Entry v[kRadix];
      WARPLOOM_UNROLL
      for (int q = 0; q < kRadix; ++q) v[q] = from[q * count * pitch];
      int target = j * kRadix;
      if (s.before > 1) {
        const int head = static_cast<int>(static_cast<uint64_t>(static_cast<uint32_t>(j)) * s.divider >> 32);
        const int k = j - head * s.before;
        WARPLOOM_UNROLL
        for (int q = 1; q < kRadix; ++q) {
          const Entry root = table[q * k * step];
          v[q] = times(v[q], root.re, root.im);
        }
        target = head * s.before * kRadix + k;
      }
      operation::Butterfly<kRadix>::run(v);
      Entry* const to = tile.other + target * pitch + lane.pair;
      WARPLOOM_UNROLL
      for (int q = 0; q < kRadix; ++q) to[q * s.before * pitch] = v[q];
    }
  }

  WARPLOOM_DEVICE void stages(TileBuffers<T>& tile) const {
    WARPLOOM_NO_UNROLL
    for (int i = 0; i < plan.stages; ++i) {
      const CosineStage& s = plan.stage[i];
      switch (s.radix) {
        case 2: stage<2>(s, tile); break;
        case 3: stage<3>(s, tile); break;
        case 4: stage<4>(s, tile); break;
        case 5: stage<5>(s, tile); break;
        default: stage<8>(s, tile); break;
      }
      block.sync();
      Entry* const other = tile.data;
      tile.data = tile.other;
      tile.other = other;
    }
  }

  /// The complex transform of every pair. There must be a barrier between writing the data and this call, which ends
  /// with a barrier.
  WARPLOOM_DEVICE void run(TileBuffers<T>& tile) const {
    if (plan.m == plan.n) return stages(tile);
    const Entry *const chirp = table + plan.chirp, *const filter = table + plan.filter;
    for (int j = lane.first; j < plan.m; j += lane.step) {
      Entry& entry = tile.data[j * tile.pitch + lane.pair];
      entry = j < plan.n ? times(entry, chirp[j].re, chirp[j].im) : Entry{T(0), T(0)};
    }
    block.sync();
    WARPLOOM_NO_UNROLL
    for (int round = 0; round < 2; ++round) {
      stages(tile);
      const Entry* const factors = round == 0 ? filter : chirp;
      for (int j = lane.first; j < (round == 0 ? plan.m : plan.n); j += lane.step) {
        Entry entry = tile.data[j * tile.pitch + lane.pair];
        if (round == 1) entry.im = -entry.im;
        entry = times(entry, factors[j].re, factors[j].im);
        if (round == 0) entry.im = -entry.im;
        tile.data[j * tile.pitch + lane.pair] = entry;
      }
      block.sync();
    }
  }

  /// Calls change(low, high, k, phase) on the entries at k and n - k for all k up to n / 2, and stores the results. At
  /// k = 0 and n / 2, `high` is a copy of `low`.
  template <class Change>
  WARPLOOM_DEVICE void each_two(const TileBuffers<T>& tile, const Change& change) const {
    const int n = plan.n, half = n / 2;
    for (int k = lane.first; k <= half; k += lane.step) {
      const int opposite = k == 0 ? 0 : n - k;
      Entry& low_place = tile.data[k * tile.pitch + lane.pair];
      Entry& high_place = tile.data[opposite * tile.pitch + lane.pair];
      Entry low = low_place, high = high_place;
      change(low, high, k, table[plan.phases + k]);
      low_place = low;
      if (opposite != k) high_place = high;
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
