// Feeds the four bands of a tile block by block: while the rows of one block are eliminated, the next block is
// transposed and the next tile prefetched. Include once per instruction set.
#pragma once
#include "native/tridiagonal/sources.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Rows of a tile's bands (lower, diagonal, upper, right-hand side): kLines cache lines of every lane.
inline constexpr int kBands = 4;
template <class S, int kLines>
struct Block {
  static constexpr int64_t kRows = kLines * kLineRows<RealType<S>>;
  alignas(64) S band[kBands][kRows];
};

/// Tiles of at most this many bytes are prefetched one ahead. The rest of one tile, the start of the next, and what
/// elimination keeps then fit a 512 KiB second-level cache.
inline constexpr int64_t kAheadBytes = int64_t{320} << 10;

/// Moves a tile's bands into blocks.
template <class S>
class Feed {
 public:
  using R = RealType<S>;
  static constexpr int64_t kRows = Block<S, 1>::kRows;

  /// Whether neighbouring tiles are close enough in memory, and small enough, to prefetch.
  static bool pays(const TileLanes<S>& tile, const Sources<S>& sources) {
    if (kN == 1 || kBands * tile.n * int64_t{sizeof(S)} > kAheadBytes) return false;
    const auto close = [&](const Source<S>& source) {
      const int64_t stride = source.part[0].next_tile / kN;
      return source.part[0].access != Access::contiguous || (stride > 0 && stride <= tile.n + tile.n / 4);
    };
    return close(sources.lower) && close(sources.diagonal) && close(sources.upper) && close(sources.rhs);
  }

  Feed(const TileLanes<S>& tile, const Sources<S>& sources)
      : tile_(tile),
        source_{&sources.lower, &sources.diagonal, &sources.upper, &sources.rhs} {
    for (int b = 0; b < kBands && kN > 1; ++b) {
      for (int part = 0; part < kParts<S>; ++part) add_items(b, part);
    }
  }

  /// Loads rows [from, to), at most one block of them, at once.
  void load(int64_t from, int64_t to, Block<S, 1>* out) const {
    for (int b = 0; b < kBands; ++b) tile_.load(*source_[b], from, to, out->band[b]);
  }

  /// Whether the block of rows that starts at `from` can be loaded by begin() and share().
  bool shares(int64_t from) const {
    return kN > 1 && from > 0 && from + kRows < tile_.least_rows;
  }

  /// Loads the part of the block that share() leaves out: bands whose lanes are not far apart.
  void begin(int64_t from, Block<S, 1>* out) {
    due_ = 0;
    next_ = 0;
    for (int64_t p = 0; p < planes_; ++p) ahead_[p].line += ahead_[p].turn;
    for (int b = 0; b < kBands; ++b) {
      for (int part = 0; part < kParts<S>; ++part) {
        const Plane<R, kN>& p = source_[b]->part[part];
        if (p.access == Access::contiguous) continue;
        load_rows(p, from, from + kRows, reals(out) + offset(b, part), kStride);
      }
    }
  }

  /// Loads one of kBlockRows shares of the block, and prefetches a line of every plane.
  WARPLOOM_INLINE void share(int64_t from, Block<S, 1>* out) {
    if constexpr (kN > 1) {
      for (int64_t p = 0; p < planes_; ++p) {
        const char*& line = ahead_[p].line;
        for (int64_t l = 0; l < kN / kRows; ++l, line += kLine) __builtin_prefetch(line, 0, 3);
      }
      for (due_ += items_; due_ >= kRows; due_ -= kRows) {
        load_item(item_[next_++], from, out);
      }
    }
  }

  /// Completes the block.
  void end(Block<S, 1>* out) const {
    if constexpr (kParts<S> == 2) {
      for (int b = 0; b < kBands; ++b) {
        for (int64_t i = 0; i < kRows && source_[b]->conjugate; ++i) {
          out->band[b][i].im = -out->band[b][i].im;
        }
      }
    }
  }

 private:
  static constexpr int kN = kLanes<S>;
  static constexpr int kRegister = kN > 1 ? kRegisterLanes<R> : 1;
  static constexpr int64_t kStride = kN * kParts<S>, kLine = 64;

  /// The lanes of one register in a plane.
  struct Item {
    R* lane[kRegister];
    int64_t at;  ///< in a block, in reals
  };
  /// The next cache line to prefetch for a plane, and how far it advances with each block.
  struct Ahead {
    const char* line;
    int64_t turn;
  };

  static R* reals(Block<S, 1>* block) { return reinterpret_cast<R*>(block->band[0]); }
  static constexpr int64_t offset(int band, int part) {
    return band * kRows * kStride + part * kN;
  }

  void add_items(int band, int part) {
    const Plane<R, kN>& p = source_[band]->part[part];
    if (p.access != Access::contiguous) return;
    ahead_[planes_++] = ahead_of(p);
    for (int lane = 0; lane < kN; lane += kRegister) {
      Item& item = item_[items_++];
      for (int l = 0; l < kRegister; ++l) item.lane[l] = p.lane[lane + l];
      item.at = offset(band, part) + lane;
    }
  }

  /// The next tile's lines are prefetched in memory order, a line of each plane in turn, as an addition of arrays would
  /// read them. Hardware prefetchers cannot follow short streams in every lane, and long runs of one plane were slower
  /// by a tenth.
  Ahead ahead_of(const Plane<R, kN>& p) const {
    // Padding between systems is skipped once per block, not once per lane.
    const int64_t blocks = tile_.n / kRows + 1, span = p.next_tile * int64_t{sizeof(R)};
    const int64_t run = kN * kLine, spread = span / blocks / kLine * kLine;
    return {reinterpret_cast<const char*>(p.lane[0] + p.next_tile), spread > run ? spread - run : 0};
  }

  /// One cache line at a time: lines at power-of-two strides share a set of the first-level cache, so each is used up
  /// before it is evicted.
  WARPLOOM_INLINE void load_item(const Item& item, int64_t from, Block<S, 1>* out) const {
    R* to = reals(out) + item.at;
    for (int64_t i = 0; i < kRows; i += kRegister) {
      Order<R>::gather(item.lane, from + i, to + i * kStride, kStride);
    }
  }

  const TileLanes<S>& tile_;
  const Source<S>* source_[kBands];
  Item item_[kBands * kParts<S> * (kN / kRegister)];
  Ahead ahead_[kBands * kParts<S>];
  int64_t items_ = 0, planes_ = 0, next_ = 0, due_ = 0;
};

}  // namespace warploom::cpu::WARPLOOM_ISA
