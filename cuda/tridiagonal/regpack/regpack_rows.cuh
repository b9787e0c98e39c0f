// Cyclic reduction on rows in registers: inside a lane (RegisterRows, through the downsweep pattern), then across lanes
// (eliminate_lanes, substitute_lanes). Equations of Davidson & Owens 2011, section 4, with every leaving row scaled by
// its pivot, so that three of its four values remain.
#pragma once
#include "cuda/core/complex.cuh"
#include "cuda/core/downsweep.cuh"
#include "cuda/linear/sides.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// a*x[left] + b*x[here] + c*x[right] = d; V is one right-hand side, or Sides.
template <class T, class V = T>
struct Row {
  T a, b, c;
  V d;
};

/// How the first unknown of a segment depends on its surroundings once the segment's inner rows are eliminated. Stored
/// as the terms that a row in front of it gains per unit of its own upper entry c:
///   b += c*front.b,  d += c*front.d,  c = c*front.c (now the segment's last unknown).
template <class T, class V = T>
struct Front {
  T b, c;
  V d;
};

/// The front of a segment before any elimination.
template <class T>
WARPLOOM_DEVICE Front<T> untouched_front() { return {T(0), T(1), T(0)}; }

/// An eliminated row's equation x = d - a*x[left] - c*x[right], for the exchange between lanes.
template <class T, class V = T>
struct Equation {
  T a, c;
  V d;
};

/// A row absorbs the front of the segment to its right.
template <class T, class V>
WARPLOOM_DEVICE void absorb_front(Row<T, V>& row, const Front<T, V>& front) {
  row.b = device::fma(row.c, front.b, row.b);
  row.d = device::fma(row.c, front.d, row.d);
  row.c = row.c * front.c;
}

/// Extraordinary pivots of one lane: bit j of `zero` is set if row j of the lane met a zero pivot; `infinite` is set if
/// one was infinite (its reciprocal vanishes, so the solution would look finite).
struct Pivots {
  unsigned int zero = 0;
  bool infinite = false;
  bool ordinary = true;  ///< false: PivotCare::quick met a pivot it cannot handle

  /// 1/pivot for any pivot; zero and infinite pivots are noted here.
  template <class T>
  WARPLOOM_DEVICE T extraordinary(const T& pivot, int row) {
    const T value = device::reciprocal(pivot);
    if (device::absolute(pivot) == 0) zero |= 1u << row;
    infinite = infinite || device::absolute(value) == 0;
    return value;
  }
  template <class T>
  WARPLOOM_DEVICE T reciprocal(const T& pivot, int row) {
    bool ordinary = true;
    const T value = device::ordinary_reciprocal(pivot, ordinary);
    return __builtin_expect(ordinary, 1) ? value : extraordinary(pivot, row);
  }
};

/// guarded: one test and branch per stage. quick: no branches; the caller checks Pivots::ordinary and starts again with
/// exact.
enum class PivotCare { guarded, quick, exact };

/// kDepth consecutive rows of one lane. After Downsweep::down, row kDepth-1 lacks what lies to its right, which the
/// next lane's `front` supplies in one exchange (r_save of every stage, combined in one message). After Downsweep::up,
/// d holds the solution.
template <class T, int kDepth, PivotCare kCare = PivotCare::guarded, class V = T>
struct RegisterRows {
  T a[kDepth], b[kDepth], c[kDepth];
  V d[kDepth];
  Front<T, V> front;
  Pivots pivots;
  V x_left;  ///< last unknown of the previous lane, set before Downsweep::up

  /// Replaces the pivots of all outer rows of the stage, within kLength rows from kBegin on, by their reciprocals. They
  /// are independent of each other, with one branch for all that are not ordinary.
  template <int kCount, int kStride, int kBegin = 0, int kLength = kDepth>
  WARPLOOM_DEVICE void prepare() {
    constexpr int kStep = 2 * kStride;
    constexpr bool kAll = kStride == kLength;  // only the last row, which a caller prepares
    constexpr int kAt = kAll ? kLength - 1 : (kLength - 1 + kStride) % kStep;
    constexpr int kFirst = kBegin + kAt;
    constexpr int kLeaving = kAll ? 1 : (kLength - 1 - kStride - kAt) / kStep + 1;
    T inverse[kLeaving];
    bool ordinary = kCare != PivotCare::exact;
    if constexpr (kCare != PivotCare::exact) {
      WARPLOOM_UNROLL
      for (int k = 0; k < kLeaving; ++k) {
        inverse[k] = device::ordinary_reciprocal(b[k * kStep + kFirst], ordinary);
      }
    }
    if constexpr (kCare == PivotCare::quick) {
      pivots.ordinary = pivots.ordinary & ordinary;
    } else if (__builtin_expect(!ordinary, 0)) {
      WARPLOOM_UNROLL
      for (int k = 0; k < kLeaving; ++k) {
        inverse[k] = pivots.extraordinary(b[k * kStep + kFirst], k * kStep + kFirst);
      }
    }
    WARPLOOM_UNROLL
    for (int k = 0; k < kLeaving; ++k) b[k * kStep + kFirst] = inverse[k];
  }
  /// Divides row i by its pivot; b[i] is the pivot's reciprocal.
  WARPLOOM_DEVICE void scale(int i) {
    a[i] = a[i] * b[i];
    c[i] = c[i] * b[i];
    d[i] = d[i] * b[i];
  }
  WARPLOOM_DEVICE void take_left(int i, int left) {
    const T k = -a[i];
    b[i] = device::fma(k, c[left], b[i]);
    d[i] = device::fma(k, d[left], d[i]);
    a[i] = k * a[left];
  }
  WARPLOOM_DEVICE void take_right(int i, int right) {
    const T k = -c[i];
    b[i] = device::fma(k, a[right], b[i]);
    d[i] = device::fma(k, d[right], d[i]);
    c[i] = k * c[right];
  }

  template <int kCount>
  WARPLOOM_DEVICE void eliminate(int first, int) {
    static_assert(kCount == 1, "radix 2");
    scale(first);
  }
  template <int kCount>
  WARPLOOM_DEVICE void save(int first, int stride) {
    // The first row leaves at the lowest set bit of kDepth - 1.
    extend(front, first, stride == ((kDepth - 1) & -(kDepth - 1)));
  }
  /// A front absorbs row i, which leaves; `untouched`: it is the first row.
  WARPLOOM_DEVICE void extend(Front<T, V>& reach, int i, bool untouched) const {
    const T k = untouched ? T(-1) : -reach.c;
    reach.b = untouched ? -a[i] : device::fma(k, a[i], reach.b);
    reach.d = untouched ? -d[i] : device::fma(k, d[i], reach.d);
    reach.c = untouched ? -c[i] : k * c[i];
  }
  WARPLOOM_DEVICE void update(int kept, int left, int right) {
    if (left != kOutside) take_left(kept, left);
    if (right != kOutside) take_right(kept, right);
  }
  template <int kCount>
  WARPLOOM_DEVICE void substitute(int i, int, int left, int right) {
    static_assert(kCount == 1, "radix 2");
    const V before = left == kOutside ? x_left : d[left];
    d[i] = device::fma(-a[i], before, device::fma(-c[i], d[right], d[i]));
  }
  WARPLOOM_DEVICE Row<T, V> last() const {
    return {a[kDepth - 1], b[kDepth - 1], c[kDepth - 1], d[kDepth - 1]};
  }
};

/// Rows kBegin … kBegin+kLength-1 of a lane as items of a separate downsweep.
template <class T, int kDepth, int kBegin, int kLength>
struct RowsPart {
  RegisterRows<T, kDepth>& rows;
  Front<T> front;
  T x_left;

  WARPLOOM_DEVICE explicit RowsPart(RegisterRows<T, kDepth>& all) : rows(all) {}
  template <int kCount, int kStride>
  WARPLOOM_DEVICE void prepare() { rows.template prepare<kCount, kStride, kBegin, kLength>(); }
  template <int kCount>
  WARPLOOM_DEVICE void eliminate(int first, int stride) { rows.template eliminate<kCount>(kBegin + first, stride); }
  template <int kCount>
  WARPLOOM_DEVICE void save(int first, int stride) { rows.extend(front, kBegin + first, stride == 1); }
  WARPLOOM_DEVICE void update(int kept, int left, int right) {
    rows.update(kBegin + kept, kBegin + left, right == kOutside ? kOutside : kBegin + right);
  }
  template <int kCount>
  WARPLOOM_DEVICE void substitute(int first, int, int left, int right) {
    static_assert(kCount == 1, "radix 2");
    const int i = kBegin + first;
    const T before = left == kOutside ? x_left : rows.d[kBegin + left];
    rows.d[i] = device::fma(-rows.a[i], before, device::fma(-rows.c[i], rows.d[kBegin + right], rows.d[i]));
  }
};

namespace detail {
/// The stages of eliminate_lanes. kExact: accepts any pivot and notes it in `pivots`. Otherwise free of branches;
/// returns false in lanes whose pivot was not ordinary.
template <bool kFront, bool kExact, bool kUnrolled, bool kCyclic = false, class T, class V>
WARPLOOM_DEVICE bool eliminate_lane_stages(const device::Block& block, Row<T, V>& row, Front<T, V>& front, int width,
                                           Pivots& pivots, int bit) {
  const int position = (block.lane() & (width - 1)) + 1;
  const int leaves_at = position & -position;  // the stride at which this lane's row leaves
  const bool last = position == width;
  bool ordinary = true;
  const auto stage = [&](int stride) {
    const bool leaves = leaves_at == stride;
    T r = T(1);
    if constexpr (kExact) {
      if (leaves) r = pivots.extraordinary(row.b, bit);
    } else {
      bool good = true;
      r = device::ordinary_reciprocal(row.b, good);
      ordinary = ordinary & (good | !leaves);
    }
    row.a = leaves ? row.a * r : row.a;
    row.c = leaves ? row.c * r : row.c;
    row.d = leaves ? row.d * r : row.d;
    const Equation<T, V> mine{row.a, row.c, row.d};
    const Equation<T, V> left = device::shuffle_up(block, mine, stride);
    const Equation<T, V> right = kFront || kCyclic ? device::shuffle(block, mine, position - 1 + stride, width)
                                                   : device::shuffle_down(block, mine, stride);
    if (leaves_at > stride) {
      const T k = -row.a;
      row.b = device::fma(k, left.c, row.b);
      row.d = device::fma(k, left.d, row.d);
      row.a = k * left.a;
    }
    // Three separate conditions rather than nested ones: predicates, no branches.
    if (leaves_at > stride && (kCyclic || !last)) {
      const T m = -row.c;
      row.b = device::fma(m, right.a, row.b);
      row.d = device::fma(m, right.d, row.d);
      row.c = m * right.c;
    }
    if (kFront && last) {
      const T m = -front.c;
      front.b = device::fma(m, right.a, front.b);
      front.d = device::fma(m, right.d, front.d);
      front.c = m * right.c;
    }
  };
  if constexpr (kUnrolled) {
    WARPLOOM_UNROLL
    for (int k = 0; k < 5; ++k) {
      if (1 << k < width) stage(1 << k);
    }
  } else {
    WARPLOOM_NO_UNROLL
    for (int stride = 1; stride < width; stride *= 2) stage(stride);
  }
  return ordinary;
}
}  // namespace detail

/// Cyclic reduction of one row per lane over groups of `width` lanes (a power of two); the last lane of a group
/// remains. `begin(row, front)` sets the rows. They are complete on the right except in the last lane, whose right side
/// is `front` (what lies before the group's first row). With kFront, `front` follows the elimination: a wrapped shuffle
/// brings the last lane exactly the rows that leave at the group's front. Without kFront the last row's c is treated as
/// zero. With kCyclic the group's first row is its right neighbour, and what remains of the last row says (a + b + c) *
/// x = d. A warp that meets a pivot that is not ordinary starts again and treats every pivot exactly, so `begin` may
/// run twice. kUnrolled: takes less time, more code and more registers.
template <bool kFront, bool kUnrolled = false, bool kCyclic = false, class T, class V, class Begin>
WARPLOOM_DEVICE void eliminate_lanes(const device::Block& block, Row<T, V>& row, Front<T, V>& front, int width,
                                     Pivots& pivots, int bit, Begin begin) {
  begin(row, front);
  const bool ordinary = detail::eliminate_lane_stages<kFront, false, kUnrolled, kCyclic>(block, row, front, width, pivots, bit);
  if (__builtin_expect(device::ballot(block, !ordinary) != 0, 0)) {
    begin(row, front);
    detail::eliminate_lane_stages<kFront, true, false, kCyclic>(block, row, front, width, pivots, bit);
  }
}

/// Back substitution for eliminate_lanes. `x` is the last lane's unknown (other lanes' values are ignored), x_before
/// the unknown before the group. Returns every lane's unknown.
template <bool kUnrolled = false, class T, class V>
WARPLOOM_DEVICE V substitute_lanes(const device::Block& block, const Row<T, V>& row, V x, const V& x_before, int width) {
  const int position = (block.lane() & (width - 1)) + 1;
  const int leaves_at = position & -position;
  const auto stage = [&](int stride) {
    const V left = device::shuffle_up(block, x, stride);
    const V right = device::shuffle_down(block, x, stride);
    if (leaves_at == stride) {
      const V before = position == stride ? x_before : left;
      x = device::fma(-row.a, before, device::fma(-row.c, right, row.d));
    }
  };
  if constexpr (kUnrolled) {
    WARPLOOM_UNROLL
    for (int k = 4; k >= 0; --k) {
      if (1 << k < width) stage(1 << k);
    }
  } else {
    WARPLOOM_NO_UNROLL
    for (int stride = width / 2; stride > 0; stride /= 2) stage(stride);
  }
  return x;
}

/// Complete solve with one row per lane over a group; the first row's a and the last row's c are zero.
template <class T, class V, class Begin>
WARPLOOM_DEVICE V solve_lanes(const device::Block& block, Row<T, V>& row, int width, Pivots& pivots, int bit,
                              Begin begin) {
  Front<T, V> none;
  eliminate_lanes<false>(block, row, none, width, pivots, bit, begin);
  V x = row.d;
  if ((block.lane() & (width - 1)) == width - 1) x = row.d * pivots.reciprocal(row.b, bit);
  return substitute_lanes(block, row, x, V{}, width);
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
