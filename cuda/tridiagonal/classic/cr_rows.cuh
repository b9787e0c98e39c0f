// The rows of one system in shared memory, for cyclic reduction, and the operations of a group of threads on them.
#pragma once
#include "cuda/tridiagonal/classic/block_problem.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Row i is in slot i+1 of four arrays. The rows of stage s are then the slots at multiples of 2^s, and those at odd
/// multiples leave. Slot 0 and the slot after the last row are zero: they stand for missing neighbours. One element is
/// skipped after each full width of the banks (and again after each full width of those), so that the strides 2, 4, 8…
/// cause no bank conflicts (after Göddeke, Strzodka 2011).
template <class T>
class CrRows {
 public:
  static constexpr int kPerChunk = 16 / static_cast<int>(sizeof(T));
  static constexpr int kBankBits = sizeof(T) == 4 ? 5 : sizeof(T) == 8 ? 4 : 3;
  static constexpr int kTurns = 2;  ///< chunks of each array that a thread loads at once

  static WARPLOOM_HOST_DEVICE int at(int slot) {
    const auto place = static_cast<unsigned int>(slot);
    return static_cast<int>(place + (place >> kBankBits) + (place >> (2 * kBankBits)));
  }
  static WARPLOOM_HOST_DEVICE int capacity(int n) { return at(n + 1) + 1; }
  /// Systems that share a warp start half the banks plus one apart.
  static WARPLOOM_HOST_DEVICE size_t bytes(int n) {
    constexpr int kBanks = 1 << kBankBits, kBegin = kBanks / 2 + 1;
    const int elements = 4 * capacity(n);
    return (elements + ((kBegin - elements) & (kBanks - 1))) * sizeof(T);
  }

  WARPLOOM_DEVICE CrRows(unsigned char* memory, int n, int rows)
      : a_(reinterpret_cast<T*>(memory)), b_(a_ + capacity(n)), c_(b_ + capacity(n)), d_(c_ + capacity(n)), rows_(rows) {}

  /// Loads rows from `begin` on, with any strides. A barrier must follow, also after the functions below.
  WARPLOOM_DEVICE void load(const Batch<T>& batch, const GroupProblem<T>& group, int begin, Outcome& outcome) const {
    WARPLOOM_NO_UNROLL
    for (int i = begin + group.lane; i < rows_; i += group.threads) {
      const Row<T> row = load_row(batch, group.problem, i);
      outcome.check_input(row, i);
      put(i + 1, (i & 1) == 0, row, outcome);
    }
    if (group.lane > 1) return;
    const int end = at(group.lane * (rows_ + 1));  // the missing neighbours
    a_[end] = c_[end] = d_[end] = zero<T>();
  }

  /// Loads 16 bytes at a time.
  WARPLOOM_DEVICE void load_wide(const Batch<T>& batch, const GroupProblem<T>& group, Outcome& outcome) const {
    const T* const lower = start(batch.lower, group, 0);
    const T* const diagonal = start(batch.diagonal, group, 0);
    const T* const upper = start(batch.upper, group, 0);
    const T* const rhs = start(batch.rhs, group, group.problem.rhs);
    const int apart = group.threads * kPerChunk, whole = rows_ & ~(kPerChunk - 1);
    WARPLOOM_NO_UNROLL
    for (int first = group.lane * kPerChunk; first < whole; first += kTurns * apart) {
      Chunk chunk[kTurns];
      WARPLOOM_UNROLL
      for (int turn = 0; turn < kTurns; ++turn) {
        const int i = first + turn * apart;
        if (i < whole) chunk[turn] = {pack_at(lower, i), pack_at(diagonal, i), pack_at(upper, i), pack_at(rhs, i)};
      }
      WARPLOOM_UNROLL
      for (int turn = 0; turn < kTurns; ++turn) {
        const int i = first + turn * apart;
        if (i < whole) put_chunk(batch, group, i, chunk[turn], outcome);
      }
    }
    load(batch, group, whole, outcome);
  }

  /// One stage of the reduction: rows at even multiples of 2^stage absorb both neighbours. Rows that leave in the next
  /// stage are divided by their pivots; with `all`, the others too.
  WARPLOOM_DEVICE void reduce(int stage, int lane, int threads, bool all, Outcome& outcome) const {
    const int kept = rows_ >> (stage + 1), distance = 1 << stage;
    for (int j = lane + 1; j <= kept; j += threads) {
      const int slot = j << (stage + 1);
      const int left = at(slot - distance), own = at(slot), right = at(right_of(slot, distance));
      const T k = -a_[own], m = -c_[own];
      Row<T> row;
      row.b = device::fma(m, a_[right], device::fma(k, c_[left], b_[own]));
      row.d = device::fma(m, d_[right], device::fma(k, d_[left], d_[own]));
      row.a = k * a_[left];
      row.c = m * c_[right];
      put(slot, all || (j & 1) != 0, row, outcome);
    }
  }

  /// One stage of the substitution: computes the unknowns at odd multiples of 2^stage, in d, from their neighbours.
  WARPLOOM_DEVICE void substitute(int stage, int lane, int threads) const {
    const int known = ((rows_ >> stage) + 1) >> 1, distance = 1 << stage;
    for (int j = lane; j < known; j += threads) {
      const int slot = (2 * j + 1) << stage;
      const int left = at(slot - distance), own = at(slot), right = at(right_of(slot, distance));
      d_[own] = device::fma(-c_[own], d_[right], device::fma(-a_[own], d_[left], d_[own]));
    }
  }

  /// Computes the unknowns of the rows at multiples of 2^stage, one per lane; no system of the warp has more than
  /// `most`.
  WARPLOOM_DEVICE void solve_by_pcr(const device::Block& block, int stage, int most, int lane, int lanes,
                                    Outcome& outcome) const {
    const bool own = lane < rows_ >> stage;
    const int slot = (lane + 1) << stage, place = own ? at(slot) : 0;
    Scaled row{zero<T>(), zero<T>(), zero<T>()};
    if (own) row = {a_[place], c_[place], d_[place]};
    for (int distance = 1; distance < most; distance *= 2) {
      // A lane without a neighbour gets its own row, whose factor is zero.
      const Scaled left = device::shuffle_up(block, row, distance, lanes);
      const Scaled right = device::shuffle_down(block, row, distance, lanes);
      const T k = -row.a, m = -row.c;
      const T pivot = device::fma(m, right.a, device::fma(k, left.c, T(RealOf<T>(1))));
      const T inverse = inverse_of(pivot, slot, true, outcome);
      row.d = device::fma(m, right.d, device::fma(k, left.d, row.d)) * inverse;
      row.a = k * left.a * inverse;
      row.c = m * right.c * inverse;
    }
    if (own) d_[place] = row.d;
  }

  WARPLOOM_DEVICE void store(const Batch<T>& batch, const GroupProblem<T>& group, int begin, Outcome& outcome) const {
    WARPLOOM_NO_UNROLL
    for (int i = begin + group.lane; i < rows_; i += group.threads) group.store(batch, i, d_[at(i + 1)], outcome);
  }
  WARPLOOM_DEVICE void store_wide(const Batch<T>& batch, const GroupProblem<T>& group, Outcome& outcome) const {
    T* const to = start(batch.solution, group, group.problem.rhs);
    const int whole = rows_ & ~(kPerChunk - 1);
    WARPLOOM_NO_UNROLL
    for (int first = group.lane * kPerChunk; first < whole; first += group.threads * kPerChunk) {
      device::Pack<T> pack;
      bool finite = true;
      WARPLOOM_UNROLL
      for (int e = 0; e < kPerChunk; ++e) {
        pack.item[e] = d_[at(first + e + 1)];
        finite = finite & device::is_finite(pack.item[e]);
      }
      *reinterpret_cast<device::Pack<T>*>(to + first) = pack;
      if (__builtin_expect(finite, 1)) continue;
      WARPLOOM_NO_UNROLL
      for (int i = first; i < first + kPerChunk; ++i) outcome.check_solution(d_[at(i + 1)], i);
    }
    store(batch, group, whole, outcome);
  }

 private:
  /// One row divided by its pivot.
  struct Scaled {
    T a, c, d;
  };
  struct Chunk {
    device::Pack<T> a, b, c, d;
  };

  static WARPLOOM_DEVICE T* start(const Strided<T>& array, const GroupProblem<T>& group, int64_t rhs) {
    return array.data + array.index(group.problem.origin, 0, rhs);
  }
  WARPLOOM_DEVICE int right_of(int slot, int distance) const {
    return slot + distance <= rows_ ? slot + distance : rows_ + 1;
  }

  static WARPLOOM_DEVICE T inverse_of(const T& pivot, int slot, bool leaves, Outcome& outcome) {
    bool ordinary = true;
    T inverse = device::ordinary_reciprocal(pivot, ordinary);
    if (__builtin_expect(!ordinary, 0)) {
      if (leaves) outcome.check_pivot(pivot, slot - 1);
      inverse = device::reciprocal(pivot);
    }
    return inverse;
  }

  WARPLOOM_DEVICE void put(int slot, bool leaves, const Row<T>& row, Outcome& outcome) const {
    const T inverse = inverse_of(row.b, slot, leaves, outcome);
    const int place = at(slot);
    if (!leaves) b_[place] = row.b;
    a_[place] = leaves ? row.a * inverse : row.a;
    c_[place] = leaves ? row.c * inverse : row.c;
    d_[place] = leaves ? row.d * inverse : row.d;
  }

  static WARPLOOM_DEVICE device::Pack<T> pack_at(const T* from, int first) {
    return *reinterpret_cast<const device::Pack<T>*>(from + first);
  }
  WARPLOOM_DEVICE void put_chunk(const Batch<T>& batch, const GroupProblem<T>& group, int first, const Chunk& chunk,
                                 Outcome& outcome) const {
    bool finite = true;
    WARPLOOM_UNROLL
    for (int e = 0; e < kPerChunk; ++e) {
      Row<T> row{chunk.a.item[e], chunk.b.item[e], chunk.c.item[e], chunk.d.item[e]};
      if (e == 0 && first == 0) row.a = zero<T>();
      if (e + 1 == kPerChunk && first + kPerChunk == rows_) row.c = zero<T>();
      finite = finite & device::is_finite(row.a) & device::is_finite(row.b) & device::is_finite(row.c) &
               device::is_finite(row.d);
      put(first + e + 1, (kPerChunk == 1 ? first & 1 : e & 1) == 0, row, outcome);
    }
    if (__builtin_expect(finite, 1)) return;
    WARPLOOM_NO_UNROLL
    for (int i = first; i < first + kPerChunk; ++i) outcome.check_input(load_row(batch, group.problem, i), i);
  }

  T *a_, *b_, *c_, *d_;
  int rows_;
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
