// y = alpha op(A) x + beta y: one thread per row, one pass.
#pragma once
#include "cuda/linear/row_grid.cuh"
#include "cuda/tridiagonal/bands.cuh"
#include "cuda/tridiagonal/rows.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
struct MultiplyAgent {
  static constexpr int kMaxThreads = RowGrid::kThreads;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    Batch<T> batch;   ///< rhs is x, solution is y
    Bands<T> bands;   ///< for the corners
    RowGrid grid;
    bool periodic;
    RealOf<T> alpha;  ///< zero: neither A nor x is read
    RealOf<T> beta;   ///< zero: y is not read
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    int64_t index, i;
    if (!p.grid.locate(block, &index, &i)) return;
    const Problem problem = problem_of(p.batch, index);
    if (i >= problem.rows) return;
    const Strided<T>& y = p.batch.solution;
    const int64_t at = y.index(problem.origin, i, problem.rhs);
    T result = zero<T>();
    if (p.alpha != RealOf<T>(0)) result = scaled(p.alpha, product(p, problem, i));
    if (p.beta != RealOf<T>(0)) result = result + scaled(p.beta, y.load(at));
    y.store(at, result);
  }

 private:
  static WARPLOOM_DEVICE RealOf<T> scaled(RealOf<T> factor, RealOf<T> value) { return factor * value; }
  static WARPLOOM_DEVICE Complex<RealOf<T>> scaled(RealOf<T> factor, const Complex<RealOf<T>>& value) {
    return {factor * value.re, factor * value.im};
  }

  /// Row i of op(A) times x. The term of row i-1 comes first; it wraps around if the matrix is periodic.
  static WARPLOOM_DEVICE T product(const Parameters& p, const Problem& problem, int64_t i) {
    const Batch<T>& batch = p.batch;
    const int64_t last = problem.rows - 1, step = batch.rhs.row_stride;
    const int64_t at = batch.rhs.index(problem.origin, i, problem.rhs);
    T sum = batch.diagonal.load(batch.diagonal.index(problem.origin, i, 0)) * batch.rhs.load(at);
    if (i > 0) {
      const T factor = batch.lower.load(batch.lower.index(problem.origin, i, 0));
      sum = device::fma(factor, batch.rhs.load(at - step), sum);
    } else if (p.periodic) {
      sum = device::fma(p.bands.first.load(problem.origin, problem.rows), batch.rhs.load(at + last * step), sum);
    }
    if (i < last) {
      const T factor = batch.upper.load(batch.upper.index(problem.origin, i, 0));
      sum = device::fma(factor, batch.rhs.load(at + step), sum);
    } else if (p.periodic) {
      sum = device::fma(p.bands.last.load(problem.origin, problem.rows), batch.rhs.load(at - last * step), sum);
    }
    return sum;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
