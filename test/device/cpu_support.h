// Batches, reference residuals and calls for the cpu backend's test programs.
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cuda/core/backend.h"
#include "test/device/support/harness.h"
#include "test/device/support/operations.h"
#include "test/device/support/views.h"

namespace cpu_test {

using namespace warploom;
namespace tri = warploom::tridiagonal;
/// Fewer sizes under sanitizers: the same paths, in a third of the time.
inline constexpr bool kSanitized = harness::kAddressSanitizer || harness::kThreadSanitizer;

/// The case under way and whether it has failed: a named case counts once, however much it expects.
struct Case {
  std::string name;
  bool open = false, failed = false;
};
inline Case& current() {
  static Case current;
  return current;
}
inline void close_case() {
  Case& now = current();
  if (now.open) ++(now.failed ? harness::counts().failed : harness::counts().passed);
  now = Case();
}
/// Starts a case, which ends with the next one or with finish().
template <class... Values>
void start_case(const char* format, const Values&... values) {
  close_case();
  char name[200];
  std::snprintf(name, sizeof name, format, values...);
  current().name = name;
  current().open = true;
}
inline int shown = 0;
/// Part of the current case.
#define EXPECT(condition, ...)                                                              \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      if (!cpu_test::current().open) cpu_test::start_case("%s:%d", __FILE__, __LINE__);     \
      cpu_test::current().failed = true;                                                    \
      if (++cpu_test::shown <= 40) {                                                        \
        std::printf("FAILED %s (%s:%d): ", cpu_test::current().name.c_str(), __FILE__, __LINE__); \
        std::printf(__VA_ARGS__);                                                           \
        std::printf("\n");                                                                  \
      }                                                                                     \
    }                                                                                       \
  } while (0)

template <class T> struct Traits {
  using Real = T;
  static constexpr bool kComplex = false;
};
template <class R> struct Traits<std::complex<R>> {
  using Real = R;
  static constexpr bool kComplex = true;
};
template <class T> using RealOf = typename Traits<T>::Real;
template <class T>
constexpr ScalarType type_of() {
  constexpr bool single = sizeof(RealOf<T>) == 4;
  if (Traits<T>::kComplex) return single ? ScalarType::complex64 : ScalarType::complex128;
  return single ? ScalarType::float32 : ScalarType::float64;
}
using Wide = std::complex<long double>;
template <class T>
Wide widen(const T& a) {
  if constexpr (Traits<T>::kComplex) return {a.real(), a.imag()};
  else return {static_cast<long double>(a), 0};
}
template <class T>
T narrow(const Wide& a) {
  if constexpr (Traits<T>::kComplex) {
    return {static_cast<RealOf<T>>(a.real()), static_cast<RealOf<T>>(a.imag())};
  } else {
    return static_cast<T>(a.real());
  }
}

/// Parts in [-1, 1).
template <class T>
T random_value(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  if constexpr (Traits<T>::kComplex) {
    const double re = uniform(random), im = uniform(random);
    return T(RealOf<T>(re), RealOf<T>(im));
  } else {
    return T(uniform(random));
  }
}

/// Where element (s, i, r) lies.
struct Layout {
  int64_t offset = 0, system_stride = 0, row_stride = 1, rhs_stride = 0;
};

/// One strided array of elements, interleaved or split complex, with untouched canaries between.
template <class T>
struct Buffer {
  using R = RealOf<T>;
  Layout layout;
  bool split = false;
  std::vector<R> re, im;
  static constexpr R kCanary = R(-12345.5);

  void resize(int64_t length) {
    re.assign(static_cast<size_t>(length) * (Traits<T>::kComplex && !split ? 2 : 1), kCanary);
    im.assign(split ? static_cast<size_t>(length) : 0, kCanary);
  }
  T get(int64_t at) const {
    const auto k = static_cast<size_t>(at);
    if constexpr (Traits<T>::kComplex) return split ? T(re[k], im[k]) : T(re[2 * k], re[2 * k + 1]);
    else return re[k];
  }
  void set(int64_t at, const T& value) {
    const auto k = static_cast<size_t>(at);
    if constexpr (Traits<T>::kComplex) {
      if (split) {
        re[k] = value.real();
        im[k] = value.imag();
      } else {
        re[2 * k] = value.real();
        re[2 * k + 1] = value.imag();
      }
    } else {
      re[k] = value;
    }
  }
  /// `sides`: 0 of a band; `rows`: of all systems when ragged.
  View view(bool ragged, int64_t systems, int64_t sides, int64_t rows) {
    View view;
    view.data = re.data();
    view.imaginary = split ? im.data() : nullptr;
    view.length = static_cast<int64_t>(split || !Traits<T>::kComplex ? re.size() : re.size() / 2);
    view.offset = layout.offset;
    cases::set_dimensions(&view, ragged, systems, sides, rows,
                          {layout.system_stride, layout.rhs_stride, layout.row_stride});
    return view;
  }
};

/// A batch with its own copy of every value, in any layout.
template <class T>
struct Batch {
  int64_t n = 0, systems = 0, rhs_count = 1;
  std::vector<int64_t> offsets;
  Buffer<T> lower, diagonal, upper, rhs, solution;
  bool periodic = false;
  tri::Transpose transpose = tri::Transpose::none;
  tri::Structure structure = tri::Structure::general;

  View band_view(Buffer<T>& buffer) const { return buffer.view(!offsets.empty(), systems, 0, offsets.empty() ? n : offsets.back()); }
  View vector_view(Buffer<T>& buffer) const {
    return buffer.view(!offsets.empty(), systems, rhs_count, offsets.empty() ? n : offsets.back());
  }
  int64_t rows(int64_t s) const {
    return offsets.empty() ? n : offsets[size_t(s) + 1] - offsets[size_t(s)];
  }
  int64_t at(const Buffer<T>& b, int64_t s, int64_t i, int64_t r = 0) const {
    const Layout& l = b.layout;
    return offsets.empty()
               ? l.offset + s * l.system_stride + i * l.row_stride + r * l.rhs_stride
               : l.offset + (offsets[size_t(s)] + i) * l.row_stride + r * l.rhs_stride;
  }
  Wide a(const Buffer<T>& b, int64_t s, int64_t i) const { return widen(b.get(at(b, s, i))); }
  /// Entry of A for neighbour d = -1, 0, 1 of row i (cyclic when periodic), before op.
  Wide band(int64_t s, int64_t i, int d) const {
    const int64_t m = rows(s);
    if (!periodic && (i + d < 0 || i + d >= m)) return 0;
    if (d < 0) return a(lower, s, i);
    if (d == 0) return a(diagonal, s, i);
    if (structure == tri::Structure::general) return a(upper, s, i);
    return std::conj(a(lower, s, (i + 1) % m));
  }
  /// Entry (i, i + d) of op(A).
  Wide entry(int64_t s, int64_t i, int d) const {
    if (transpose == tri::Transpose::none) return band(s, i, d);
    const int64_t m = rows(s), j = i + d;
    if (!periodic && (j < 0 || j >= m)) return 0;
    const Wide value = band(s, (j + m) % m, -d);
    return transpose == tri::Transpose::conjugate ? std::conj(value) : value;
  }
  void parameters(tri::SolveParameters* p) {
    p->type = type_of<T>();
    p->n = n;
    p->batch = systems;
    p->rhs_count = rhs_count;
    if (!offsets.empty()) p->offsets = {offsets.data(), static_cast<int64_t>(offsets.size())};
    p->lower = band_view(lower);
    p->diagonal = band_view(diagonal);
    if (structure == tri::Structure::general) p->upper = band_view(upper);
    p->rhs = vector_view(rhs);
    p->solution = vector_view(solution);
    p->periodic = periodic;
    p->transpose = transpose;
    p->structure = structure;
  }
};

struct Judged {
  long double ratio = 0;       ///< |b - Ax|_1 / (|A|_1 |x|_1 epsilon)
  long double component = 0;   ///< componentwise backward error
  bool finite = true;
};

/// `rhs` holds the right-hand side as it was before the call.
template <class T>
Judged judge(const Batch<T>& b, const Buffer<T>& rhs, int64_t s, int64_t r) {
  const int64_t m = b.rows(s);
  Judged result;
  long double residual = 0, x_norm = 0;
  std::vector<long double> column(size_t(m), 0.0L);
  for (int64_t i = 0; i < m; ++i) {
    const Wide right = widen(rhs.get(b.at(rhs, s, i, r)));
    Wide sum = right;
    long double scale = std::abs(right);
    for (int d = -1; d <= 1; ++d) {
      const int64_t j = (i + d + m) % m;
      const Wide a = b.entry(s, i, d);
      if (a == Wide(0)) continue;
      const Wide x = widen(b.solution.get(b.at(b.solution, s, j, r)));
      sum -= a * x;
      scale += std::abs(a) * std::abs(x);
      column[size_t(j)] += std::abs(a);
    }
    residual += std::abs(sum);
    x_norm += std::abs(widen(b.solution.get(b.at(b.solution, s, i, r))));
    if (scale > 0) result.component = std::max(result.component, std::abs(sum) / scale);
  }
  long double a_norm = 0;
  for (long double c : column) a_norm = std::max(a_norm, c);
  const long double epsilon = std::numeric_limits<RealOf<T>>::epsilon();
  result.finite = std::isfinite(residual) && std::isfinite(x_norm);
  result.ratio = residual == 0 ? 0 : residual / (a_norm * x_norm * epsilon);
  return result;
}

inline std::unique_ptr<Device> open_cpu(int threads = 2) {
  std::unique_ptr<Device> device;
  OpenOptions options;
  options.threads = threads;
  const Status status = cpu_backend().open(0, options, &device);
  EXPECT(status.ok(), "open: %s", status.message().c_str());
  return device;
}

/// check() and the call; status, row and error vectors are set up by the caller.
inline Status solve(Device& device, const tri::SolveParameters& p) {
  WARPLOOM_TRY(tri::check(p));
  Control control;
  return cpu_backend().operations.tridiagonal_solve(device, p, control);
}

inline int finish() {
  close_case();
  return harness::summary();
}

}  // namespace cpu_test
