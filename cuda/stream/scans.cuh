// Scans of state in a block: records of what firings do, composed by the lanes of a warp or by all threads. See state.cuh.
#pragma once
#include "cuda/stream/fused.cuh"
#include "cuda/stream/real_scan.cuh"

namespace warploom::WARPLOOM_TARGET::stream {

/// x ← (x & keep) ^ flip, in words of 32 bits.
template <int kSize>
struct BitsScan {
  static constexpr int kWords = 2 * kSize, kSlots = kSize, kStride = kWords;
  static constexpr bool kIsOrdered = false;
  struct Record { int word[kWords]; };
  static WARPLOOM_DEVICE Record identity() {
    Record made;
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) made.word[2 * i] = -1, made.word[2 * i + 1] = 0;
    return made;
  }
  static WARPLOOM_DEVICE Record compose(const Record& first, const Record& then) {
    Record made;
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) {
      made.word[2 * i] = first.word[2 * i] & then.word[2 * i];
      made.word[2 * i + 1] = (first.word[2 * i + 1] & then.word[2 * i]) ^ then.word[2 * i + 1];
    }
    return made;
  }
  static WARPLOOM_DEVICE void apply(const Record& r, const Wrap&, int* x) {
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) x[i] = (x[i] & r.word[2 * i]) ^ r.word[2 * i + 1];
  }
};

/// x ← x + b modulo 2^32, or x ← A x + b (words: b, then A row by row); then wrapped.
template <int kSize, bool kIsPlain>
struct SumScan {
  static constexpr int kWords = kIsPlain ? kSize : kSize + kSize * kSize, kSlots = kSize, kStride = kWords;
  static constexpr bool kIsOrdered = false;
  struct Record { int word[kWords]; };
  static WARPLOOM_DEVICE int sum(int a, int b) { return static_cast<int>(static_cast<unsigned int>(a) + static_cast<unsigned int>(b)); }
  static WARPLOOM_DEVICE int product(int a, int b) { return static_cast<int>(static_cast<unsigned int>(a) * static_cast<unsigned int>(b)); }
  static WARPLOOM_DEVICE Record identity() {
    Record made;
    WARPLOOM_UNROLL
    for (int i = 0; i < kWords; ++i) made.word[i] = i >= kSize && (i - kSize) / kSize == (i - kSize) % kSize ? 1 : 0;
    return made;
  }
  static WARPLOOM_DEVICE Record compose(const Record& first, const Record& then) {
    Record made;
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) {
      if constexpr (kIsPlain) {
        made.word[i] = sum(first.word[i], then.word[i]);
      } else {
        const int* row = then.word + kSize + i * kSize;
        int b = then.word[i];
        WARPLOOM_UNROLL
        for (int k = 0; k < kSize; ++k) b = sum(b, product(row[k], first.word[k]));
        made.word[i] = b;
        WARPLOOM_UNROLL
        for (int j = 0; j < kSize; ++j) {
          int a = 0;
          WARPLOOM_UNROLL
          for (int k = 0; k < kSize; ++k) a = sum(a, product(row[k], first.word[kSize + k * kSize + j]));
          made.word[kSize + i * kSize + j] = a;
        }
      }
    }
    return made;
  }
  static WARPLOOM_DEVICE void apply(const Record& r, const Wrap& wrap, int* x) {
    int made[kSize];
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) {
      int b = r.word[i];
      if (kIsPlain) b = sum(b, x[i]);
      WARPLOOM_UNROLL
      for (int k = 0; !kIsPlain && k < kSize; ++k) b = sum(b, product(r.word[kSize + i * kSize + k], x[k]));
      made[i] = sum(static_cast<int>((static_cast<unsigned int>(b) - static_cast<unsigned int>(wrap.low)) & wrap.mask), wrap.low);
    }
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) x[i] = made[i];
  }
};

/// x ← map[x], for x in 0 … kCount − 1; the maps lie in groups of four bits.
template <int kCount>
struct ChoiceScan {
  static constexpr int kWords = kCount > 8 ? 2 : 1, kSlots = 1, kStride = kWords;
  static constexpr bool kIsOrdered = false;
  struct Record { int word[kWords]; };
  static WARPLOOM_DEVICE int at(const Record& r, int x) {
    return static_cast<int>(static_cast<unsigned int>(r.word[kWords == 1 ? 0 : x >> 3]) >> 4 * (x & 7) & 15u);
  }
  static WARPLOOM_DEVICE void put(Record& r, int x, int y) {
    r.word[kWords == 1 ? 0 : x >> 3] |= static_cast<int>(static_cast<unsigned int>(y) << 4 * (x & 7));
  }
  static WARPLOOM_DEVICE Record none() {
    Record made;
    WARPLOOM_UNROLL
    for (int i = 0; i < kWords; ++i) made.word[i] = 0;
    return made;
  }
  static WARPLOOM_DEVICE Record identity() {
    Record made = none();
    WARPLOOM_UNROLL
    for (int x = 0; x < kCount; ++x) put(made, x, x);
    return made;
  }
  static WARPLOOM_DEVICE Record compose(const Record& first, const Record& then) {
    Record made = none();
    WARPLOOM_UNROLL
    for (int x = 0; x < kCount; ++x) put(made, x, at(then, at(first, x)));
    return made;
  }
  static WARPLOOM_DEVICE void apply(const Record& r, const Wrap&, int* x) { x[0] = at(r, x[0]); }
};

/// The record of all lanes of a warp, one behind the other, and that of those before this one.
template <class Scan>
WARPLOOM_DEVICE typename Scan::Record join_lanes(
    const device::Block& block, const typename Scan::Record& own, typename Scan::Record& before) {
  using Record = typename Scan::Record;
  Record through = own;
  WARPLOOM_UNROLL
  for (int delta = 1; delta < 32; delta *= 2) {
    const Record other = device::shuffle_up(block, through, delta);
    if (block.lane() >= delta) through = Scan::compose(other, through);
  }
  before = device::shuffle_up(block, through, 1);
  if (block.lane() == 0) before = Scan::identity();
  return device::shuffle(block, through, 31);
}

/// Records of all threads, put together. The constructor leaves one for each warp in `scratch`; a barrier must follow before `finish`.
template <class Scan>
class Joining {
 public:
  using Record = typename Scan::Record;
  WARPLOOM_DEVICE Joining(const device::Block& block, const Record& own, int* scratch) : warps_(reinterpret_cast<Record*>(scratch)) {
    const Record all = join_lanes<Scan>(block, own, before_);
    if (block.lane() == 31) warps_[block.warp()] = all;
  }
  /// Returns that of the threads before this one, and that of all in `total`.
  WARPLOOM_DEVICE Record finish(const device::Block& block, Record& total) const {
    Record before = Scan::identity();
    total = before;
    for (int warp = 0; warp < block.threads() / 32; ++warp) {
      if (warp == block.warp()) before = total;
      total = Scan::compose(total, warps_[warp]);
    }
    return Scan::compose(before, before_);
  }

 private:
  Record* warps_;
  Record before_;
};

/// Record `i` of a tile of `rows` records, which lie word by word.
template <class Scan>
WARPLOOM_DEVICE typename Scan::Record record_at(const int* tile, int rows, int i) {
  typename Scan::Record made;
  WARPLOOM_UNROLL
  for (int w = 0; w < Scan::kWords; ++w) made.word[w] = tile[w * rows + i];
  return made;
}
template <class Scan>
WARPLOOM_DEVICE void put_record(int* tile, int rows, int i, const typename Scan::Record& r) {
  WARPLOOM_UNROLL
  for (int w = 0; w < Scan::kWords; ++w) tile[w * rows + i] = r.word[w];
}

/// Records that each of so many threads takes: where the order of sums matters, as many in a short round as in a whole one.
template <class Scan>
WARPLOOM_DEVICE int rows_by_worker(int rows, int count, int workers) {
  return ((Scan::kIsOrdered ? rows : count) + workers - 1) / workers;
}

/// Finds the state before each of `count` firings from their records, which lie in a tile of `rows`, and puts it in their place; or only
/// adds the records to that in `cell`, if kIsTotal. Needs a barrier before, behind, and between the constructor and `finish`.
template <class Scan, bool kIsTotal>
class Scanning {
 public:
  using Record = typename Scan::Record;
  WARPLOOM_DEVICE Scanning(const device::Block& block, const Wrap& wrap, int* tile, int rows, int count, int* cell, int* scratch)
      : tile_(tile), cell_(cell), wrap_(wrap), rows_(rows), begin_(first(block, rows, count)),
        end_(begin_ + each(block, rows, count, begin_)),
        joining_(block, own(), scratch) {
    WARPLOOM_UNROLL
    for (int s = 0; s < Scan::kSlots; ++s) x_[s] = cell[s];
  }

  WARPLOOM_DEVICE void finish(const device::Block& block) {
    Record total;
    const Record before = joining_.finish(block, total);
    if constexpr (kIsTotal) {
      if (block.thread() == 0) put_record<Scan>(cell_, 1, 0, Scan::compose(record_at<Scan>(cell_, 1, 0), total));
    } else {
      if (block.thread() == 0) {
        int behind[Scan::kSlots];
        copy(x_, behind);
        Scan::apply(total, wrap_, behind);
        copy(behind, cell_);
      }
      int x[Scan::kSlots];
      copy(x_, x);
      Scan::apply(before, wrap_, x);
      for (int i = begin_; i < end_; ++i) {
        const Record r = record_at<Scan>(tile_, rows_, i);
        WARPLOOM_UNROLL
        for (int s = 0; s < Scan::kSlots; ++s) tile_[s * rows_ + i] = x[s];
        Scan::apply(r, wrap_, x);
      }
    }
  }

 private:
  static WARPLOOM_DEVICE int first(const device::Block& block, int rows, int count) {
    const int each = rows_by_worker<Scan>(rows, count, block.threads());
    return block.thread() * each < count ? block.thread() * each : count;
  }
  static WARPLOOM_DEVICE int each(const device::Block& block, int rows, int count, int begin) {
    const int each = rows_by_worker<Scan>(rows, count, block.threads()), left = count - begin;
    return each < left ? each : left;
  }
  static WARPLOOM_DEVICE void copy(const int* from, int* to) {
    WARPLOOM_UNROLL
    for (int s = 0; s < Scan::kSlots; ++s) to[s] = from[s];
  }
  WARPLOOM_DEVICE Record own() const {
    Record made = Scan::identity();
    for (int i = begin_; i < end_; ++i) made = Scan::compose(made, record_at<Scan>(tile_, rows_, i));
    return made;
  }

  int* tile_;
  int* cell_;
  Wrap wrap_;
  int rows_, begin_, end_;
  Joining<Scan> joining_;
  int x_[Scan::kSlots];
};

/// What Scanning does, by one warp for itself: no barrier is needed, and other warps do something else.
template <class Scan, bool kIsTotal>
WARPLOOM_DEVICE void scan_by_warp(const device::Block& block, const Wrap& wrap, int* tile, int rows, int count, int* cell) {
  using Record = typename Scan::Record;
  const int each = rows_by_worker<Scan>(rows, count, 32);
  const int begin = block.lane() * each < count ? block.lane() * each : count;
  const int end = begin + each < count ? begin + each : count;
  Record own = Scan::identity(), before;
  WARPLOOM_NO_UNROLL
  for (int i = begin; i < end; ++i) own = Scan::compose(own, record_at<Scan>(tile, rows, i));
  const Record total = join_lanes<Scan>(block, own, before);
  if constexpr (kIsTotal) {
    if (block.lane() == 0) put_record<Scan>(cell, 1, 0, Scan::compose(record_at<Scan>(cell, 1, 0), total));
  } else {
    int x[Scan::kSlots];
    WARPLOOM_UNROLL
    for (int s = 0; s < Scan::kSlots; ++s) x[s] = cell[s];
    Scan::apply(before, wrap, x);
    WARPLOOM_NO_UNROLL
    for (int i = begin; i < end; ++i) {
      const Record r = record_at<Scan>(tile, rows, i);
      WARPLOOM_UNROLL
      for (int s = 0; s < Scan::kSlots; ++s) tile[s * rows + i] = x[s];
      Scan::apply(r, wrap, x);
    }
    block.sync_warp();  // all lanes have read the cell
    if (block.lane() < 31) return;
    WARPLOOM_UNROLL
    for (int s = 0; s < Scan::kSlots; ++s) cell[s] = x[s];
  }
}

/// kScans scans of one type side by side, one warp each, beginning with warp `first`. Their records and cells lie one behind the other.
template <class Scan, bool kIsTotal, int kScans>
WARPLOOM_DEVICE void scan_by_warps(
    const device::Block& block, int first, const Wrap* wraps, int* tile, int rows, int count, int* cells) {
  const int warps = block.threads() / 32;
  WARPLOOM_NO_UNROLL
  for (int s = turned(block, first * 32) / 32; s < kScans; s += warps) {
    scan_by_warp<Scan, kIsTotal>(block, wraps[s], tile + s * Scan::kStride * rows, rows, count, cells + s * Scan::kStride);
  }
}

/// The states before the stretch of a block, from the records of the blocks before it, into `cells`. The records of a block are `stride`
/// words behind those of the block before it.
template <class Scan, int kScans>
WARPLOOM_DEVICE void begin_scans(
    const device::Block& block, const Wrap* wraps, const int32_t* totals, int stride, const int32_t* carry, int* cells) {
  using Record = typename Scan::Record;
  const int count = static_cast<int>(block.index());
  const int each = (count + 31) / 32;
  const int begin = block.lane() * each < count ? block.lane() * each : count;
  const int end = begin + each < count ? begin + each : count;
  WARPLOOM_NO_UNROLL
  for (int s = block.warp(); s < kScans; s += block.threads() / 32) {
    if constexpr (Scan::kIsOrdered) {
      // One stretch after the other, from the beginning: the same bits however many blocks and launches there are.
      if (block.lane() > 0) continue;
      int x[Scan::kSlots];
      WARPLOOM_UNROLL
      for (int i = 0; i < Scan::kSlots; ++i) x[i] = carry[s * Scan::kSlots + i];
      for (int i = 0; i < count; ++i) {
        Scan::apply(record_at<Scan>(totals + static_cast<int64_t>(i) * stride + s * Scan::kWords, 1, 0), wraps[s], x);
      }
      WARPLOOM_UNROLL
      for (int i = 0; i < Scan::kSlots; ++i) cells[s * Scan::kStride + i] = x[i];
      continue;
    }
    Record own = Scan::identity(), before;
    WARPLOOM_NO_UNROLL  // once in a launch, and programs have many scans
    for (int i = begin; i < end; ++i) {
      own = Scan::compose(own, record_at<Scan>(totals + static_cast<int64_t>(i) * stride + s * Scan::kWords, 1, 0));
    }
    const Record total = join_lanes<Scan>(block, own, before);
    if (block.lane() > 0) continue;
    int x[Scan::kSlots];
    WARPLOOM_UNROLL
    for (int i = 0; i < Scan::kSlots; ++i) x[i] = carry[s * Scan::kSlots + i];
    Scan::apply(total, wraps[s], x);
    WARPLOOM_UNROLL
    for (int i = 0; i < Scan::kSlots; ++i) cells[s * Scan::kStride + i] = x[i];
  }
}

/// The states behind a block's stretch, from those before it and its records.
template <class Scan, int kScans>
WARPLOOM_DEVICE void finish_scans(
    const device::Block& block, const Wrap* wraps, const int32_t* totals, const int* cells, int32_t* carried) {
  for (int s = block.thread(); s < kScans; s += block.threads()) {
    int x[Scan::kSlots];
    WARPLOOM_UNROLL
    for (int i = 0; i < Scan::kSlots; ++i) x[i] = cells[s * Scan::kStride + i];
    Scan::apply(record_at<Scan>(totals + s * Scan::kWords, 1, 0), wraps[s], x);
    WARPLOOM_UNROLL
    for (int i = 0; i < Scan::kSlots; ++i) carried[s * Scan::kSlots + i] = x[i];
  }
}

/// Records of nothing in the cells of kScans scans.
template <class Scan, int kScans>
WARPLOOM_DEVICE void clear_records(const device::Block& block, int* cells) {
  for (int s = block.thread(); s < kScans; s += block.threads()) put_record<Scan>(cells + s * Scan::kStride, 1, 0, Scan::identity());
}

}  // namespace warploom::WARPLOOM_TARGET::stream
