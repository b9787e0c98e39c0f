// Random tridiagonal batches in every layout, and the judgement of answers in long double: for the device programs.
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cuda/core/runtime.h"
#include "cuda/tridiagonal/condition.h"
#include "cuda/tridiagonal/factor.h"
#include "cuda/tridiagonal/multiply.h"
#include "cuda/tridiagonal/solve.h"
#include "cuda/tridiagonal/solve_factored.h"
#include "cuda/core/complex.cuh"
#include "cuda/core/operations.h"
#include "simt/runtime.h"
#include "test/device/support/element_types.h"
#include "test/device/support/simt_device.h"
#include "test/device/support/views.h"

namespace warploom::test {

using Wide = std::complex<long double>;

/// Counts and the last line every program prints.
class Report {
 public:
  void check(bool good, const std::string& what) {
    if (good) {
      ++passed_;
    } else if (++failed_ <= 40) {
      std::printf("FAILED %s\n", what.c_str());
    }
  }
  void skip() { ++skipped_; }
  int finish() const {
    std::printf("%d passed, %d failed, %d skipped\n", passed_, failed_, skipped_);
    return failed_ == 0 ? 0 : 1;
  }

 private:
  int passed_ = 0, failed_ = 0, skipped_ = 0;
};

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

template <class T> struct Traits;
template <> struct Traits<float> { static constexpr ScalarType kType = ScalarType::float32; };
template <> struct Traits<double> { static constexpr ScalarType kType = ScalarType::float64; };
template <> struct Traits<simt::Complex<float>> { static constexpr ScalarType kType = ScalarType::complex64; };
template <> struct Traits<simt::Complex<double>> { static constexpr ScalarType kType = ScalarType::complex128; };
inline const char* type_name(ScalarType type) { return kScalarTypeNames[static_cast<int>(type)]; }

/// A buffer behind a View; every element starts as a NaN of a fixed pattern, which also marks what must stay unread
/// (corners, padding) and unwritten.
template <class T>
class Buffer {
 public:
  using Real = simt::RealOf<T>;
  static constexpr bool kComplex = simt::kIsComplex<T>;

  View view;

  void allocate(int64_t length, bool split) {
    split_ = split && kComplex;
    view.length = length;
    real_.assign(static_cast<size_t>(length * (kComplex && !split_ ? 2 : 1)), canary());
    imaginary_.assign(static_cast<size_t>(split_ ? length : 0), canary());
    view.data = real_.data();
    view.imaginary = split_ ? imaginary_.data() : nullptr;
  }
  void set(int64_t at, const Wide& value) {
    const Real re = static_cast<Real>(value.real()), im = static_cast<Real>(value.imag());
    if (!kComplex) real_[at] = re;
    else if (split_) real_[at] = re, imaginary_[at] = im;
    else real_[2 * at] = re, real_[2 * at + 1] = im;
  }
  Wide get(int64_t at) const {
    if (!kComplex) return Wide(real_[at], 0);
    return split_ ? Wide(real_[at], imaginary_[at]) : Wide(real_[2 * at], real_[2 * at + 1]);
  }
  bool untouched(int64_t at) const {
    const Real pattern = canary();
    const auto same = [&](const Real& value) { return std::memcmp(&value, &pattern, sizeof(Real)) == 0; };
    if (!kComplex) return same(real_[at]);
    return split_ ? same(real_[at]) && same(imaginary_[at]) : same(real_[2 * at]) && same(real_[2 * at + 1]);
  }
  bool same_bits(const Buffer& other) const {
    return bits_equal(real_, other.real_) && bits_equal(imaginary_, other.imaginary_);
  }
  /// A copy with its own memory.
  Buffer(const Buffer& other) { *this = other; }
  Buffer() = default;
  Buffer& operator=(const Buffer& other) {
    view = other.view;
    split_ = other.split_;
    real_ = other.real_;
    imaginary_ = other.imaginary_;
    view.data = real_.data();
    view.imaginary = split_ ? imaginary_.data() : nullptr;
    return *this;
  }

 private:
  static Real canary() {
    Real value;
    const uint64_t pattern = 0x7ff7a5a57fe7a5a5ull;  // NaN as a double, and its low word as a float
    std::memcpy(&value, &pattern, sizeof(Real));
    return value;
  }
  static bool bits_equal(const std::vector<Real>& a, const std::vector<Real>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
  }
  std::vector<Real> real_, imaginary_;
  bool split_ = false;
};

enum class Layout { contiguous, interleaved, padded, split, ragged, shared, toeplitz };
inline constexpr Layout kLayouts[] = {Layout::contiguous, Layout::interleaved, Layout::padded, Layout::split,
                                      Layout::ragged, Layout::shared, Layout::toeplitz};
inline const char* layout_name(Layout layout) {
  static const char* const names[] = {"contiguous", "interleaved", "padded", "split",
                                      "ragged", "shared", "toeplitz"};
  return names[static_cast<int>(layout)];
}

/// What a random batch looks like.
struct Shape {
  int64_t n = 1, systems = 1, rhs_count = 1;
  Layout layout = Layout::contiguous;
  bool periodic = false;
  tridiagonal::Transpose transpose = tridiagonal::Transpose::none;
  tridiagonal::Structure structure = tridiagonal::Structure::general;
  uint64_t seed = 1;
};

/// A batch op(A) x = d whose x is known: rows dominant by a factor of two or so, x of size one.
template <class T>
struct Case {
  Shape shape;
  std::vector<int64_t> offsets;
  Buffer<T> lower, diagonal, upper, rhs, solution;
  std::vector<Wide> truth;  ///< [system][row][rhs], n rows each

  bool ragged() const { return !offsets.empty(); }
  bool definite() const { return shape.structure == tridiagonal::Structure::positive_definite; }
  int64_t rows(int64_t s) const { return ragged() ? offsets[s + 1] - offsets[s] : shape.n; }
  int64_t at(const View& view, int64_t s, int64_t i, int64_t r) const {
    const auto place = linear::placement_of(view, ragged());
    return view.offset + (ragged() ? offsets[s] : s) * place.system + i * place.row + r * place.rhs;
  }
  Wide& x(int64_t s, int64_t i, int64_t r) {
    return truth[static_cast<size_t>((s * shape.n + i) * shape.rhs_count + r)];
  }
  /// Entry (i, j) terms of op(A) times v: calls add(j, entry) for each stored entry of row i, from the definition.
  template <class Add>
  void row_of(int64_t s, int64_t i, Add add) const {
    const int64_t n = rows(s);
    const auto untransposed = [&](int64_t row, auto use) {
      use(row, diagonal.get(at(diagonal.view, s, row, 0)));
      if (row > 0 || shape.periodic) use((row + n - 1) % n, lower.get(at(lower.view, s, row, 0)));
      if (row + 1 < n || shape.periodic) {
        use((row + 1) % n, definite() ? std::conj(lower.get(at(lower.view, s, (row + 1) % n, 0)))
                                      : upper.get(at(upper.view, s, row, 0)));
      }
    };
    if (shape.transpose == tridiagonal::Transpose::none) return untransposed(i, add);
    const bool conjugate = shape.transpose == tridiagonal::Transpose::conjugate;
    int64_t candidates[3] = {(i + n - 1) % n, i, (i + 1) % n};
    for (int k = 0; k < 3; ++k) {
      bool seen = false;
      for (int m = 0; m < k; ++m) seen = seen || candidates[m] == candidates[k];
      if (seen) continue;
      const int64_t row = candidates[k];
      untransposed(row, [&](int64_t column, const Wide& entry) {
        if (column == i) add(row, conjugate ? std::conj(entry) : entry);
      });
    }
  }
  tridiagonal::SolveParameters parameters() {
    tridiagonal::SolveParameters p;
    p.type = Traits<T>::kType;
    p.n = shape.n;
    p.batch = shape.systems;
    p.rhs_count = shape.rhs_count;
    if (ragged()) p.offsets = {offsets.data(), static_cast<int64_t>(offsets.size())};
    p.lower = lower.view;
    p.diagonal = diagonal.view;
    if (!definite()) p.upper = upper.view;
    p.rhs = rhs.view;
    p.solution = solution.view;
    p.periodic = shape.periodic;
    p.transpose = shape.transpose;
    p.structure = shape.structure;
    return p;
  }
  std::string name() const {
    return std::string(type_name(Traits<T>::kType)) + " n=" + std::to_string(shape.n) + " systems=" +
           std::to_string(shape.systems) + " rhs=" + std::to_string(shape.rhs_count) + " " +
           layout_name(shape.layout) + (shape.periodic ? " periodic" : "") + " " +
           tridiagonal::kTransposeNames[static_cast<int>(shape.transpose)] + (definite() ? " definite" : "");
  }
};

/// Strides of a layout for bands (rhs_count 1) or right-hand sides, the first element's place and the buffer's length.
inline linear::Placement strides(const Shape& shape, int64_t total, bool band, int64_t* offset, int64_t* length) {
  const int64_t n = shape.n, count = band ? 1 : shape.rhs_count;
  linear::Placement at;
  *offset = 0;
  switch (shape.layout) {
    case Layout::interleaved:
      at = {count, 1, count * shape.systems};
      *length = n * at.row;
      break;
    case Layout::padded:
      at = {2 * n + 3, shape.systems * (2 * n + 3) + 1, 2};
      *offset = 5;
      *length = 5 + count * at.rhs;
      break;
    case Layout::ragged:
      at = {0, 2 * total + 1, 2};
      *offset = 1;
      *length = 1 + count * at.rhs;
      break;
    case Layout::shared:
      at = {band ? 0 : n * count, n, 1};
      *length = band ? n : n * count * shape.systems;
      break;
    case Layout::toeplitz:
      at = {band ? 1 : n, n * shape.systems, band ? 0 : 1};
      *length = band ? shape.systems : n * count * shape.systems;
      break;
    default:
      at = {n, n * shape.systems, 1};
      *length = n * count * shape.systems;
  }
  return at;
}

template <class T>
void place(Buffer<T>& buffer, const Shape& shape, int64_t total, bool band) {
  int64_t offset = 0, length = 0;
  const linear::Placement at = strides(shape, total, band, &offset, &length);
  const bool ragged = shape.layout == Layout::ragged;
  buffer.allocate(length, shape.layout == Layout::split);
  buffer.view.offset = offset;
  cases::set_dimensions(&buffer.view, ragged, shape.systems, band ? 0 : shape.rhs_count, ragged ? total : shape.n, at);
}

/// d = op(A) x, rounded to T.
template <class T>
void fill_rhs(Case<T>& c) {
  for (int64_t s = 0; s < c.shape.systems; ++s) {
    for (int64_t r = 0; r < c.shape.rhs_count; ++r) {
      for (int64_t i = 0; i < c.rows(s); ++i) {
        Wide sum = 0;
        c.row_of(s, i, [&](int64_t j, const Wide& entry) { sum += entry * c.x(s, j, r); });
        c.rhs.set(c.at(c.rhs.view, s, i, r), sum);
      }
    }
  }
}

template <class T>
Case<T> make_case(const Shape& shape) {
  Case<T> c;
  c.shape = shape;
  std::mt19937_64 random(shape.seed * 977 + static_cast<uint64_t>(shape.n));
  std::uniform_real_distribution<double> uniform(-1, 1);
  int64_t total = shape.n * shape.systems;
  if (shape.layout == Layout::ragged) {
    c.offsets.push_back(3);  // rows need not begin at zero
    for (int64_t s = 0; s < shape.systems; ++s) {
      const int64_t rows = s == 0 ? shape.n : static_cast<int64_t>(random() % static_cast<uint64_t>(shape.n + 1));
      c.offsets.push_back(c.offsets.back() + rows);
    }
    total = c.offsets.back();
  }
  place(c.lower, shape, total, true);
  place(c.diagonal, shape, total, true);
  if (!c.definite()) place(c.upper, shape, total, true);
  place(c.rhs, shape, total, false);
  place(c.solution, shape, total, false);
  const bool complex = simt::kIsComplex<T>;
  const auto entry = [&] { return Wide(uniform(random), complex ? uniform(random) : 0); };
  c.truth.resize(static_cast<size_t>(shape.systems * shape.n * shape.rhs_count));
  for (auto& x : c.truth) x = entry();
  const bool constant = shape.layout == Layout::toeplitz;
  for (int64_t s = 0; s < shape.systems; ++s) {
    const int64_t n = c.rows(s);
    for (int64_t i = 0; i < n; ++i) {
      // The corners stay NaN where nothing may read them.
      if (i > 0 || shape.periodic || (constant && n > 1)) c.lower.set(c.at(c.lower.view, s, i, 0), entry());
      if (!c.definite() && (i + 1 < n || shape.periodic || (constant && n > 1))) {
        c.upper.set(c.at(c.upper.view, s, i, 0), entry());
      }
      const Wide side = entry();
      const long double sign = side.real() < 0 && !c.definite() ? -1 : 1;
      c.diagonal.set(c.at(c.diagonal.view, s, i, 0),
                     Wide(sign * (5 + std::fabs(side.real())), c.definite() ? 0 : side.imag()));
    }
  }
  fill_rhs(c);
  return c;
}

/// Worst componentwise backward error and worst error against the known x, both in units of the type's epsilon.
struct Errors {
  long double backward = 0, forward = 0;
};

template <class T>
Errors judge(Case<T>& c, int64_t system) {
  using Real = simt::RealOf<T>;
  const long double unit = std::numeric_limits<Real>::epsilon();
  Errors errors;
  const auto worse = [](long double& worst, long double value) {
    if (!(value <= worst)) worst = std::isnan(value) ? std::numeric_limits<long double>::infinity() : value;
  };
  for (int64_t r = 0; r < c.shape.rhs_count; ++r) {
    const auto x = [&](int64_t i) { return c.solution.get(c.at(c.solution.view, system, i, r)); };
    for (int64_t i = 0; i < c.rows(system); ++i) {
      Wide residual = c.rhs.get(c.at(c.rhs.view, system, i, r));
      long double size = std::abs(residual);
      c.row_of(system, i, [&](int64_t j, const Wide& entry) {
        residual -= entry * x(j);
        size += std::abs(entry) * std::abs(x(j));
      });
      worse(errors.backward, size == 0 ? std::abs(residual) : std::abs(residual) / size / unit);
      worse(errors.forward, std::abs(x(i) - c.x(system, i, r)) / unit);
    }
  }
  return errors;
}

/// True when every element of the solution's buffer that belongs to no unknown is as it was.
template <class T>
bool padding_untouched(const Case<T>& c) {
  std::vector<bool> used(static_cast<size_t>(c.solution.view.length));
  for (int64_t s = 0; s < c.shape.systems; ++s) {
    for (int64_t r = 0; r < c.shape.rhs_count; ++r) {
      for (int64_t i = 0; i < c.rows(s); ++i) used[static_cast<size_t>(c.at(c.solution.view, s, i, r))] = true;
    }
  }
  for (size_t at = 0; at < used.size(); ++at) {
    if (!used[at] && !c.solution.untouched(static_cast<int64_t>(at))) return false;
  }
  return true;
}

}  // namespace warploom::test
