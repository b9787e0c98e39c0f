// Test systems and their judgement in double precision on the host.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

namespace warploom::bench {

/// Small fast generator: the same numbers everywhere.
struct Random {
  uint64_t state;
  double uniform() {  // (-1, 1)
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<double>(static_cast<int64_t>(state) >> 11) * (1.0 / 4503599627370496.0);
  }
};

/// Rows of one or more systems, one after another, first and last off-diagonal entries unused.
template <class T>
struct Systems {
  std::vector<T> lower, diagonal, upper, rhs;
  void resize(size_t rows) {
    lower.resize(rows);
    diagonal.resize(rows);
    upper.resize(rows);
    rhs.resize(rows);
  }
};

enum class Family { dominant, weak };

inline double wide(float a) { return a; }
inline double wide(double a) { return a; }
/// A complex number of the device, which has no host arithmetic, as one of the host.
template <class C>
std::complex<double> wide(const C& a) { return {double(a.re), double(a.im)}; }
inline float real_part(float a) { return a; }
inline double real_part(double a) { return a; }
template <class C>
auto real_part(const C& a) { return a.re; }
inline bool finite(double a) { return std::isfinite(a); }
inline bool finite(const std::complex<double>& a) { return finite(a.real()) && finite(a.imag()); }

/// `weak`: M-matrix rows that are diagonally dominant by 0.1 % only. Complex numbers get zero imaginary parts.
template <class T>
void fill_system(Family family, Random& random, T* a, T* b, T* c, T* d, int64_t n, int64_t stride = 1) {
  const auto size = [](const T& value) { return std::abs(wide(value)); };
  for (int64_t i = 0; i < n; ++i, a += stride, b += stride, c += stride, d += stride) {
    using R = decltype(real_part(*a));
    if (family == Family::dominant) {
      *a = static_cast<R>(random.uniform());
      *c = static_cast<R>(random.uniform());
      const double middle = (size(*a) + size(*c)) * 1.2 + 0.5;
      *b = static_cast<R>(random.uniform() < 0 ? -middle : middle);
    } else {
      *a = static_cast<R>(-0.5 - 0.45 * random.uniform());
      *c = static_cast<R>(-0.5 - 0.45 * random.uniform());
      *b = static_cast<R>((size(*a) + size(*c)) * 1.001);
    }
    *d = static_cast<R>(random.uniform());
  }
}

/// max_i |b - A x|_i / (|A||x| + |b|)_i (Oettli & Prager); +inf when x is not finite.
template <class T>
double backward_error(const T* a, const T* b, const T* c, const T* d, const T* x, int64_t n, int64_t band = 1,
                      int64_t vector = 1) {
  double worst = 0;
  for (int64_t i = 0; i < n; ++i) {
    auto sum = wide(d[i * vector]);
    double scale = std::abs(sum);
    const auto add = [&](const T& entry, const T& value) {
      sum -= wide(entry) * wide(value);
      scale += std::abs(wide(entry) * wide(value));
    };
    add(b[i * band], x[i * vector]);
    if (i > 0) add(a[i * band], x[(i - 1) * vector]);
    if (i + 1 < n) add(c[i * band], x[(i + 1) * vector]);
    if (!finite(sum)) return INFINITY;
    if (scale > 0) worst = std::max(worst, std::abs(sum) / scale);
  }
  return worst;
}

/// Solution by the Thomas algorithm in double.
template <class T>
std::vector<double> reference(const T* a, const T* b, const T* c, const T* d, int64_t n, int64_t band = 1,
                              int64_t vector = 1) {
  std::vector<double> cp(n), x(n);
  double pivot = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double low = i > 0 ? double(a[i * band]) : 0;
    pivot = double(b[i * band]) - (i > 0 ? low * cp[i - 1] : 0);
    cp[i] = i + 1 < n ? double(c[i * band]) / pivot : 0;
    x[i] = (double(d[i * vector]) - (i > 0 ? low * x[i - 1] : 0)) / pivot;
  }
  for (int64_t i = n - 2; i >= 0; --i) x[i] -= cp[i] * x[i + 1];
  return x;
}

}  // namespace warploom::bench
