// One thread factors one system. Factoring happens once; what matters is that the solves need no division.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/tridiagonal/factor/factor_layout.h"
#include "cuda/tridiagonal/pivoting/gtsv.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// First row of a system in arrays that hold the rows of all systems consecutively.
template <class T>
WARPLOOM_DEVICE int64_t packed_origin(const Batch<T>& batch, int64_t system) {
  return batch.offsets != nullptr ? batch.offsets[system] - batch.offsets[0] : system * batch.n;
}

/// First row of the matrix with a non-finite entry, else -1.
template <class T>
WARPLOOM_DEVICE int64_t first_bad_row(const ProblemRows<T>& p) {
  if (p.rows == 0) return -1;
  if (!device::is_finite(p.corner_first)) return 0;
  int64_t bad = -1;
  const auto finite = [&](int64_t i) {
    return device::is_finite(p.lower_of(i)) & device::is_finite(p.diagonal_of(i)) & device::is_finite(p.upper_of(i));
  };
  read_ahead<T>(p.rows, finite, [&](int64_t i, bool good) {
    if (!good && bad < 0) bad = i;
  });
  if (bad >= 0) return bad;
  return device::is_finite(p.corner_last) ? -1 : p.rows - 1;
}

template <class T>
WARPLOOM_DEVICE RealOf<T> real_part(const T& a) {
  if constexpr (kIsComplex<T>) {
    return a.re;
  } else {
    return a;
  }
}

/// Rows of L D U without exchanges: l, 1/d and u. With `symmetric`, of L D L^H, whose pivots must be positive.
template <class T>
struct PlainFactor {
  T inverse = T(0), above = T(0);  ///< for the previous row
  int64_t singular = -1;

  WARPLOOM_DEVICE void step(int64_t row, const T& lower, const T& diagonal, const T& upper, bool symmetric, T* l, T* u) {
    *l = lower * inverse;
    const T pivot = device::fma(-*l, above, diagonal);
    const bool good = symmetric ? real_part(pivot) > RealOf<T>(0) : device::absolute(pivot) > RealOf<T>(0);
    if (!good && singular < 0) singular = row;
    inverse = good ? divide(T(RealOf<T>(1)), pivot) : T(RealOf<T>(NAN));
    above = upper;
    *u = upper * inverse;
  }
};

template <class T>
struct FactorAgent {
  static constexpr int kMaxThreads = 64;
  static constexpr int kMinBlocks = 4;
  using Factorisation = operation::Factorisation;
  using Layout = ::warploom::tridiagonal::FactorLayout;

  struct Parameters {
    Batch<T> batch;
    const T* corners;  ///< null when not periodic
    Factorisation factorisation;
    Layout layout;
    T* arrays;
    T* closing;
    int32_t* states;  ///< null if systems have no rows
    int8_t* choices;
    int32_t* status;  ///< may be null
    int32_t* row;
  };

  /// L D U of the first `count` rows.
  static WARPLOOM_DEVICE int64_t factor_plain(const Parameters& p, const ProblemRows<T>& rows, int64_t count,
                                              int64_t origin, bool symmetric) {
    T* const lower = p.arrays + Layout::kLower * p.layout.entries + origin;
    T* const inverse = p.arrays + Layout::kInverse * p.layout.entries + origin;
    T* const upper = p.arrays + Layout::kUpper * p.layout.entries + origin;
    PlainFactor<T> factor;
    for (int64_t i = 0; i < count; ++i) {
      const T above = i + 1 < count ? rows.upper_of(i) : T(0);
      T u;
      factor.step(i, rows.lower_of(i), rows.diagonal_of(i), above, symmetric, &lower[i], &u);
      inverse[i] = factor.inverse;
      if (!symmetric) upper[i] = u;
    }
    return factor.singular;
  }

  /// Computes z, the inverse Schur complement and the last row; the recurrences leave out the last row itself.
  static WARPLOOM_DEVICE int64_t factor_border(const Parameters& p, const ProblemRows<T>& rows, int64_t system,
                                               int64_t origin, bool symmetric) {
    const int64_t n = rows.rows;
    T* const lower = p.arrays + Layout::kLower * p.layout.entries + origin;
    T* const inverse = p.arrays + Layout::kInverse * p.layout.entries + origin;
    T* const upper = p.arrays + Layout::kUpper * p.layout.entries + origin;
    T* const z = p.arrays + p.layout.border * p.layout.entries + origin;
    T value(0);
    WARPLOOM_NO_UNROLL
    for (int64_t i = 0; i + 1 < n; ++i) {
      T column(0);
      if (i == 0) column = column - rows.corner_first;
      if (i == n - 2) column = column - rows.upper_of(i);
      value = device::fma(-lower[i], value, column);
      z[i] = value * inverse[i];
    }
    WARPLOOM_NO_UNROLL
    for (int64_t i = n - 3; i >= 0; --i) {
      z[i] = device::fma(symmetric ? -device::conjugate(lower[i + 1]) : -upper[i], z[i + 1], z[i]);
    }
    T* const closing = p.closing + 3 * system;
    T pivot = rows.diagonal_of(n - 1);
    if (n == 1) {
      pivot = pivot + rows.corner_first + rows.corner_last;
    } else {
      pivot = device::fma(rows.lower_of(n - 1), z[n - 2], device::fma(rows.corner_last, z[0], pivot));
    }
    const bool good = symmetric ? real_part(pivot) > RealOf<T>(0) : device::absolute(pivot) > RealOf<T>(0);
    closing[0] = good ? divide(T(RealOf<T>(1)), pivot) : T(RealOf<T>(NAN));
    closing[1] = n > 1 ? rows.lower_of(n - 1) : T(0);
    closing[2] = n > 1 ? rows.corner_last : T(0);
    lower[n - 1] = z[n - 1] = T(0);
    inverse[n - 1] = T(RealOf<T>(1));
    if (!symmetric) upper[n - 1] = T(0);
    return good ? -1 : n - 1;
  }

  static WARPLOOM_DEVICE int64_t factor_system(const Parameters& p, const ProblemRows<T>& rows, int64_t system) {
    if (p.factorisation == Factorisation::pivoted) {
      const PivotedFactors<T> f{p.arrays + system, p.choices + system, p.batch.n, p.batch.systems};
      return p.corners != nullptr ? factor_cyclic(rows, f) : factor_pivoted(rows, f);
    }
    const bool symmetric = p.factorisation == Factorisation::cholesky;
    const int64_t origin = packed_origin(p.batch, system);
    if (p.corners == nullptr) return factor_plain(p, rows, rows.rows, origin, symmetric);
    const int64_t singular = factor_plain(p, rows, rows.rows - 1, origin, symmetric);
    const int64_t last = factor_border(p, rows, system, origin, symmetric);
    return singular >= 0 ? singular : last;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t system = block.index() * block.threads() + block.thread();
    if (system >= p.batch.systems) return;
    const ProblemRows<T> rows(p.batch, system, p.corners);
    const int64_t bad = first_bad_row(rows);
    write_words(p, system, bad, bad < 0 && rows.rows > 0 ? factor_system(p, rows, system) : -1);
  }
  /// `bad`: first row with a non-finite entry; `singular`: row of the first zero pivot; -1: none.
  static WARPLOOM_DEVICE void write_words(const Parameters& p, int64_t system, int64_t bad, int64_t singular) {
    using operation::SystemStatus;
    const SystemStatus status = bad >= 0        ? SystemStatus::non_finite
                                : singular >= 0 ? SystemStatus::zero_pivot
                                                : SystemStatus::ok;
    if (p.states != nullptr) p.states[system] = static_cast<int32_t>(bad >= 0 ? -2 - bad : singular);
    if (p.status != nullptr) p.status[system] = static_cast<int32_t>(status);
    if (p.row != nullptr) p.row[system] = static_cast<int32_t>(bad >= 0 ? bad : singular);
  }
};

/// FactorAgent without exchanges, for contiguous systems of whole 16-byte chunks: a thread moves one chunk at a time.
template <class T>
struct FactorChunksAgent {
  using Whole = FactorAgent<T>;
  using Parameters = typename Whole::Parameters;
  static constexpr int kMaxThreads = Whole::kMaxThreads;
  static constexpr int kMinBlocks = Whole::kMinBlocks;
  using Chunk = device::Pack<T>;
  static constexpr int kPerChunk = Chunk::kCount;
  static constexpr int kAhead = kIsComplex<T> ? 1 : 2;

  static bool takes(const Parameters& p) {
    const auto even = [](const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; };
    const auto whole = [&](const Strided<T>& band) {
      return band.plain() && even(band.data) && band.system_stride % kPerChunk == 0;
    };
    return p.corners == nullptr && p.factorisation != operation::Factorisation::pivoted &&
           p.batch.offsets == nullptr && p.batch.n > 0 && p.batch.n % kPerChunk == 0 && even(p.arrays) &&
           whole(p.batch.lower) && whole(p.batch.diagonal) && whole(p.batch.upper);
  }

  struct Bands {
    Chunk lower, diagonal, upper;
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    using Layout = typename Whole::Layout;
    const int64_t system = block.index() * block.threads() + block.thread();
    if (system >= p.batch.systems) return;
    const Batch<T>& b = p.batch;
    const auto chunks_of = [&](const Strided<T>& band) {
      return reinterpret_cast<const Chunk*>(band.data + system * band.system_stride);
    };
    const Chunk *lower = chunks_of(b.lower), *diagonal = chunks_of(b.diagonal), *upper = chunks_of(b.upper);
    const auto factors = [&](int array) {
      return reinterpret_cast<Chunk*>(p.arrays + array * p.layout.entries + system * b.n);
    };
    const bool symmetric = p.factorisation == operation::Factorisation::cholesky;
    const int64_t chunks = b.n / kPerChunk;
    PlainFactor<T> factor;
    int64_t bad = -1;
    const auto load = [&](int64_t c) { return Bands{lower[c], diagonal[c], upper[c]}; };
    read_ahead<T, kAhead>(chunks, load, [&](int64_t c, Bands rows) {
      if (c == 0) rows.lower.item[0] = T(0);
      if (c + 1 == chunks) rows.upper.item[kPerChunk - 1] = T(0);
      Chunk l, inverse, u;
      WARPLOOM_UNROLL
      for (int k = 0; k < kPerChunk; ++k) {
        const T &below = rows.lower.item[k], &own = rows.diagonal.item[k], &above = rows.upper.item[k];
        const bool finite = device::is_finite(below) & device::is_finite(own) & device::is_finite(above);
        if (!finite && bad < 0) bad = c * kPerChunk + k;
        factor.step(c * kPerChunk + k, below, own, above, symmetric, &l.item[k], &u.item[k]);
        inverse.item[k] = factor.inverse;
      }
      factors(Layout::kLower)[c] = l;
      factors(Layout::kInverse)[c] = inverse;
      if (!symmetric) factors(Layout::kUpper)[c] = u;
    });
    Whole::write_words(p, system, bad, factor.singular);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
