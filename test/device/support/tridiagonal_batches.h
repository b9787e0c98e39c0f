// Diagonally dominant batches on host and device, and how their answers are judged: by their residual.
#pragma once
#include <complex>

#include "cuda/tridiagonal/condition.h"
#include "cuda/tridiagonal/factor.h"
#include "cuda/tridiagonal/multiply.h"
#include "cuda/tridiagonal/solve.h"
#include "cuda/tridiagonal/solve_factored.h"
#include "test/device/support/cases.h"
#include "test/device/support/views.h"

namespace cases {

template <class T> struct RealPart { using Type = T; };
template <class R> struct RealPart<std::complex<R>> { using Type = R; };

template <class T> ScalarType scalar_type();
template <> inline ScalarType scalar_type<float>() { return ScalarType::float32; }
template <> inline ScalarType scalar_type<double>() { return ScalarType::float64; }
template <> inline ScalarType scalar_type<std::complex<float>>() { return ScalarType::complex64; }
template <> inline ScalarType scalar_type<std::complex<double>>() { return ScalarType::complex128; }

template <class T>
T random_scalar(Numbers& numbers) {
  if constexpr (sizeof(T) != sizeof(typename RealPart<T>::Type)) {
    const auto re = static_cast<typename RealPart<T>::Type>(numbers());
    return T(re, static_cast<typename RealPart<T>::Type>(numbers()));
  } else {
    return static_cast<T>(numbers());
  }
}

/// A batch on the host, contiguous systems, one right-hand side.
template <class T>
struct HostBatch {
  int64_t n, batch;
  std::vector<T> lower, diagonal, upper, rhs;

  HostBatch(int64_t n, int64_t batch, bool positive_definite) : n(n), batch(batch) {
    Numbers numbers(static_cast<uint64_t>(n * 31 + batch));
    const size_t count = static_cast<size_t>(n * batch);
    for (std::vector<T>* v : {&lower, &diagonal, &upper, &rhs}) v->resize(count);
    for (size_t i = 0; i < count; ++i) {
      lower[i] = random_scalar<T>(numbers);
      upper[i] = random_scalar<T>(numbers);
      rhs[i] = random_scalar<T>(numbers);
      diagonal[i] = T(typename RealPart<T>::Type(3.5)) + (positive_definite ? T(0) : random_scalar<T>(numbers) * T(0.25));
    }
    if (!positive_definite) return;
    for (size_t i = 0; i + 1 < count; ++i) {
      if constexpr (sizeof(T) != sizeof(typename RealPart<T>::Type)) upper[i] = std::conj(lower[i + 1]);
      else upper[i] = lower[i + 1];
    }
  }
  T at(const std::vector<T>& band, int64_t s, int64_t i) const { return band[static_cast<size_t>(s * n + i)]; }
  /// Element (row, column) of system s.
  T element(int64_t s, int64_t row, int64_t column, bool periodic) const {
    T sum = T(0);
    if (row == column) sum += at(diagonal, s, row);
    if (row > 0 ? column == row - 1 : periodic && column == n - 1) sum += at(lower, s, row);
    if (row < n - 1 ? column == row + 1 : periodic && column == 0) sum += at(upper, s, row);
    return sum;
  }
  /// Row `row` of op(A) x.
  T product(const std::vector<T>& x, int64_t s, int64_t row, bool periodic, bool transpose) const {
    T sum = T(0);
    int64_t columns[] = {row, row - 1, row + 1, row == 0 ? n - 1 : -1, row == n - 1 ? 0 : -1};
    for (int k = 0; k < 5; ++k) {
      const int64_t c = columns[k];
      bool fresh = c >= 0 && c < n;
      for (int other = 0; other < k; ++other) fresh = fresh && columns[other] != c;
      if (fresh) sum += (transpose ? element(s, c, row, periodic) : element(s, row, c, periodic)) * at(x, s, c);
    }
    return sum;
  }
};

/// Largest |b - op(A) x| over the batch, NaN when there is one.
template <class T>
double worst_residual(const HostBatch<T>& host, const std::vector<T>& x, bool periodic, bool transpose) {
  double worst = 0;
  for (int64_t s = 0; s < host.batch; ++s) {
    for (int64_t i = 0; i < host.n; ++i) {
      const double residual = std::abs(host.product(x, s, i, periodic, transpose) - host.at(host.rhs, s, i));
      if (!(residual <= worst)) worst = residual;
    }
  }
  return worst;
}

template <class T>
double residual_limit() { return sizeof(typename RealPart<T>::Type) == 4 ? 2e-5 : 4e-14; }

template <class T>
struct DeviceBatch {
  OnDevice<T> lower, diagonal, upper, rhs, solution;
  OnDevice<int32_t> status, row;
  DeviceBatch(Device& device, const HostBatch<T>& host)
      : lower(device, host.lower), diagonal(device, host.diagonal), upper(device, host.upper), rhs(device, host.rhs),
        solution(device, host.rhs.size()), status(device, static_cast<size_t>(host.batch)),
        row(device, static_cast<size_t>(host.batch)) {}
};

template <class T>
View view_of(const OnDevice<T>& array, int64_t n) {
  View view;
  view.data = array.data();
  view.length = array.length();
  lay_out(&view, {array.length() / n, n});
  return view;
}

template <class T, class Parameters>
void set_matrix(Parameters& p, const HostBatch<T>& host, const DeviceBatch<T>& on) {
  p.type = scalar_type<T>();
  p.n = host.n;
  p.batch = host.batch;
  p.lower = view_of(on.lower, host.n);
  p.diagonal = view_of(on.diagonal, host.n);
  p.upper = view_of(on.upper, host.n);
  if (p.structure == tridiagonal::Structure::positive_definite) p.upper = View();
}

template <class T>
std::string judge(const HostBatch<T>& host, const DeviceBatch<T>& on, bool periodic, bool transpose, std::string* digest) {
  const std::vector<T> x = on.solution.host();
  const std::vector<int32_t> status = on.status.host();
  digest_of(x, digest);
  digest_of(status, digest);
  for (size_t s = 0; s < status.size(); ++s) {
    if ((status[s] & 0xff) != 0) return "system " + std::to_string(s) + " has status " + std::to_string(status[s]);
  }
  const double worst = worst_residual(host, x, periodic, transpose);
  return worst <= residual_limit<T>() ? "" : "residual " + std::to_string(worst);
}

}  // namespace cases
