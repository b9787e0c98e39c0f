// Between the order of the stream and the layout of (3.15), in which lane l of a group of kWidth threads finds its items in column l of
// rows of kWidth (lib/stream/schedule/layout.ts). 1024 elements at a time go through padded shared memory, so that device memory is read
// and written in whole segments either way (section 4.7).
#pragma once
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET::stream {

/// Elements that an instance of a shuffle moves.
constexpr int kShuffleItems = 1024;

/// Shared memory of one shuffle: rows of kWidth, each with a gap behind it, so that neither rows nor columns meet in few banks.
template <int kWidth, int kItems = kShuffleItems>
struct ShuffleTile {
  static constexpr int kRows = kItems / kWidth;
  static constexpr int kGap = kRows >= 32 ? 1 : 32 / kRows;
  static constexpr int kElements = kRows * (kWidth + kGap);
  static WARPLOOM_DEVICE int place(int row, int column) { return row * (kWidth + kGap) + column; }
};

/// Shuffles elements kItems·group and on of the new order; `source(i)` is element i of the stream, of `total` in all.
template <int kWidth, int kItems = kShuffleItems, class T, class Source>
WARPLOOM_DEVICE void shuffle_group(const device::Block& block, T* tile, T* to, int group, int total, Source source) {
  using Tile = ShuffleTile<kWidth, kItems>;
  const int column_items = total / kWidth;
  for (int i = block.thread(); i < kItems; i += block.threads()) {
    const int column = i / Tile::kRows, row = i % Tile::kRows;
    tile[Tile::place(row, column)] = source(column * column_items + group * Tile::kRows + row);
  }
  block.sync();
  for (int i = block.thread(); i < kItems; i += block.threads()) {
    to[group * kItems + i] = tile[Tile::place(i / kWidth, i % kWidth)];
  }
  block.sync();
}

/// The way back: `sink(i, x)` takes element i of the stream.
template <int kWidth, int kItems = kShuffleItems, class T, class Sink>
WARPLOOM_DEVICE void deshuffle_group(const device::Block& block, T* tile, const T* from, int group, int total, Sink sink) {
  using Tile = ShuffleTile<kWidth, kItems>;
  const int column_items = total / kWidth;
  for (int i = block.thread(); i < kItems; i += block.threads()) {
    tile[Tile::place(i / kWidth, i % kWidth)] = from[group * kItems + i];
  }
  block.sync();
  for (int i = block.thread(); i < kItems; i += block.threads()) {
    const int column = i / Tile::kRows, row = i % Tile::kRows;
    sink(column * column_items + group * Tile::kRows + row, tile[Tile::place(row, column)]);
  }
  block.sync();
}

/// Whole buffers, as kernels of their own: groups are dealt out to the blocks. `total` is a multiple of 1024.
template <class T, int kWidth, bool kIsBack>
struct ShuffleAgent {
  static constexpr int kMaxThreads = kShuffleItems, kMinBlocks = 1;
  static constexpr int kSharedBytes = ShuffleTile<kWidth>::kElements * static_cast<int>(sizeof(T));
  struct Parameters {
    const T* from;
    T* to;
    int32_t total;
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    T* tile = block.shared<T>();
    for (int group = static_cast<int>(block.index()); group < p.total / kShuffleItems; group += static_cast<int>(block.count())) {
      if (kIsBack) {
        deshuffle_group<kWidth>(block, tile, p.from, group, p.total, [&](int i, T x) { p.to[i] = x; });
      } else {
        shuffle_group<kWidth>(block, tile, p.to, group, p.total, [&](int i) { return p.from[i]; });
      }
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stream
