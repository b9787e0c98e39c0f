// One thread factors one system. Factoring is done once; what counts is that the solves need no division.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/factor_layout.h"
#include "cuda/tridiagonal/gtsv.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// First row of a system in arrays that hold the rows of all systems one after another.
template <class T>
WARPLOOM_DEVICE int64_t packed_origin(const Batch<T>& batch, int64_t system) {
  return batch.offsets != nullptr ? batch.offsets[system] - batch.offsets[0] : system * batch.n;
}

/// Row of the first non-finite entry of the matrix, else -1.
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
    int32_t* states;  ///< null where systems have no rows
    int8_t* choices;
    int32_t* status;  ///< may be null
    int32_t* row;
  };

  /// L D U of the first `rows` rows; with `symmetric` L D L^H, whose pivots must be positive.
  static WARPLOOM_DEVICE int64_t factor_plain(const Parameters& p, const ProblemRows<T>& rows, int64_t count,
                                              int64_t origin, bool symmetric) {
    T* const lower = p.arrays + Layout::kLower * p.layout.entries + origin;
    T* const inverse = p.arrays + Layout::kInverse * p.layout.entries + origin;
    T* const upper = p.arrays + Layout::kUpper * p.layout.entries + origin;
    int64_t singular = -1;
    T above(0), multiplier(0);
    for (int64_t i = 0; i < count; ++i) {
      // l = a / d before, formed at the end of the step before; d = b - l c before.
      const T pivot = device::fma(-multiplier, above, rows.diagonal_of(i));
      const bool good = symmetric ? real_part(pivot) > RealOf<T>(0) : device::absolute(pivot) > RealOf<T>(0);
      if (!good && singular < 0) singular = i;
      const T inverse_pivot = good ? divide(T(RealOf<T>(1)), pivot) : T(RealOf<T>(NAN));
      lower[i] = multiplier;
      inverse[i] = inverse_pivot;
      above = i + 1 < count ? rows.upper_of(i) : T(0);
      if (!symmetric) upper[i] = above * inverse_pivot;
      multiplier = i + 1 < count ? rows.lower_of(i + 1) * inverse_pivot : T(0);
    }
    return singular;
  }
  static WARPLOOM_DEVICE RealOf<T> real_part(const T& a) {
    if constexpr (kIsComplex<T>) {
      return a.re;
    } else {
      return a;
    }
  }

  /// z, the inverse Schur complement and the last row; the last row itself is left out of the recurrences.
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
    using operation::SystemStatus;
    const int64_t system = block.index() * block.threads() + block.thread();
    if (system >= p.batch.systems) return;
    const ProblemRows<T> rows(p.batch, system, p.corners);
    SystemStatus status = SystemStatus::ok;
    int64_t row = first_bad_row(rows), state = -1;
    if (row >= 0) {
      status = SystemStatus::non_finite;
      state = -2 - row;
    } else if (rows.rows > 0) {
      row = state = factor_system(p, rows, system);
      if (row >= 0) status = SystemStatus::zero_pivot;
    }
    if (p.states != nullptr) p.states[system] = static_cast<int32_t>(state);
    if (p.status != nullptr) p.status[system] = static_cast<int32_t>(status);
    if (p.row != nullptr) p.row[system] = static_cast<int32_t>(row);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
