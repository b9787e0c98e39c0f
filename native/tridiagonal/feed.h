// The four bands of a tile, block by block: the next block is transposed and the next tile fetched
// while the rows of this block are eliminated. Include once per instruction set.
#pragma once
#include "native/tridiagonal/tile_io.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Rows of a block: one cache line of every lane.
template <class S>
inline constexpr int64_t kBlockRows = kLineRows<RealType<S>>;

/// Rows of the bands of a tile: lower, diagonal, upper, right-hand side.
inline constexpr int kBands = 4;
template <class S>
struct Block {
  alignas(64) S band[kBands][kBlockRows<S>];
};

/// Tiles of at most this many bytes are fetched one ahead: two fit a second-level cache of 512 KiB
/// beside what elimination keeps. Longer ones are fetched some cache lines ahead.
inline constexpr int64_t kAheadBytes = int64_t{160} << 10;
inline constexpr int64_t kAheadLines = 4;

/// Moves a tile's bands into blocks.
template <class S>
class Feed {
 public:
  using R = RealType<S>;

  Feed(const TileLanes<S>& tile, const Sources<S>& sources)
      : tile_(tile),
        source_{&sources.lower, &sources.diagonal, &sources.upper, &sources.rhs} {
    for (int b = 0; b < kBands && kN > 1; ++b) {
      for (int part = 0; part < kParts<S>; ++part) add_items(b, part);
    }
  }

  /// Rows [from, to), at most one block of them, at once.
  void load(int64_t from, int64_t to, Block<S>* out) const {
    for (int b = 0; b < kBands; ++b) tile_.load(*source_[b], from, to, out->band[b]);
  }

  /// Whether the block of rows that starts at `from` can be loaded by begin() and share().
  bool shares(int64_t from) const {
    return kN > 1 && from > 0 && from + kBlockRows<S> < tile_.least_rows;
  }

  /// What share() leaves out of the block: bands whose lanes do not lie apart.
  void begin(int64_t from, Block<S>* out) {
    due_ = 0;
    next_ = 0;
    for (int b = 0; b < kBands; ++b) {
      for (int part = 0; part < kParts<S>; ++part) {
        const Plane<R, kN>& p = source_[b]->part[part];
        if (p.access == Access::contiguous) continue;
        load_rows(p, from, from + kBlockRows<S>, reals(out) + offset(b, part), kStride);
      }
    }
  }

  /// Loads one of kBlockRows shares of the block.
  WARPLOOM_INLINE void share(int64_t from, Block<S>* out) {
    if constexpr (kN > 1) {
      for (due_ += items_; due_ >= kBlockRows<S>; due_ -= kBlockRows<S>) load_item(item_[next_++], from, out);
    }
  }

  /// Completes the block.
  void end(Block<S>* out) const {
    if constexpr (kParts<S> == 2) {
      for (int b = 0; b < kBands; ++b) {
        for (int64_t i = 0; i < kBlockRows<S> && source_[b]->conjugate; ++i) {
          out->band[b][i].im = -out->band[b][i].im;
        }
      }
    }
  }

 private:
  static constexpr int kN = kLanes<S>;
  static constexpr int kRegister = kN > 1 ? kRegisterLanes<R> : 1;
  static constexpr int64_t kStride = kN * kParts<S>;

  /// One register's width of lanes of a plane, and what to fetch beside it: kRegister cache lines
  /// from `ahead` on, `step` apart.
  struct Item {
    R* lane[kRegister];
    int64_t at;  ///< in a block, in reals
    const char* ahead;
    int64_t step, advance;
  };

  static R* reals(Block<S>* block) { return reinterpret_cast<R*>(block->band[0]); }
  static constexpr int64_t offset(int band, int part) {
    return band * kBlockRows<S> * kStride + part * kN;
  }

  /// The next tile's lines are fetched in the order of memory, as a copy would read them: short
  /// streams in every lane are more than hardware prefetchers follow.
  void add_items(int band, int part) {
    const Plane<R, kN>& p = source_[band]->part[part];
    if (p.access != Access::contiguous) return;
    constexpr int64_t kLine = 64;
    const int64_t stride = p.next_tile / kN, n = tile_.n;
    const bool next = kBands * n * int64_t{sizeof(S)} <= kAheadBytes && stride <= n + n / 4;
    const int64_t blocks = n / kBlockRows<S> + 1;
    for (int lane = 0; lane < kN; lane += kRegister) {
      Item& item = item_[items_++];
      for (int l = 0; l < kRegister; ++l) item.lane[l] = p.lane[lane + l];
      item.at = offset(band, part) + lane;
      if (next) {
        item.ahead = reinterpret_cast<const char*>(p.lane[0] + p.next_tile) + lane * kLine;
        item.step = kLine;
        const int64_t span = p.next_tile * int64_t{sizeof(R)};
        item.advance = span > blocks * kN * kLine ? span / blocks / kLine * kLine : kN * kLine;
      } else {
        item.ahead = reinterpret_cast<const char*>(p.lane[lane]) + (1 + kAheadLines) * kLine;
        item.step = stride * int64_t{sizeof(R)};
        item.advance = kLine;
      }
    }
  }

  /// By the cache line: lines at power-of-two strides share a set of the first-level cache, so each
  /// is used up at once.
  WARPLOOM_INLINE void load_item(Item& item, int64_t from, Block<S>* out) {
    R* to = reals(out) + item.at;
    for (int64_t i = 0; i < kBlockRows<S>; i += kRegister) {
      Order<R>::gather(item.lane, from + i, to + i * kStride, kStride);
    }
    const char* line = item.ahead;
    for (int l = 0; l < kRegister; ++l, line += item.step) __builtin_prefetch(line, 0, 2);
    item.ahead += item.advance;
  }

  const TileLanes<S>& tile_;
  const Source<S>* source_[kBands];
  Item item_[kBands * kParts<S> * (kN / kRegister)];
  int64_t items_ = 0, next_ = 0, due_ = 0;
};

}  // namespace warploom::cpu::WARPLOOM_ISA
