// Measures answers where they are computed: in the lanes that hold them, while their rows are close by.
//
// The backward error of a system is the largest of its rows' errors, each exact up to a rounding (entries_residual) and
// a division. Most rows are far from the largest. A rough estimate for each row shows which rows must be measured
// exactly: usually one per warp.
#pragma once
#include "cuda/tridiagonal/verify/finding.cuh"
#include "cuda/tridiagonal/verify/problem_rows.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// rhs - lower * below - upper * above - diagonal * own, from products and differences together with their rounding
/// errors (Ogita, Rump, Oishi 2005). With u half a unit, it is accurate to 2 u of itself and 12 u^2 of the scale, which
/// is the sum of the terms' magnitudes. Converting floats to double would take longer than the computation.
template <class T>
struct RoughResidual {
  T residual, scale;
  WARPLOOM_DEVICE RoughResidual(T lower, T diagonal, T upper, T rhs, T below, T own, T above) {
    const T first = lower * below, one = rhs - first, back = one - rhs;
    const T second = upper * above, two = one - second, again = two - one;
    const T lost = ((rhs - (one - back)) - (first + back)) - device::fma(lower, below, -first);
    const T more = ((one - (two - again)) - (second + again)) - device::fma(upper, above, -second);
    residual = device::fma(-diagonal, own, two) + (lost + more);
    scale = device::absolute(rhs) + device::absolute(first) + device::absolute(second) + device::absolute(diagonal * own);
  }
  WARPLOOM_DEVICE unsigned int word() const {
    return device::high_word(device::absolute(residual) * device::rough_reciprocal(scale));
  }
};

/// Rough backward errors of rows, as words that compare like the errors. They are at least the exact errors minus 2^-10
/// of them, as long as they are above kLeast and no row's scale is `strange`: terms that only the exact error counts
/// make it smaller.
template <class T> struct RoughErrors;

template <>
struct RoughErrors<float> {
  static constexpr unsigned int kLeast = 0x2f800000u;  ///< 2^-32
  static constexpr unsigned int kMargin = 1u << 15;    ///< 2^-9 to 2^-8
  static constexpr unsigned int kSmall = 0x21800000u, kLarge = 0x5d800000u;  ///< 2^-60, 2^60
  static WARPLOOM_DEVICE unsigned int word_of(double error) { return device::high_word(static_cast<float>(error)); }
};

template <>
struct RoughErrors<double> {
  static constexpr unsigned int kLeast = 0x3af00000u;  ///< 2^-80
  static constexpr unsigned int kMargin = 1u << 12;    ///< 2^-9 to 2^-8
  static constexpr unsigned int kSmall = 0x1a700000u, kLarge = 0x7e300000u;  ///< 2^-600, 2^996
  static WARPLOOM_DEVICE unsigned int word_of(double error) { return device::high_word(error); }
};

/// Index of the lowest set bit, of 24.
WARPLOOM_DEVICE int lowest_bit(unsigned int bits) {
  return static_cast<int>(device::high_word(static_cast<float>(bits & (0u - bits))) >> 23) - 127;
}

/// Moves values[at], values[at + 1] and values[at + 2] to the front, bit by bit of `at`, starting at kBit.
template <int kBit, class T, int kCount>
WARPLOOM_DEVICE void move_to_front(T (&values)[kCount], int at) {
  const bool far = (at & kBit) != 0;
  WARPLOOM_UNROLL
  for (int k = 0; k < (kBit + 2 < kCount - kBit ? kBit + 2 : kCount - kBit); ++k) {
    const T near_value = values[k], far_value = values[k + kBit];
    values[k] = far ? far_value : near_value;
  }
  if constexpr (kBit > 1) move_to_front<kBit / 2>(values, at);
}

/// Measures the answers of the kDepth rows of each lane, for groups of `width` lanes. `Entries`: at(v, j) is the entry
/// of array v (lower, diagonal, upper, right-hand side) in the lane's row j, zero outside the matrix. With
/// kIdentityBeyond a lane's missing rows say x = 1, which has no error.
template <class T, int kDepth, class Entries>
struct LaneMeasure {
  using Rough = RoughErrors<T>;
  const Entries& entries;
  const T (&x)[kDepth];
  const T &before, &after;  ///< the unknowns before the lane's first one and after its last one
  int64_t first_row;
  int count;     ///< rows that the lane has
  int width;
  bool present;  ///< the group has rows

  /// j must be a compile-time constant.
  WARPLOOM_DEVICE const T& unknown(int j) const { return j < 0 ? before : j < kDepth ? x[j < 0 || j >= kDepth ? 0 : j] : after; }
  WARPLOOM_DEVICE unsigned int all_rows() const { return count > 0 ? (2u << (count - 1)) - 1u : 0u; }

  /// Rough errors of all rows; returns the largest of the lane, and notes whether any is strange.
  WARPLOOM_DEVICE unsigned int roughly(unsigned int (&word)[kDepth], bool& strange) const {
    unsigned int most = 0;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      const RoughResidual<T> rough(entries.at(0, j), entries.at(1, j), entries.at(2, j), entries.at(3, j), unknown(j - 1), x[j],
                                   unknown(j + 1));
      const bool inside = Entries::kIdentityBeyond || j < count;
      const bool odd = device::high_word(rough.scale) - Rough::kSmall > Rough::kLarge - Rough::kSmall;
      word[j] = inside ? rough.word() : 0;
      strange = strange | (odd & inside);
      most = word[j] > most ? word[j] : most;
    }
    return most;
  }

  /// Exact errors of the rows whose bits are set: a single copy of the code, usually run for one or two rows.
  WARPLOOM_DEVICE RowsFinding exactly(unsigned int rows) const {
    RowsFinding found;
    WARPLOOM_NO_UNROLL
    for (; rows != 0; rows &= rows - 1) {
      const int j = lowest_bit(rows);
      T beside[kDepth + 2];
      WARPLOOM_UNROLL
      for (int k = 0; k < kDepth + 2; ++k) beside[k] = unknown(k - 1);
      move_to_front<16>(beside, j);
      const T lower = entries.at(0, j), diagonal = entries.at(1, j), upper = entries.at(2, j), rhs = entries.at(3, j);
      const double own = widen(beside[1]);
      const auto residual = entries_residual<T>(lower, diagonal, upper, rhs, widen(beside[0]), own, widen(beside[2]));
      find<T>(found, first_row + j, residual, own, [&] {
        return device::is_finite(lower) && device::is_finite(diagonal) && device::is_finite(upper) && device::is_finite(rhs);
      });
    }
    return found;
  }

  /// The group's error; `every`: measures all rows. All lanes of the warp must call it.
  WARPLOOM_DEVICE RowsFinding measure(const device::Block& block, bool every) const {
    unsigned int word[kDepth], rows = all_rows();
    bool strange = every;
    unsigned int most = roughly(word, strange);
    bool all = device::ballot(block, strange) != 0;
    if (__builtin_expect(!all, 1)) {
      most = group_maximum(block, most, width);
      all = device::ballot(block, present && most < Rough::kLeast) != 0;
      unsigned int near = 0;
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) near |= word[j] >= most - Rough::kMargin ? 1u << j : 0u;
      if (!all) rows &= near;
    }
    RowsFinding found;
    WARPLOOM_NO_UNROLL
    while (true) {
      found = exactly(rows);
      if (__builtin_expect(all, 0)) break;
      found.backward_error = group_maximum(block, found.backward_error, width);
      // The rough errors were right if the exact ones confirm them.
      all = device::ballot(block, present && Rough::word_of(found.backward_error) < most - Rough::kMargin / 2) != 0;
      if (__builtin_expect(!all, 1)) return found;
      rows = all_rows();
    }
    WARPLOOM_NO_UNROLL
    for (int mask = 1; mask < width; mask *= 2) {
      found = combine(found, device::shuffle_xor(block, found, mask));
    }
    return found;
  }
};

template <class T, int kDepth, class Entries>
WARPLOOM_DEVICE RowsFinding measure_lanes(const device::Block& block, const Entries& entries, const T (&x)[kDepth],
                                          const T& before, const T& after, int64_t first_row, int count, int width, bool present,
                                          bool every) {
  return LaneMeasure<T, kDepth, Entries>{entries, x, before, after, first_row, count, width, present}.measure(block, every);
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
