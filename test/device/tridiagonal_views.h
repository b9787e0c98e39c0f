// Views of a TestBatch's arrays, as an operation's parameters hold them.
#pragma once
#include "cuda/tridiagonal/factor.h"
#include "test/device/support/views.h"
#include "tridiagonal_batch.h"

namespace cases {

template <class T>
constexpr warploom::ScalarType scalar_type() {
  using warploom::ScalarType;
  constexpr bool wide = sizeof(target::RealOf<T>) == 8;
  if (target::kIsComplex<T>) return wide ? ScalarType::complex128 : ScalarType::complex64;
  return wide ? ScalarType::float64 : ScalarType::float32;
}

/// The view of a band (`sides` 0) or of vectors.
template <class T>
warploom::View view_of(const Batch<T>& batch, const Strided<T>& view, int64_t sides = 0) {
  const bool ragged = batch.offsets != nullptr;
  warploom::View result;
  result.data = view.data;
  result.imaginary = view.imaginary;
  result.length = int64_t{1} << 40;  // bounds are check()'s business, which is tested elsewhere
  set_dimensions(&result, ragged, batch.systems, sides, ragged ? batch.offsets[batch.systems] : batch.n,
                 {view.system_stride, view.rhs_stride, view.row_stride});
  return result;
}

/// Sizes, offsets and bands of any tridiagonal parameter struct.
template <class P, class T>
void set_matrix(P& p, const TestBatch<T>& test) {
  const Batch<T>& b = test.batch;
  p.type = scalar_type<T>();
  p.n = b.n;
  p.batch = b.systems;
  if (b.offsets != nullptr) p.offsets = {b.offsets, b.systems + 1};
  p.lower = view_of(b, b.lower);
  p.diagonal = view_of(b, b.diagonal);
  p.upper = view_of(b, b.upper);
}

/// Makes system s Hermitian positive definite with bands near family 18; `rhs` is made again.
template <class T>
void fill_positive_definite(TestBatch<T>& test, int64_t s, uint64_t seed, bool periodic) {
  const int64_t n = test.batch.rows(s);
  Random random(seed + 31 * static_cast<uint64_t>(s));
  Bands real(n), imaginary(n);
  for (int64_t i = 0; i < n; ++i) {
    real.lower[i] = random.uniform();
    imaginary.lower[i] = target::kIsComplex<T> ? random.uniform() : 0;
    real.diagonal[i] = 4.5 + random.uniform();
  }
  for (int64_t i = 0; i < n; ++i) {
    real.upper[i] = real.lower[(i + 1) % n];
    imaginary.upper[i] = -imaginary.lower[(i + 1) % n];
  }
  test.fill(s, real, imaginary, seed, periodic);
}

/// Puts the corners where callers have them: in the bands' unused entries.
template <class T>
void store_corners(TestBatch<T>& test) {
  const Batch<T>& b = test.batch;
  for (int64_t s = 0; s < b.systems; ++s) {
    const int64_t n = b.rows(s);
    if (n == 0) continue;
    b.lower.store(b.lower.index(b.origin(s), 0, 0), test.corners[2 * s]);
    b.upper.store(b.upper.index(b.origin(s), n - 1, 0), test.corners[2 * s + 1]);
  }
}

}  // namespace cases
