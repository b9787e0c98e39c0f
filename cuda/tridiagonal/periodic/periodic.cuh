// Periodic systems without pivoting, by condensation on the last unknown.
#pragma once
#include <functional>

#include "cuda/tridiagonal/bands.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Solves systems that are not periodic, with any right-hand sides.
template <class T>
using Solver = std::function<Status(const Batch<T>&, Used*)>;

/// Writes the corner entries of op(A), two per system: the coefficient of x[n-1] in row 0, and that of x[0] in row n-1.
template <class T>
Status gather_corners(GpuDevice&, const Batch<T>&, const Bands<T>&, T* corners, Used*);

/// Let T be the matrix without its last row and column. Solves T y = d and T z = -(last column), then x[n-1] = (d[n-1]
/// - lower[n-1] y[n-2] - last y[0]) / (diagonal[n-1] + lower[n-1] z[n-2] + last z[0]) and x = y + x[n-1] z. Unlike the
/// Sherman-Morrison formula this adds nothing to the diagonal: T inherits dominance and definiteness from A, and the
/// denominator is A's Schur complement. `rows` bounds the rows of all systems (total_rows). May run in place.
template <class T>
Status solve_periodic(GpuDevice&, const Batch<T>&, const T* corners, int64_t rows, const Solver<T>& solve, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
