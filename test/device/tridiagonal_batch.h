// A batch in the simt device's memory, in any layout, for the device programs.
#pragma once
#include <memory>

#include "cuda/tridiagonal/batch.cuh"
#include "test/device/support/element_types.h"
#include "test/device/support/simt_device.h"
#include "tridiagonal_cases.h"

namespace cases {

namespace target = warploom::simt;
using target::tridiagonal::Batch;
using target::tridiagonal::Strided;

template <class R>
Exact widen(const target::Complex<R>& a) { return {a.re, a.im}; }
inline Exact widen(float a) { return {a, 0}; }
inline Exact widen(double a) { return {a, 0}; }
template <class T>
T narrow(double re, double im) {
  using R = target::RealOf<T>;
  if constexpr (target::kIsComplex<T>) {
    return T(static_cast<R>(re), static_cast<R>(im));
  } else {
    return static_cast<T>(re);
  }
}

enum class Layout { contiguous, interleaved, padded, ragged, split };

struct Options {
  Layout layout = Layout::contiguous;
  bool in_place = false;
  int64_t rhs_count = 1;
};

/// Host memory stands for device memory: the simt backend's is host memory.
template <class T>
class TestBatch {
 public:
  using R = target::RealOf<T>;

  /// sizes: rows of each system (all equal unless ragged).
  TestBatch(const std::vector<int64_t>& sizes, const Options& options) : options_(options), sizes_(sizes) {
    const int64_t systems = static_cast<int64_t>(sizes.size());
    int64_t total = 0;
    offsets_.push_back(0);
    for (const int64_t size : sizes) {
      batch.n = std::max(batch.n, size);
      offsets_.push_back(total += size);
    }
    batch.systems = systems;
    batch.rhs_count = options.rhs_count;
    if (options.layout == Layout::ragged) batch.offsets = offsets_.data();
    const int64_t pad = options.layout == Layout::padded ? 3 : 0;
    int64_t row = 1, system = batch.n + pad, length = (batch.n + pad) * systems;
    if (options.layout == Layout::interleaved) row = systems, system = 1;
    if (options.layout == Layout::ragged) system = 1, length = total;
    place(lower_, length, 1, row, system, &batch.lower);
    place(diagonal_, length, 1, row, system, &batch.diagonal);
    place(upper_, length, 1, row, system, &batch.upper);
    place(rhs_, length, options.rhs_count, row, system, &batch.rhs);
    place(solution_, length, options.rhs_count, row, system, &batch.solution);
    if (options.in_place) batch.solution = batch.rhs;
    status.assign(batch.problems(), -7);
    row_word.assign(batch.problems(), -7);
    batch.status = status.data();
    batch.row = row_word.data();
    kept_.resize(batch.problems());
  }
  TestBatch(const TestBatch&) = delete;

  static int64_t at(const Strided<T>& view, int64_t origin, int64_t row, int64_t rhs = 0) {
    return view.index(origin, row, rhs);
  }
  /// Fills system s with bands (imaginary parts from `other`) and rhs = A x for x near N(3, 1).
  /// Periodic: the bands' corner entries go to `corners`, not into the matrix.
  void fill(int64_t s, const Bands& bands, const Bands& other, uint64_t seed, bool periodic = false) {
    Random random(seed + 77 * static_cast<uint64_t>(s));
    System system;
    const int64_t n = sizes_[s], origin = batch.origin(s);
    const T unread = narrow<T>(NAN, NAN);
    for (int64_t i = 0; i < n; ++i) {
      const T lower = i > 0 ? narrow<T>(bands.lower[i], other.lower[i] / 2) : unread;
      const T diagonal = narrow<T>(bands.diagonal[i], other.diagonal[i] / 2);
      const T upper = i + 1 < n ? narrow<T>(bands.upper[i], other.upper[i] / 2) : unread;
      batch.lower.store(at(batch.lower, origin, i), lower);
      batch.diagonal.store(at(batch.diagonal, origin, i), diagonal);
      batch.upper.store(at(batch.upper, origin, i), upper);
      system.lower.push_back(widen(lower));
      system.diagonal.push_back(widen(diagonal));
      system.upper.push_back(widen(upper));
    }
    if (periodic) corners.resize(2 * sizes_.size());
    if (periodic && n > 0) {
      corners[2 * s] = narrow<T>(bands.lower[0], other.lower[0] / 2);
      corners[2 * s + 1] = narrow<T>(bands.upper[n - 1], other.upper[n - 1] / 2);
      system.corner_first = widen(corners[2 * s]);
      system.corner_last = widen(corners[2 * s + 1]);
    }
    for (int64_t r = 0; r < batch.rhs_count; ++r) {
      system.rhs.assign(n, 0);
      system.x.clear();
      for (int64_t i = 0; i < n; ++i) system.x.push_back(Exact(3 + random.normal(), target::kIsComplex<T> ? random.normal() : 0));
      for (int64_t i = 0; i < n; ++i) {
        long double scale;
        const Exact value = -system.residual(i, &scale);
        set_rhs(s, i, r, value);
      }
      for (int64_t i = 0; i < n; ++i) system.rhs[i] = widen(batch.rhs.load(at(batch.rhs, origin, i, r)));
      kept_[s * batch.rhs_count + r] = system;
    }
  }
  void set_rhs(int64_t s, int64_t i, int64_t r, const Exact& value) {
    batch.rhs.store(at(batch.rhs, batch.origin(s), i, r),
                    narrow<T>(static_cast<double>(value.real()), static_cast<double>(value.imag())));
  }
  /// The problem with the answer now in memory.
  System answer(int64_t problem) const {
    System system = kept_[problem];
    const int64_t s = problem / batch.rhs_count, r = problem % batch.rhs_count;
    for (int64_t i = 0; i < sizes_[s]; ++i) {
      system.x[i] = widen(batch.solution.load(at(batch.solution, batch.origin(s), i, r)));
    }
    return system;
  }
  System& kept(int64_t problem) { return kept_[problem]; }

  Batch<T> batch;
  std::vector<int32_t> status, row_word;
  std::vector<T> corners;

 private:
  struct Store {
    std::vector<T> data;
    std::vector<R> real, imaginary;
  };
  void place(Store& store, int64_t length, int64_t rhs_count, int64_t row, int64_t system, Strided<T>* view) {
    const T canary = narrow<T>(-12345, 54321);
    view->row_stride = row;
    view->system_stride = system;
    view->rhs_stride = length;
    if (options_.layout == Layout::split) {
      store.real.assign(length * rhs_count + 1, R(-12345));
      store.imaginary.assign(length * rhs_count + 1, R(54321));
      view->data = reinterpret_cast<T*>(store.real.data());
      view->imaginary = store.imaginary.data();
    } else {
      store.data.assign(length * rhs_count, canary);
      view->data = store.data.data();
    }
  }
  Options options_;
  std::vector<int64_t> sizes_, offsets_;
  Store lower_, diagonal_, upper_, rhs_, solution_;
  std::vector<System> kept_;
};

/// LAPACK gttrf's info - 1 in type T without exchanges of tiny differences: row of the first zero pivot, else -1.
template <class T>
int64_t reference_zero_pivot(const TestBatch<T>& test, int64_t s) {
  const Batch<T>& b = test.batch;
  const int64_t n = b.rows(s), origin = b.origin(s);
  T own = b.diagonal.load(b.diagonal.index(origin, 0, 0));
  T above = n > 1 ? b.upper.load(b.upper.index(origin, 0, 0)) : T(0);
  for (int64_t k = 0; k + 1 < n; ++k) {
    const T next = b.lower.load(b.lower.index(origin, k + 1, 0));
    const T diagonal = b.diagonal.load(b.diagonal.index(origin, k + 1, 0));
    const T upper = k + 2 < n ? b.upper.load(b.upper.index(origin, k + 1, 0)) : T(0);
    const bool exchange = target::device::absolute(next) > target::device::absolute(own);
    const T pivot = exchange ? next : own;
    if (target::device::absolute(pivot) == 0) return k;
    const T factor = (exchange ? own : next) * target::device::reciprocal(pivot);
    const T kept = exchange ? above : diagonal, first = exchange ? diagonal : above;
    own = target::device::fma(-factor, first, kept);
    above = exchange ? target::device::fma(-factor, upper, T(0)) : upper;
  }
  return target::device::absolute(own) == 0 ? n - 1 : -1;
}

}  // namespace cases
