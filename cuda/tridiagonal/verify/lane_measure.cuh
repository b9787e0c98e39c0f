// Answers measured where they are made: by the lanes that hold them, while the rows they are answers of are near.
//
// The backward error of a system is the largest of its rows', each exact to a rounding (entries_residual) and a division. Most
// rows are far from the largest: a rough figure of each row shows which ones have to be measured exactly, mostly one of a warp.
#pragma once
#include "cuda/tridiagonal/verify/finding.cuh"
#include "cuda/tridiagonal/verify/problem_rows.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Rough backward errors of rows, as words that compare as they do. They are never less than the exact ones but for 2^-10 of
/// them, as long as they are above kLeast and no row is `strange`: terms that only the exact figure counts make that smaller.
template <class T> struct RoughErrors;

template <>
struct RoughErrors<float> {
  static constexpr unsigned int kLeast = 0x26800000u;  ///< 2^-50
  static constexpr unsigned int kMargin = 1u << 15;    ///< 2^-9 to 2^-8
  static WARPLOOM_DEVICE unsigned int word_of(double error) { return device::high_word(static_cast<float>(error)); }
  static WARPLOOM_DEVICE unsigned int of(float lower, float diagonal, float upper, float rhs, double below, float here,
                                         double own, double above, float below_single, float above_single, bool& strange) {
    const double residual = device::fma(-widen(diagonal), own, device::fma(-widen(upper), above,
                                                                           device::fma(-widen(lower), below, widen(rhs))));
    const float scale = device::absolute(rhs) + device::absolute(lower * below_single) +
                        device::absolute(upper * above_single) + device::absolute(diagonal * here);
    strange = strange | (device::high_word(scale) - 0x21800000u > 0x5d800000u - 0x21800000u);  // 2^-60, 2^60
    return device::high_word(device::absolute(static_cast<float>(residual)) * device::rough_reciprocal(scale));
  }
};

template <>
struct RoughErrors<double> {
  static constexpr unsigned int kLeast = 0x3af00000u;  ///< 2^-80
  static constexpr unsigned int kMargin = 1u << 12;    ///< 2^-9 to 2^-8
  static WARPLOOM_DEVICE unsigned int word_of(double error) { return device::high_word(error); }
  static WARPLOOM_DEVICE unsigned int of(double lower, double diagonal, double upper, double rhs, double below, double,
                                         double own, double above, double, double, bool& strange) {
    const double first = lower * below, one = rhs - first, back = one - rhs;
    const double second = upper * above, two = one - second, again = two - one;
    const double lost = ((rhs - (one - back)) - (first + back)) - device::fma(lower, below, -first);
    const double more = ((one - (two - again)) - (second + again)) - device::fma(upper, above, -second);
    const double residual = device::fma(-diagonal, own, two) + (lost + more);
    // The diagonal's term is `two` but for the residual.
    const double scale = device::absolute(rhs) + device::absolute(first) + device::absolute(second) + device::absolute(two);
    const unsigned int word = device::high_word(device::absolute(residual) * device::rough_reciprocal(scale));
    strange = strange | (device::high_word(scale) - 0x1a700000u > 0x7e300000u - 0x1a700000u) | (word > 0x3eb00000u);
    return word;  // 2^-600, 2^996; 2^-20
  }
};

/// Index of the lowest bit that is set.
WARPLOOM_DEVICE int lowest_bit(unsigned int bits) {
  int at = 0;
  WARPLOOM_UNROLL
  for (int half = 16; half > 0; half /= 2) {
    const bool none = (bits & ((1u << half) - 1u)) == 0;
    at += none ? half : 0;
    bits = none ? bits >> half : bits;
  }
  return at;
}

/// Measures the answers of the kDepth rows of each lane, for groups of `width` lanes. `Entries`: at(v, j) is the entry of array v
/// (lower, diagonal, upper, right-hand side) in the lane's row j, zero outside of the matrix.
template <class T, int kDepth, class Entries>
struct LaneMeasure {
  using Rough = RoughErrors<T>;
  const Entries& entries;
  const T (&x)[kDepth];
  const T &before, &after;  ///< the unknowns before the lane's first one and after its last one
  int64_t first_row;
  int count;     ///< rows of the lane that are there
  int width;
  bool present;  ///< the group has any

  /// j is known when compiled.
  WARPLOOM_DEVICE const T& unknown(int j) const { return j < 0 ? before : j < kDepth ? x[j < 0 || j >= kDepth ? 0 : j] : after; }
  WARPLOOM_DEVICE unsigned int all_rows() const { return count > 0 ? (2u << (count - 1)) - 1u : 0u; }

  /// Of every row; the largest of the lane, and whether any is strange.
  WARPLOOM_DEVICE unsigned int roughly(unsigned int (&word)[kDepth], bool& strange) const {
    unsigned int most = 0;
    double below = widen(before), here = widen(x[0]);
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      const double above = widen(unknown(j + 1));
      bool odd = false;
      word[j] = Rough::of(entries.at(0, j), entries.at(1, j), entries.at(2, j), entries.at(3, j), below, x[j], here, above,
                          unknown(j - 1), unknown(j + 1), odd);
      if (j >= count) word[j] = 0;
      strange = strange | (odd & (j < count));
      most = word[j] > most ? word[j] : most;
      below = here;
      here = above;
    }
    return most;
  }

  /// Of the rows whose bits are set: one copy of the code, run for one row or two in the usual case.
  WARPLOOM_DEVICE RowsFinding exactly(unsigned int rows) const {
    RowsFinding found;
    WARPLOOM_NO_UNROLL
    for (; rows != 0; rows &= rows - 1) {
      const int j = lowest_bit(rows);
      T beside[3] = {before, x[0], unknown(1)};
      WARPLOOM_UNROLL
      for (int k = 1; k < kDepth; ++k) {
        beside[0] = k == j ? x[k - 1] : beside[0];
        beside[1] = k == j ? x[k] : beside[1];
        beside[2] = k == j ? unknown(k + 1) : beside[2];
      }
      const T lower = entries.at(0, j), diagonal = entries.at(1, j), upper = entries.at(2, j), rhs = entries.at(3, j);
      const double own = widen(beside[1]);
      const auto residual = entries_residual<T>(lower, diagonal, upper, rhs, widen(beside[0]), own, widen(beside[2]));
      find<T>(found, first_row + j, residual, own, [&] {
        return device::is_finite(lower) && device::is_finite(diagonal) && device::is_finite(upper) && device::is_finite(rhs);
      });
    }
    return found;
  }

  /// The group's; `every`: by all rows. All lanes of the warp take part.
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
      // The rough figures were right where the exact ones say so.
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
