// One thread estimates the condition of one system (Higham 1988, LAPACK lacn2 and gtcon) and bounds the errors of its
// solutions (LAPACK gtrfs), using pivoted factors of op(A) and of its conjugate transpose.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/tridiagonal/factor/factor_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// The modulus, in double: norms are sums of moduli here, not of |re| + |im|.
template <class T>
WARPLOOM_DEVICE double wide_modulus(const T& value) {
  if constexpr (kIsComplex<T>) {
    const double re = device::absolute(double(value.re)), im = device::absolute(double(value.im));
    const double large = device::maximum(re, im), small = re + im - large;
    if (!(large > 0) || !device::is_finite(large)) return large;
    const double ratio = small / large;
    return large * device::square_root(device::fma(ratio, ratio, 1.0));
  } else {
    return device::absolute(double(value));
  }
}

template <class T>
struct ConditionAgent {
  static constexpr int kMaxThreads = 64;
  static constexpr int kMinBlocks = 2;
  using R = RealOf<T>;

  struct Parameters {
    Batch<T> batch;    ///< op(A); rhs and solution only if bounds are requested
    Batch<T> matrix;   ///< op(A) or its conjugate, which has the same norms
    Batch<T> adjoint;  ///< the conjugate transpose of `matrix`
    const T* corners;  ///< of op(A); null if not periodic, like the next two
    const T* matrix_corners;
    const T* adjoint_corners;
    T* workspace;      ///< slots * rows * arrays()
    int8_t* choices;   ///< slots * rows * 2
    int64_t rows, slots;
    double* reciprocal_condition;  ///< each may be null
    double* forward_error;
    double* backward_error;
    int64_t rhs_count;
  };

  static int64_t arrays(bool periodic) { return 2 * PivotedFactors<T>::arrays(periodic) + 3; }

  /// The operator M of a 1-norm estimate: A^-1, or diag(w) A^-H if there are weights.
  struct Operator {
    PivotedFactors<T> matrix, adjoint;
    Line<T> weights;
    bool weighted, periodic;
    int64_t n;

    /// x = M x, or M^H x.
    WARPLOOM_DEVICE void apply(const Line<T>& x, bool to_adjoint) const {
      const PivotedFactors<T>& f = weighted != to_adjoint ? adjoint : matrix;
      if (weighted && to_adjoint) weigh(x);
      if (periodic) {
        solve_cyclic(f, n, x, x);
      } else {
        solve_pivoted(f, n, x, x);
      }
      if (weighted && !to_adjoint) weigh(x);
    }
    WARPLOOM_DEVICE void weigh(const Line<T>& x) const {
      read_ahead<T>(n, [&](int64_t i) { return weights.get(i) * x.get(i); },
                    [&](int64_t i, const T& value) { x.set(i, value); });
    }
    WARPLOOM_DEVICE double norm(const Line<T>& x) const {
      double sum = 0;
      read_ahead<T>(n, [&](int64_t i) { return x.get(i); }, [&](int64_t, const T& value) { sum += wide_modulus(value); });
      return sum;
    }
    /// Replaces x by its signs (complex: scaled to modulus 1). True if a real vector already has the signs in `signs`.
    WARPLOOM_DEVICE bool take_signs(const Line<T>& x, const Line<T>& signs) const {
      bool same = !kIsComplex<T>;
      struct Row {
        T value, sign;
      };
      const auto load = [&](int64_t i) { return Row{x.get(i), signs.get(i)}; };
      read_ahead<T>(n, load, [&](int64_t i, const Row& row) {
        T sign(R(1));
        if constexpr (kIsComplex<T>) {
          const double size = wide_modulus(row.value);
          if (size > 0) sign = T(static_cast<R>(row.value.re / size), static_cast<R>(row.value.im / size));
        } else {
          if (row.value < T(0)) sign = T(-1);
          same = same && sign == row.sign;
        }
        signs.set(i, sign);
        x.set(i, sign);
      });
      return same;
    }
    WARPLOOM_DEVICE int64_t largest(const Line<T>& x) const {
      int64_t best = 0;
      double size = -1;
      read_ahead<T>(n, [&](int64_t i) { return x.get(i); }, [&](int64_t i, const T& value) {
        const double here = wide_modulus(value);
        if (here > size) best = i, size = here;
      });
      return best;
    }

    /// A lower bound of |M|_1, nearly always within a factor of 3: climbs from unit vector to unit vector, then tries a
    /// vector of alternating signs.
    WARPLOOM_DEVICE double estimate(const Line<T>& x, const Line<T>& signs) const {
      WARPLOOM_NO_UNROLL
      for (int64_t i = 0; i < n; ++i) {
        x.set(i, T(static_cast<R>(1.0 / static_cast<double>(n))));
        signs.set(i, T(R(0)));
      }
      constexpr int kLargestCount = 5;
      double result = 0;
      int64_t at = 0;
      bool climbing = n > 1;
      WARPLOOM_NO_UNROLL
      for (int count = 1;; ++count) {
        apply(x, false);
        const double size = norm(x);
        if (!climbing) {
          const double share = n > 1 ? 2 / (3 * static_cast<double>(n)) : 1;
          return size * share > result ? size * share : result;
        }
        // Unchanged signs or lack of growth end the climb.
        const bool grown = count == 1 || size > result;
        result = size > result ? size : result;
        climbing = !take_signs(x, signs) && grown && count < kLargestCount;
        if (climbing) {
          apply(x, true);
          const int64_t last = at;
          at = largest(x);
          climbing = count == 1 || wide_modulus(x.get(at)) > wide_modulus(x.get(last));
        }
        set_probe(x, climbing ? at : -1);
      }
    }
    /// The unit vector of row `at`; for -1 the vector of alternating signs and growing magnitudes.
    WARPLOOM_DEVICE void set_probe(const Line<T>& x, int64_t at) const {
      WARPLOOM_NO_UNROLL
      for (int64_t i = 0; i < n; ++i) {
        const double size = 1 + static_cast<double>(i) / static_cast<double>(n - 1);
        const double alternating = i % 2 == 0 ? size : -size;
        x.set(i, T(static_cast<R>(at < 0 ? alternating : i == at ? 1.0 : 0.0)));
      }
    }
  };

  /// |op(A)|_1; n = 1 and periodic n = 2 add the corners to the entries.
  static WARPLOOM_DEVICE double matrix_norm(const ProblemRows<T>& p) {
    double norm = 0;
    const int64_t n = p.rows;
    if (n == 1) return wide_modulus(p.diagonal_of(0) + p.corner_first + p.corner_last);
    WARPLOOM_NO_UNROLL
    for (int64_t i = 0; i < n; ++i) {
      const T above = i > 0 ? p.upper_of(i - 1) : T(0), below = i + 1 < n ? p.lower_of(i + 1) : T(0);
      double sum = wide_modulus(p.diagonal_of(i));
      if (n == 2) {
        sum += wide_modulus(i == 0 ? below + p.corner_last : above + p.corner_first);
      } else {
        sum += wide_modulus(above) + wide_modulus(below);
        if (i == 0) sum += wide_modulus(p.corner_last);
        if (i + 1 == n) sum += wide_modulus(p.corner_first);
      }
      norm = device::maximum(norm, sum);
    }
    return norm;
  }

  /// The bounds of gtrfs for one right-hand side: backward error, and weights |r| + 4 eps (|A||x| + |b|).
  static WARPLOOM_DEVICE double weights_of(const ProblemRows<T>& p, bool periodic, const Line<T>& weights,
                                           double* largest) {
    double worst = 0;
    *largest = 0;
    bool finite = true;
    WARPLOOM_NO_UNROLL
    for (int64_t i = 0; i < p.rows; ++i) {
      const RowResidual<T> row = residual_at<T>(p, i, periodic, [&](int64_t at) { return widen(p.solution_of(at)); });
      const double own = wide_modulus(p.solution_of(i));
      double size = modulus(row.residual), scale = row.scale, up = row.up;
      // Entries that are negligible next to the right-hand side, which overflows in their units.
      if (scale == INFINITY && p.finite(i)) {
        size = scale = wide_modulus(p.rhs_of(i));
        up = 1;
      }
      finite = finite && device::is_finite(size) && device::is_finite(own);
      worst = raise_backward_error(worst, size, scale);
      weights.set(i, T(static_cast<R>((size + 4 * (kEpsilon<R> / 2) * scale) * up)));
      *largest = device::maximum(*largest, own);
    }
    return finite ? worst : INFINITY;
  }

  static WARPLOOM_DEVICE void write_system(const Parameters& p, int64_t slot, int64_t system) {
    const bool periodic = p.corners != nullptr;
    const int64_t lines = p.rows * p.slots, factor_arrays = PivotedFactors<T>::arrays(periodic);
    const ProblemRows<T> rows(p.matrix, system * p.batch.rhs_count, p.matrix_corners);
    const ProblemRows<T> adjoint(p.adjoint, system * p.batch.rhs_count, p.adjoint_corners);
    Operator inverse{{p.workspace + slot, p.choices + slot, p.rows, p.slots},
                     {p.workspace + factor_arrays * lines + slot, p.choices + lines + slot, p.rows, p.slots},
                     {p.workspace, nullptr, (2 * factor_arrays + 2) * lines + slot, p.slots},
                     false, periodic, rows.rows};
    const Line<T> x{p.workspace, nullptr, 2 * factor_arrays * lines + slot, p.slots};
    const Line<T> signs{p.workspace, nullptr, (2 * factor_arrays + 1) * lines + slot, p.slots};
    bool sound = first_bad_row(rows) < 0;
    if (sound && rows.rows > 0) {
      const int64_t singular = periodic ? factor_cyclic(rows, inverse.matrix) : factor_pivoted(rows, inverse.matrix);
      const int64_t other =
          periodic ? factor_cyclic(adjoint, inverse.adjoint) : factor_pivoted(adjoint, inverse.adjoint);
      sound = singular < 0 && other < 0;
    }
    // The system itself, then its right-hand sides.
    WARPLOOM_NO_UNROLL
    for (int64_t r = p.reciprocal_condition != nullptr ? -1 : 0; r < p.rhs_count; ++r) {
      inverse.weighted = r >= 0;
      const int64_t problem = system * p.batch.rhs_count + (r < 0 ? 0 : r);
      double backward = 0, largest = 0, estimate = INFINITY;
      if (r >= 0 && rows.rows > 0) {
        const ProblemRows<T> answer(p.batch, problem, p.corners);
        backward = weights_of(answer, periodic, inverse.weights, &largest);
      }
      if (sound && rows.rows > 0 && device::is_finite(backward)) estimate = inverse.estimate(x, signs);
      if (r < 0) {
        p.reciprocal_condition[system] = reciprocal(rows, estimate);
      } else {
        if (p.backward_error != nullptr) p.backward_error[problem] = backward;
        if (p.forward_error != nullptr) p.forward_error[problem] = bound(rows, estimate, largest);
      }
    }
  }
  static WARPLOOM_DEVICE double reciprocal(const ProblemRows<T>& rows, double estimate) {
    if (rows.rows == 0) return 1;
    const double norm = matrix_norm(rows);
    if (!device::is_finite(norm) || !device::is_finite(estimate)) return 0;
    const double value = 1 / norm / estimate;
    return value < 1 ? value : 1;
  }
  static WARPLOOM_DEVICE double bound(const ProblemRows<T>& rows, double estimate, double largest) {
    if (rows.rows == 0) return 0;
    if (!device::is_finite(estimate)) return INFINITY;
    return largest > 0 ? estimate / largest : estimate;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t slot = block.index() * block.threads() + block.thread();
    if (slot >= p.slots) return;
    for (int64_t system = slot; system < p.batch.systems; system += p.slots) write_system(p, slot, system);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
