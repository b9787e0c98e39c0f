// Between the order of the stream and the layout of (3.15), in which lane l of a group of kWidth threads finds its items in column l of
// rows of kWidth (lib/stream/schedule/layout.ts). Elements go through padded shared memory, so that device memory is read and written in
// whole segments either way (section 4.7): 1024 at a time, or four times as many where instances follow each other, with as many reads
// under way.
#pragma once
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET::stream {

/// Elements that an instance of a shuffle moves.
constexpr int kShuffleItems = 1024;
/// Instances that are moved at once where so many follow each other: 32 or more rows, so that columns are read in segments of 128 bytes.
constexpr int kShuffleTogether = 4;

/// Shared memory of kItems elements: rows of kWidth, each with a gap behind it, so that neither rows nor columns meet in few banks.
template <int kWidth, int kItems>
struct ShuffleTile {
  static constexpr int kRows = kItems / kWidth;
  static constexpr int kGap = kRows >= 32 ? 1 : 32 / kRows;
  static constexpr int kElements = kRows * (kWidth + kGap);
  static WARPLOOM_DEVICE int place(int row, int column) { return row * (kWidth + kGap) + column; }
};

/// The shared memory of shuffles whose instances have kItems elements (shuffleBytes of lib/stream/run/gpu-lists.ts).
template <int kWidth, int kItems = kShuffleItems>
constexpr int kShuffleElements = ShuffleTile<kWidth, kItems>::kElements > ShuffleTile<kWidth, kShuffleTogether * kItems>::kElements
                                     ? ShuffleTile<kWidth, kItems>::kElements
                                     : ShuffleTile<kWidth, kShuffleTogether * kItems>::kElements;

/// Copies `count` elements, `get(i)` to `put(i, x)`, several reads of a thread under way at a time.
template <int kCount, class T, class Get, class Put>
WARPLOOM_DEVICE void move_elements(const device::Block& block, Get get, Put put) {
  constexpr int kAtOnce = 8;
  const int step = block.threads();
  int i = block.thread();
  for (; i + (kAtOnce - 1) * step < kCount; i += kAtOnce * step) {
    T items[kAtOnce];
    WARPLOOM_UNROLL
    for (int k = 0; k < kAtOnce; ++k) items[k] = get(i + k * step);
    WARPLOOM_UNROLL
    for (int k = 0; k < kAtOnce; ++k) put(i + k * step, items[k]);
  }
  for (; i < kCount; i += step) put(i, get(i));
}

/// One pass: kItems elements from `begin` on of the new order.
template <int kWidth, int kItems, class T, class Source>
WARPLOOM_DEVICE void shuffle_pass(const device::Block& block, T* tile, T* to, int begin, int column_items, Source source) {
  using Tile = ShuffleTile<kWidth, kItems>;
  const int first_row = begin / kWidth;
  move_elements<kItems, T>(block, [&](int i) { return source(i / Tile::kRows * column_items + first_row + i % Tile::kRows); },
                           [&](int i, T x) { tile[Tile::place(i % Tile::kRows, i / Tile::kRows)] = x; });
  block.sync();
  move_elements<kItems, T>(block, [&](int i) { return tile[Tile::place(i / kWidth, i % kWidth)]; },
                           [&](int i, T x) { to[begin + i] = x; });
  block.sync();
}

template <int kWidth, int kItems, class T, class Sink>
WARPLOOM_DEVICE void deshuffle_pass(const device::Block& block, T* tile, const T* from, int begin, int column_items, Sink sink) {
  using Tile = ShuffleTile<kWidth, kItems>;
  const int first_row = begin / kWidth;
  move_elements<kItems, T>(block, [&](int i) { return from[begin + i]; },
                           [&](int i, T x) { tile[Tile::place(i / kWidth, i % kWidth)] = x; });
  block.sync();
  move_elements<kItems, T>(block, [&](int i) { return tile[Tile::place(i % Tile::kRows, i / Tile::kRows)]; },
                           [&](int i, T x) { sink(i / Tile::kRows * column_items + first_row + i % Tile::kRows, x); });
  block.sync();
}

/// Instances `first` to `last` of kItems elements each: those of the new order; `source(i)` is element i of the stream, of `total` in all.
template <int kWidth, int kItems = kShuffleItems, class T, class Source>
WARPLOOM_DEVICE void shuffle_groups(const device::Block& block, T* tile, T* to, int first, int last, int total, Source source) {
  int group = first;
  for (; group + kShuffleTogether <= last; group += kShuffleTogether) {
    shuffle_pass<kWidth, kShuffleTogether * kItems>(block, tile, to, group * kItems, total / kWidth, source);
  }
  for (; group < last; ++group) shuffle_pass<kWidth, kItems>(block, tile, to, group * kItems, total / kWidth, source);
}

/// The way back: `sink(i, x)` takes element i of the stream.
template <int kWidth, int kItems = kShuffleItems, class T, class Sink>
WARPLOOM_DEVICE void deshuffle_groups(const device::Block& block, T* tile, const T* from, int first, int last, int total, Sink sink) {
  int group = first;
  for (; group + kShuffleTogether <= last; group += kShuffleTogether) {
    deshuffle_pass<kWidth, kShuffleTogether * kItems>(block, tile, from, group * kItems, total / kWidth, sink);
  }
  for (; group < last; ++group) deshuffle_pass<kWidth, kItems>(block, tile, from, group * kItems, total / kWidth, sink);
}

/// Whole buffers, as kernels of their own: instances are dealt out to the blocks, four at a time. `total` is a multiple of 1024.
template <class T, int kWidth, bool kIsBack>
struct ShuffleAgent {
  static constexpr int kMaxThreads = 256, kMinBlocks = 6;
  static constexpr int kSharedBytes = kShuffleElements<kWidth> * static_cast<int>(sizeof(T));
  struct Parameters {
    const T* from;
    T* to;
    int32_t total;
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    T* tile = block.shared<T>();
    const int groups = p.total / kShuffleItems, step = static_cast<int>(block.count()) * kShuffleTogether;
    for (int first = static_cast<int>(block.index()) * kShuffleTogether; first < groups; first += step) {
      const int last = first + kShuffleTogether < groups ? first + kShuffleTogether : groups;
      if (kIsBack) {
        deshuffle_groups<kWidth>(block, tile, p.from, first, last, p.total, [&](int i, T x) { p.to[i] = x; });
      } else {
        shuffle_groups<kWidth>(block, tile, p.to, first, last, p.total, [&](int i) { return p.from[i]; });
      }
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stream
