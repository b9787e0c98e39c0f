// One matrix for many right-hand sides. The results of cyclic reduction on the bands are computed once per block and
// kept, so that a right-hand side takes two multiplications per row in each direction and no reciprocal. The operations
// are those of RegisterRows and eliminate_lanes, on the same numbers: the same bits.
#pragma once
#include "cuda/core/downsweep.cuh"
#include "cuda/linear/verdict.cuh"
#include "cuda/tridiagonal/batch.cuh"
#include "cuda/tridiagonal/regpack/regpack_rows.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// What is kept of a row that leaves inside its lane. The last row of a lane remains, and `inverse` is its diagonal
/// entry.
enum class Part {
  lower,    ///< its entries, divided by the pivot
  upper,
  inverse,  ///< 1 / pivot
  /// Coefficient of the kept row above it or, if there is none, of the lane's front.
  above,
  below,    ///< coefficient of the kept row below it
};
inline constexpr int kParts = 5;

/// Row `row` of the matrix of a system; an identity row beyond its end.
template <class T>
WARPLOOM_DEVICE Row<T> row_of_matrix(const Batch<T>& batch, int64_t system, int64_t row) {
  if (row >= batch.n) return {T(0), T(1), T(0), T(0)};
  return {row > 0 ? batch.lower.load(batch.lower.index(system, row, 0)) : T(0),
          batch.diagonal.load(batch.diagonal.index(system, row, 0)),
          row + 1 < batch.n ? batch.upper.load(batch.upper.index(system, row, 0)) : T(0), T(0)};
}

/// The parts of all rows of a matrix, kDepth (a power of two) per lane, in shared memory. Within a lane they are
/// vectors, in the order in which rows leave; a lane has an odd number of vectors, so that neighbouring lanes use
/// different banks.
template <class T, int kDepth>
struct MatrixTable {
  static_assert((kDepth & (kDepth - 1)) == 0 && kDepth <= 32, "a word has a bit for each row");
  static constexpr int kPerPack = device::Pack<T>::kCount;
  static constexpr int kPitch = kDepth * kParts + kPerPack;  ///< elements per lane
  static constexpr WARPLOOM_HOST_DEVICE size_t bytes(int lanes) {
    return (lanes * (kPitch * sizeof(T) + sizeof(Front<T>) + 2 * sizeof(int)) + 15) / 16 * 16;
  }

  T* parts;
  Front<T>* fronts;
  int* flags;  ///< two words per lane: bits of zero pivots, whether one is infinite

  WARPLOOM_DEVICE MatrixTable(unsigned char* memory, int lanes)
      : parts(reinterpret_cast<T*>(memory)), fronts(reinterpret_cast<Front<T>*>(parts + lanes * kPitch)),
        flags(reinterpret_cast<int*>(fronts + lanes)) {}

  /// Position of a row among those of its lane: rows of the first stage, of the second, …, the last row.
  static constexpr WARPLOOM_HOST_DEVICE int order(int row) {
    int stride = 1;
    while (stride < kDepth && (row & (2 * stride - 1)) != stride - 1) stride *= 2;
    return stride == kDepth ? kDepth - 1 : kDepth - kDepth / stride + row / (2 * stride);
  }
  /// Offset of a part of a row within a lane.
  static constexpr WARPLOOM_HOST_DEVICE int place(Part part, int row) {
    const int at = order(row);
    return (at / kPerPack * kParts + static_cast<int>(part)) * kPerPack + at % kPerPack;
  }
  WARPLOOM_DEVICE T& at(int lane, Part part, int row) const { return parts[lane * kPitch + place(part, row)]; }

  /// Entries of rows on their way to the table.
  template <int kCount>
  struct Entries {
    Row<T> rows[kCount];
  };
  /// Starts loading the matrix of `system`, with kCount rows per thread. All threads of the block call it; their number
  /// is a multiple of kDepth.
  template <int kCount>
  WARPLOOM_DEVICE Entries<kCount> load(const device::Block& block, const Batch<T>& batch, int64_t system, int lanes) const {
    Entries<kCount> entries;
    WARPLOOM_UNROLL
    for (int k = 0; k < kCount; ++k) {
      const int row = block.thread() + k * block.threads();
      if (row < lanes * kDepth) entries.rows[k] = row_of_matrix(batch, system, row);
    }
    return entries;
  }
  /// Writes them to the table, before reduce().
  template <int kCount>
  WARPLOOM_DEVICE void set(const device::Block& block, const Entries<kCount>& entries, int lanes) const {
    const unsigned int thread = static_cast<unsigned int>(block.thread()), step = static_cast<unsigned int>(block.threads()) / kDepth;
    T* to = &at(static_cast<int>(thread / kDepth), Part::lower, static_cast<int>(thread % kDepth));
    WARPLOOM_UNROLL
    for (int k = 0; k < kCount; ++k) {
      if (static_cast<int>(thread / kDepth + k * step) < lanes) set(to, entries.rows[k]);
      to += step * kPitch;
    }
  }
  WARPLOOM_DEVICE void set(int lane, int row, const Row<T>& entries) const { set(&at(lane, Part::lower, row), entries); }

  /// The stages inside a lane whose rows are set; called by one thread.
  WARPLOOM_DEVICE void reduce(int lane) const;

  /// A lane's last row after reduce(), without a right-hand side.
  WARPLOOM_DEVICE Row<T> last(int lane) const {
    constexpr int kLast = kDepth - 1;
    return {at(lane, Part::lower, kLast), at(lane, Part::inverse, kLast), at(lane, Part::upper, kLast), T(0)};
  }
  WARPLOOM_DEVICE Pivots pivots(int lane) const {
    Pivots pivots;
    pivots.zero = static_cast<unsigned int>(flags[2 * lane]);
    pivots.infinite = flags[2 * lane + 1] != 0;
    return pivots;
  }
  /// Records findings about a lane; called by one thread.
  WARPLOOM_DEVICE void note(int lane, unsigned int zero, bool infinite) const {
    flags[2 * lane] |= static_cast<int>(zero);
    flags[2 * lane + 1] |= infinite ? 1 : 0;
  }

 private:
  /// `to`: the row's lower entry.
  static WARPLOOM_DEVICE void set(T* to, const Row<T>& entries) {
    to[0] = entries.a;
    to[static_cast<int>(Part::inverse) * kPerPack] = entries.b;
    to[static_cast<int>(Part::upper) * kPerPack] = entries.c;
  }
};

/// A lane of the matrix: items of a downsweep that reads entries from the table when they are first needed, and writes
/// parts there as soon as they are known, so that few registers are in use at once.
template <class T, int kDepth>
struct FactoredLane : RegisterRows<T, kDepth, PivotCare::guarded, NoSide> {
  using Rows = RegisterRows<T, kDepth, PivotCare::guarded, NoSide>;
  using Table = MatrixTable<T, kDepth>;
  T* const parts;

  WARPLOOM_DEVICE explicit FactoredLane(T* of) : parts(of) {}
  WARPLOOM_DEVICE T& part(Part part, int row) const {
    return static_cast<T*>(__builtin_assume_aligned(parts, 16))[Table::place(part, row)];
  }
  template <int kCount, int kStride>
  WARPLOOM_DEVICE void prepare() {
    WARPLOOM_UNROLL
    for (int i = 0; kStride == 1 && i < kDepth; i += 2) this->b[i] = part(Part::inverse, i);
    Rows::template prepare<kCount, kStride>();
  }
  template <int kCount>
  WARPLOOM_DEVICE void eliminate(int i, int stride) {
    if (stride == 1) {
      this->a[i] = part(Part::lower, i);
      this->c[i] = part(Part::upper, i);
    }
    Rows::template eliminate<kCount>(i, stride);
    put(i);
  }
  template <int kCount>
  WARPLOOM_DEVICE void save(int i, int stride) {
    part(Part::above, i) = stride == 1 ? T(-1) : -this->front.c;
    Rows::template save<kCount>(i, stride);
  }
  WARPLOOM_DEVICE void update(int kept, int left, int right) {
    if (kept - left == 1) {
      this->a[kept] = part(Part::lower, kept);
      this->b[kept] = part(Part::inverse, kept);
      this->c[kept] = part(Part::upper, kept);
    }
    part(Part::below, left) = -this->a[kept];
    if (right != kOutside) part(Part::above, right) = -this->c[kept];
    Rows::update(kept, left, right);
  }
  WARPLOOM_DEVICE void put(int i) const {
    part(Part::lower, i) = this->a[i];
    part(Part::inverse, i) = this->b[i];
    part(Part::upper, i) = this->c[i];
  }
};

template <class T, int kDepth>
WARPLOOM_DEVICE void MatrixTable<T, kDepth>::reduce(int lane) const {
  FactoredLane<T, kDepth> rows(parts + lane * kPitch);
  Downsweep<kDepth>::down(rows);
  rows.put(kDepth - 1);
  fronts[lane] = {rows.front.b, rows.front.c, T(0)};
  flags[2 * lane] = static_cast<int>(rows.pivots.zero);
  flags[2 * lane + 1] = rows.pivots.infinite ? 1 : 0;
}

/// A lane's parts, left in shared memory.
template <class T, int kDepth>
struct PartsInMemory {
  const T* parts;
  WARPLOOM_DEVICE void take(const MatrixTable<T, kDepth>& table, int lane) { parts = table.parts + lane * table.kPitch; }
  WARPLOOM_DEVICE T get(Part part, int row) const {
    return static_cast<const T*>(__builtin_assume_aligned(parts, 16))[MatrixTable<T, kDepth>::place(part, row)];
  }
};
/// The same in registers.
template <class T, int kDepth>
struct PartsInRegisters {
  T parts[kParts][kDepth];
  WARPLOOM_DEVICE void take(const MatrixTable<T, kDepth>& table, int lane) {
    WARPLOOM_UNROLL
    for (int row = 0; row < kDepth - 1; ++row) {
      WARPLOOM_UNROLL
      for (int k = 0; k < kParts; ++k) parts[k][row] = table.at(lane, static_cast<Part>(k), row);
    }
  }
  WARPLOOM_DEVICE T get(Part part, int row) const { return parts[static_cast<int>(part)][row]; }
};

/// One lane's rows of a right-hand side: items of a downsweep, like RegisterRows but without its bands.
template <class T, int kDepth, class V, class Parts>
struct SideRows {
  const Parts& parts;
  V d[kDepth];
  V front;   ///< after Downsweep::down: what the previous lane absorbs
  V x_left;  ///< last unknown of the previous lane, set before Downsweep::up

  WARPLOOM_DEVICE explicit SideRows(const Parts& of) : parts(of) {}
  template <int kCount, int kStride>
  WARPLOOM_DEVICE void prepare() {}
  template <int kCount>
  WARPLOOM_DEVICE void eliminate(int i, int) { d[i] = d[i] * parts.get(Part::inverse, i); }
  template <int kCount>
  WARPLOOM_DEVICE void save(int i, int stride) {
    front = stride == 1 ? -d[i] : device::fma(parts.get(Part::above, i), d[i], front);
  }
  WARPLOOM_DEVICE void update(int kept, int left, int right) {
    d[kept] = device::fma(parts.get(Part::below, left), d[left], d[kept]);
    if (right != kOutside) d[kept] = device::fma(parts.get(Part::above, right), d[right], d[kept]);
  }
  template <int kCount>
  WARPLOOM_DEVICE void substitute(int i, int, int left, int right) {
    const V before = left == kOutside ? x_left : d[left];
    d[i] = device::fma(-parts.get(Part::lower, i), before, device::fma(-parts.get(Part::upper, i), d[right], d[i]));
  }
  /// Zero times a non-finite number is not zero.
  WARPLOOM_DEVICE bool finite() const {
    V sums[2] = {};
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) sums[j % 2] = device::fma(T(0), d[j], sums[j % 2]);
    return is_zero(sums[0]) & is_zero(sums[1]);
  }
  static WARPLOOM_DEVICE bool is_zero(const T& value) { return value == 0; }
  template <int kCount>
  static WARPLOOM_DEVICE bool is_zero(const Sides<T, kCount>& value) {
    bool result = true;
    WARPLOOM_UNROLL
    for (int k = 0; k < kCount; ++k) result = result & is_zero(value.item[k]);
    return result;
  }
};

/// Results of the stages across lanes for the calling lane's row, for groups of up to 2^kStages lanes. kFront: the last
/// lane tracks how the group's first unknown depends on its borders.
template <class T, int kStages, bool kFront = false>
struct LaneParts {
  T next;            ///< coefficient of the next lane's front
  T lower, upper;    ///< of the row when it leaves, divided by the pivot
  T inverse;         ///< 1 / pivot, also in the last lane
  T left[kStages];   ///< coefficients of the rows that leave on either side
  T right[kStages];  ///< in the last lane: those of its front

  /// `row` has its own upper entry, `front` belongs to the next lane (kFront: in the last lane, to the first). They
  /// become the group's row and front.
  WARPLOOM_DEVICE void factor(const device::Block& block, Row<T>& row, Front<T>& front, int width, Pivots& pivots, int bit) {
    const int position = (block.lane() & (width - 1)) + 1, leaves_at = position & -position;
    const bool last = position == width;
    next = row.c;
    if (!last) absorb_front(row, front);
    inverse = T(1);
    WARPLOOM_UNROLL
    for (int k = 0; k < kStages; ++k) {
      left[k] = right[k] = T(0);
      const int stride = 1 << k;
      if (stride >= width) continue;
      if (leaves_at == stride) {
        inverse = pivots.reciprocal(row.b, bit);
        row.a = row.a * inverse;
        row.c = row.c * inverse;
      }
      const Equation<T> mine{row.a, row.c, T(0)};
      const Equation<T> before = device::shuffle_up(block, mine, stride);
      const Equation<T> after = kFront ? device::shuffle(block, mine, position - 1 + stride, width)
                                       : device::shuffle_down(block, mine, stride);
      if (leaves_at > stride) {
        left[k] = -row.a;
        row.b = device::fma(left[k], before.c, row.b);
        row.a = left[k] * before.a;
      }
      if (leaves_at > stride && !last) {
        right[k] = -row.c;
        row.b = device::fma(right[k], after.a, row.b);
        row.c = right[k] * after.c;
      }
      if (kFront && last) {
        right[k] = -front.c;
        front.b = device::fma(right[k], after.a, front.b);
        front.c = right[k] * after.c;
      }
    }
    lower = row.a;
    upper = row.c;
  }

  /// Eliminates a right-hand side: `d` of the calling lane's row, `front` of its lane. With kFront, the last lane then
  /// has the group's front.
  template <class V>
  WARPLOOM_DEVICE void reduce(const device::Block& block, V& d, V& front, int width) const {
    const int position = (block.lane() & (width - 1)) + 1, leaves_at = position & -position;
    const bool last = position == width;
    front = kFront ? device::shuffle(block, front, position, width) : device::shuffle_down(block, front, 1);
    if (!last) d = device::fma(next, front, d);
    WARPLOOM_UNROLL
    for (int k = 0; k < kStages; ++k) {
      const int stride = 1 << k;
      if (stride >= width) continue;
      d = d * (leaves_at == stride ? inverse : T(1));
      const V before = device::shuffle_up(block, d, stride);
      const V after = kFront ? device::shuffle(block, d, position - 1 + stride, width) : device::shuffle_down(block, d, stride);
      if (leaves_at > stride) d = device::fma(left[k], before, d);
      if (leaves_at > stride && !last) d = device::fma(right[k], after, d);
      if (kFront && last) front = device::fma(right[k], after, front);
    }
  }
  /// Computes every lane's unknown, from the last lane's and the one before the group.
  template <class V>
  WARPLOOM_DEVICE V substitute(const device::Block& block, const V& d, const V& x_last, const V& x_before, int width) const {
    const Row<T, V> row{lower, T(0), upper, d};
    return substitute_lanes<true>(block, row, x_last, x_before, width);
  }
};

/// The verdict on a lane's rows, from the inputs in global memory. `d`: the lane's unknowns for one right-hand side.
template <class T, int kDepth>
WARPLOOM_DEVICE int inspect_rows(const Batch<T>& batch, int64_t system, int64_t rhs, int64_t first, const Pivots& pivots,
                                 const T (&d)[kDepth]) {
  const int64_t last = first + kDepth < batch.n ? first + kDepth : batch.n;
  const int64_t found = first_non_finite_row(batch, system, rhs, first, last);
  if (found >= 0) return make_verdict(Finding::non_finite_input, found);
  unsigned int overflow = 0;
  WARPLOOM_UNROLL
  for (int j = 0; j < kDepth; ++j) overflow |= device::is_finite(d[j]) ? 0u : 1u << j;
  const unsigned int mask = pivots.zero != 0 ? pivots.zero : overflow;
  for (int j = 0; j < kDepth; ++j) {
    if ((mask >> j & 1u) != 0) return make_verdict(pivots.zero != 0 ? Finding::zero_pivot : Finding::overflow, first + j);
  }
  return 0;
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
