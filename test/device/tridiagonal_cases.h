// Test matrices of the device programs: the twenty families of Klein and Strzodka (ICPP 2021, table 1, after Chang et
// al., SC 2012) and helpers that judge answers in long double.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

namespace cases {

/// Under ThreadSanitizer a barrier costs a thousand times more: programs run a selection that meets every barrier.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kSelection = true;
#else
inline constexpr bool kSelection = false;
#endif

/// Under either sanitizer: fewer sizes, every branch.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Rows of one real system; lower[0] and upper[n-1] are unused.
struct Bands {
  std::vector<double> lower, diagonal, upper;
  explicit Bands(int64_t n) : lower(n), diagonal(n), upper(n) {}
};

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  double uniform() { return 2.0 * static_cast<double>(engine_() >> 11) * 0x1p-53 - 1.0; }
  double normal() {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum / 2;
  }

 private:
  std::mt19937_64 engine_;
};

/// rows -= 2 v (v^T rows) on rows or columns first…n-1 of a dense n by n matrix, v normalised here. By pointers and unchecked: with the
/// checks of sanitizers it took nine tenths of some programs' time.
__attribute__((no_sanitize("address", "thread", "undefined")))
inline void reflect(double* a, int64_t n, const double* v, int64_t first, bool from_left) {
  const double *const begin = v + first, *const end = v + n;
  const int64_t along = from_left ? n : 1, across = from_left ? 1 : n;
  double length = 0;
  for (const double* w = begin; w < end; ++w) length += *w * *w;
  if (length == 0) return;
  double* line = a + first * along;
  for (int64_t k = 0; k < n; ++k, line += across) {
    double sum = 0;
    const double* x = line;
    for (const double* w = begin; w < end; ++w, x += along) sum += *w * *x;
    sum *= 2 / length;
    double* y = line;
    for (const double* w = begin; w < end; ++w, y += along) *y -= sum * *w;
  }
}

/// Random orthogonal transforms of given singular values, brought to tridiagonal form by two-sided Householder.
inline Bands from_singular_values(const std::vector<double>& values, Random& random) {
  const int64_t n = static_cast<int64_t>(values.size());
  std::vector<double> a(n * n), v(n);
  for (int64_t i = 0; i < n; ++i) a[i * n + i] = values[i];
  for (int step = 0; step < 4; ++step) {
    for (double& entry : v) entry = random.normal();
    reflect(a.data(), n, v.data(), 0, step % 2 == 0);
  }
  for (int64_t k = 0; k + 2 < n; ++k) {
    for (const bool from_left : {true, false}) {
      double norm = 0;
      for (int64_t i = k + 1; i < n; ++i) {
        v[i] = from_left ? a[i * n + k] : a[k * n + i];
        norm += v[i] * v[i];
      }
      v[k + 1] += std::copysign(std::sqrt(norm), v[k + 1]);
      reflect(a.data(), n, v.data(), k + 1, from_left);
    }
  }
  Bands bands(n);
  for (int64_t i = 0; i < n; ++i) {
    bands.diagonal[i] = a[i * n + i];
    if (i > 0) bands.lower[i] = a[i * n + i - 1];
    if (i + 1 < n) bands.upper[i] = a[i * n + i + 1];
  }
  return bands;
}

inline Bands singular_value_family(int family, int64_t n, Random& random) {
  const double smallest = 1e-15;
  std::vector<double> values(n, 1.0);
  for (int64_t i = 0; i < n; ++i) {
    const double position = n > 1 ? static_cast<double>(i) / static_cast<double>(n - 1) : 0;
    if (family == 8 && i == n - 1) values[i] = smallest;
    if (family == 9) values[i] = std::pow(smallest, position);
    if (family == 10 && i > 0) values[i] = smallest;
    if (family == 11) values[i] = 1 - position * (1 - smallest);
  }
  return from_singular_values(values, random);
}

/// dorr(1e-4): row-dominant, ill-conditioned.
inline void dorr(Bands& b) {
  const int64_t n = static_cast<int64_t>(b.diagonal.size()), middle = (n + 1) / 2;
  const double h = 1.0 / static_cast<double>(n + 1), term = 1e-4 / (h * h);
  for (int64_t i = 1; i <= n; ++i) {
    const double step = (0.5 - static_cast<double>(i) * h) / h;
    b.lower[i - 1] = i <= middle ? -term : -term + step;
    b.upper[i - 1] = i <= middle ? -term - step : -term;
    b.diagonal[i - 1] = -(b.lower[i - 1] + b.upper[i - 1]);
  }
}

/// Inverse of the Kac, Murdock and Szegő matrix 0.5^|i-j|.
inline void inverse_kms(Bands& b) {
  const size_t n = b.diagonal.size();
  const double rho = 0.5, scale = 1 / (1 - rho * rho);
  for (size_t i = 0; i < n; ++i) {
    b.lower[i] = b.upper[i] = -rho * scale;
    b.diagonal[i] = (i == 0 || i + 1 == n ? 1 : 1 + rho * rho) * scale;
  }
  if (n == 1) b.diagonal[0] = 1;
}

/// Family 1…20 with n rows.
inline Bands family(int number, int64_t n, uint64_t seed) {
  Random random(seed * 1000003 + static_cast<uint64_t>(number) * 131 + static_cast<uint64_t>(n));
  if (number >= 8 && number <= 11) return singular_value_family(number, n, random);
  Bands b(n);
  if (number == 7) inverse_kms(b);
  if (number == 13) dorr(b);
  if (number == 7 || number == 13) return b;
  for (int64_t i = 0; i < n; ++i) {
    double lower = random.uniform(), diagonal = random.uniform(), upper = random.uniform();
    const double k = static_cast<double>(i + 1);
    switch (number) {
      case 2: diagonal = 1e8; break;
      case 3: lower = 1 / k; diagonal = -(2 * (k + 1) + 1); upper = k + 1; break;
      case 4: lower *= i == n / 2 ? 1e-50 : 1; break;
      case 5: lower *= random.uniform() < 0 ? 0 : 1; upper *= random.uniform() < 0 ? 0 : 1; break;
      case 6: diagonal = 64; break;
      case 12: lower *= 1e-50; break;
      case 14: diagonal = 1e-8; break;
      case 15: diagonal = 0; break;
      case 16: lower = upper = 1; diagonal = 1e-8; break;
      case 17: lower = upper = 1; diagonal = 1e8; break;
      case 18: lower = upper = -1; diagonal = 4; break;
      case 19: lower = -1; upper = 1; diagonal = 4; break;
      case 20: lower = -1; diagonal = 4; break;
      default: break;
    }
    b.lower[i] = lower;
    b.diagonal[i] = diagonal;
    b.upper[i] = upper;
  }
  return b;
}

using Exact = std::complex<long double>;

/// One system as the solver sees it (after rounding), in the host's widest type.
struct System {
  std::vector<Exact> lower, diagonal, upper, rhs, x;
  Exact corner_first = 0, corner_last = 0;
  int64_t rows() const { return static_cast<int64_t>(diagonal.size()); }
  Exact residual(int64_t i, long double* scale) const {
    const int64_t n = rows();
    Exact sum = rhs[i] - diagonal[i] * x[i];
    *scale = size(rhs[i]) + size(diagonal[i]) * size(x[i]);
    const auto subtract = [&](const Exact& factor, const Exact& value) {
      sum -= factor * value;
      *scale += size(factor) * size(value);
    };
    if (i > 0) subtract(lower[i], x[i - 1]);
    if (i + 1 < n) subtract(upper[i], x[i + 1]);
    if (i == 0) subtract(corner_first, x[n - 1]);
    if (i == n - 1) subtract(corner_last, x[0]);
    return sum;
  }
  /// Replaces x by the solution in long double (dense elimination with partial pivoting; small n only).
  void solve_exactly() {
    const int64_t n = rows();
    std::vector<Exact> a(n * n, 0);
    x = rhs;
    for (int64_t i = 0; i < n; ++i) {
      a[i * n + i] += diagonal[i];
      if (i > 0) a[i * n + i - 1] += lower[i];
      if (i + 1 < n) a[i * n + i + 1] += upper[i];
    }
    a[n - 1] += corner_first;
    a[(n - 1) * n] += corner_last;
    for (int64_t k = 0; k < n; ++k) {
      int64_t best = k;
      for (int64_t i = k + 1; i < n; ++i) best = size(a[i * n + k]) > size(a[best * n + k]) ? i : best;
      for (int64_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[best * n + j]);
      std::swap(x[k], x[best]);
      for (int64_t i = k + 1; i < n; ++i) {
        const Exact factor = a[i * n + k] / a[k * n + k];
        for (int64_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
        x[i] -= factor * x[k];
      }
    }
    for (int64_t k = n - 1; k >= 0; --k) {
      for (int64_t j = k + 1; j < n; ++j) x[k] -= a[k * n + j] * x[j];
      x[k] /= a[k * n + k];
    }
  }
  static long double size(const Exact& a) { return std::abs(a); }

  /// |b - A x|_1 / (|A|_1 |x|_1 epsilon)
  long double residual_ratio(long double epsilon) const {
    const int64_t n = rows();
    long double residuals = 0, solution = 0, norm = 0, scale = 0;
    for (int64_t i = 0; i < n; ++i) {
      residuals += size(residual(i, &scale));
      solution += size(x[i]);
      long double column = size(diagonal[i]);
      if (i > 0) column += size(upper[i - 1]);
      if (i + 1 < n) column += size(lower[i + 1]);
      if (i == 0) column += size(corner_last);
      if (i == n - 1) column += size(corner_first);
      norm = std::max(norm, column);
    }
    return residuals == 0 ? 0 : residuals / (norm * solution * epsilon);
  }
  /// max_i |b - A x|_i / (|A||x| + |b|)_i
  long double backward_error() const {
    long double worst = 0;
    for (int64_t i = 0; i < rows(); ++i) {
      long double scale = 0;
      const long double residual_size = size(residual(i, &scale));
      if (residual_size > 0) worst = std::max(worst, residual_size / scale);
      if (residual_size != residual_size) return INFINITY;
    }
    return worst;
  }
};

class Tally {
 public:
  void expect(bool condition, const char* format, ...) __attribute__((format(printf, 3, 4))) {
    if (condition) {
      ++passed_;
      return;
    }
    if (++failed_ > 40) return;
    va_list arguments;
    va_start(arguments, format);
    std::vprintf(format, arguments);
    va_end(arguments);
    std::printf("\n");
  }
  /// Prints the summary line; the process's exit status.
  int finish() const {
    std::printf("%d passed, %d failed, 0 skipped\n", passed_, failed_);
    return failed_ == 0 ? 0 : 1;
  }

 private:
  int passed_ = 0, failed_ = 0;
};

}  // namespace cases
