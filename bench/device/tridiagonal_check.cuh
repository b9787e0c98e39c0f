// Correctness of the solvers on the device against the host in double: sizes around tiles, layouts,
// status words, isolation of bad systems. Returns the number of failures.
#pragma once
#include <cstring>
#include <functional>
#include <limits>
#include <string>

#include "bench/device/bench_device.cuh"
#include "bench/device/tridiagonal_data.h"
#include "cuda/tridiagonal/batch.cuh"

namespace warploom::bench {

namespace tri = cuda::tridiagonal;

enum class Layout { contiguous, padded, misaligned, interleaved, ragged, many, shared, toeplitz, in_place };
inline const char* kLayouts[] = {"contiguous", "padded", "misaligned", "interleaved", "ragged",
                                 "many",       "shared", "toeplitz",   "in-place"};

template <class T>
using Solve = std::function<Status(cuda::GpuDevice&, const tri::Batch<T>&, tri::Used*)>;

/// Host description of one check.
struct Case {
  int64_t n, systems;
  Layout layout;
};

/// Arrays of one case on host and device; every band and vector has its own strides.
template <class T>
class CheckRun {
 public:
  CheckRun(BenchDevice& device, const Case& c) : device_(device), case_(c) {
    const int64_t n = c.n, s = c.systems;
    const bool odd = c.layout == Layout::padded;
    rhs_count_ = c.layout == Layout::many ? 3 : 1;
    shift_ = c.layout == Layout::misaligned ? 1 : 0;
    row_ = c.layout == Layout::interleaved ? s : 1;
    system_ = c.layout == Layout::interleaved ? 1 : odd ? n + 5 : n;
    rows_total_ = (c.layout == Layout::interleaved ? n * s : s * (n + 5)) + 8;
    offsets_.push_back(0);
    Random random{uint64_t(n * 1000003 + s * 31 + int(c.layout))};
    for (int64_t k = 0; k < s; ++k) {
      offsets_.push_back(offsets_.back() + (c.layout == Layout::ragged && k % 3 ? (n * (k % 3) + 2) / 3 : n));
    }
    const T poison = std::numeric_limits<T>::quiet_NaN();
    for (auto* v : {&a, &b, &c_, &d}) v->assign(rows_total_ * (v == &d ? rhs_count_ : 1), poison);
    x.assign(d.size(), T(77));
    bool filled = false;
    for (int64_t k = 0; k < s; ++k) {
      if ((c.layout == Layout::shared || c.layout == Layout::toeplitz) && filled) break;
      filled = true;
      std::vector<T> t[4];
      for (auto& v : t) v.resize(rows(k));
      fill_system(k % 2 ? Family::weak : Family::dominant, random, t[0].data(), t[1].data(), t[2].data(),
                  t[3].data(), rows(k));
      for (int64_t i = 0; i < rows(k); ++i) {
        const int64_t at = band_at(k, i);
        if (c.layout == Layout::toeplitz) {
          a[at] = T(-1);
          b[at] = T(2.125);
          c_[at] = T(-1);
          continue;
        }
        if (i > 0) a[at] = t[0][i];
        b[at] = t[1][i];
        if (i + 1 < rows(k)) c_[at] = t[2][i];
      }
    }
    for (int64_t k = 0; k < s; ++k) {
      for (int64_t r = 0; r < rhs_count_; ++r) {
        for (int64_t i = 0; i < rows(k); ++i) d[vector_at(k, i, r)] = static_cast<T>(random.uniform());
      }
    }
    status.assign(s * rhs_count_, -7);
    row.assign(s * rhs_count_, -7);
  }
  int64_t rows(int64_t k) const { return offsets_[k + 1] - offsets_[k]; }
  int64_t band_at(int64_t k, int64_t i) const {
    if (case_.layout == Layout::toeplitz) return shift_;
    if (case_.layout == Layout::shared) return shift_ + i;
    return shift_ + (case_.layout == Layout::ragged ? offsets_[k] : k * system_) + i * row_;
  }
  int64_t vector_at(int64_t k, int64_t i, int64_t r) const {
    return shift_ + (case_.layout == Layout::ragged ? offsets_[k] : k * system_) + i * row_ + r * rows_total_;
  }

  Status run(const Solve<T>& solve) {
    T* da = send(a);
    T* db = send(b);
    T* dc = send(c_);
    T* dd = send(d);
    T* dx = case_.layout == Layout::in_place ? dd : send(x);
    int64_t* offsets = send(offsets_);
    int32_t* ds = send(status);
    int32_t* dr = send(row);
    tri::Batch<T> batch;
    batch.n = case_.n;
    batch.systems = case_.systems;
    batch.rhs_count = rhs_count_;
    if (case_.layout == Layout::ragged) batch.offsets = offsets;
    const bool ragged = case_.layout == Layout::ragged;
    const auto band = [&](T* p) {
      if (case_.layout == Layout::toeplitz) return tri::Strided<T>{p + shift_, nullptr, 0, 0, 0, false};
      if (case_.layout == Layout::shared) return tri::Strided<T>{p + shift_, nullptr, 0, 1, 0, false};
      return tri::Strided<T>{p + shift_, nullptr, ragged ? row_ : system_, row_, 0, false};
    };
    const auto vector = [&](T* p) {
      return tri::Strided<T>{p + shift_, nullptr, ragged ? row_ : system_, row_, rows_total_, false};
    };
    batch.lower = band(da);
    batch.diagonal = band(db);
    batch.upper = band(dc);
    batch.rhs = vector(dd);
    batch.solution = vector(dx);
    batch.status = ds;
    batch.row = dr;
    Status result = solve(device_, batch, &used);
    if (result.ok()) {
      require(device_.download(x.data(), dx, x.size() * sizeof(T)), "download");
      require(device_.download(status.data(), ds, status.size() * 4), "download");
      require(device_.download(row.data(), dr, row.size() * 4), "download");
    }
    for (void* p : sent_) device_.release(p);
    sent_.clear();
    return result;
  }
  /// Worst backward error over all problems; infinite when an element outside was written.
  double judge() const {
    double worst = 0;
    std::vector<char> written(x.size(), 0);
    for (int64_t k = 0; k < case_.systems; ++k) {
      for (int64_t r = 0; r < rhs_count_; ++r) {
        for (int64_t i = 0; i < rows(k); ++i) written[vector_at(k, i, r)] = 1;
        if (rows(k) == 0) continue;
        const int64_t band = band_at(k, 1) - band_at(k, 0);
        worst = std::max(worst, backward_error(&a[band_at(k, 0)], &b[band_at(k, 0)], &c_[band_at(k, 0)],
                                               &d[vector_at(k, 0, r)], &x[vector_at(k, 0, r)], rows(k), band, row_));
      }
    }
    const auto& canary = case_.layout == Layout::in_place ? d : x0();
    for (size_t i = 0; i < x.size(); ++i) {
      if (!written[i] && std::memcmp(&x[i], &canary[i], sizeof(T)) != 0) return INFINITY;
    }
    return worst;
  }

  std::vector<T> a, b, c_, d, x;
  std::vector<int32_t> status, row;
  tri::Used used;

 private:
  const std::vector<T>& x0() const {
    canary_.assign(x.size(), T(77));
    return canary_;
  }
  template <class V>
  V* send(const std::vector<V>& values) {
    void* memory = nullptr;
    require(device_.allocate(values.size() * sizeof(V), &memory), "allocate");
    require(device_.upload(memory, values.data(), values.size() * sizeof(V)), "upload");
    sent_.push_back(memory);
    return static_cast<V*>(memory);
  }
  BenchDevice& device_;
  Case case_;
  int64_t rhs_count_, shift_, row_, system_, rows_total_;
  std::vector<int64_t> offsets_;
  std::vector<void*> sent_;
  mutable std::vector<T> canary_;
};

/// One solver over all layouts and sizes, then its status words. Prints each failure. `pivots`: exchanges rows, so that a
/// zero in the first row's diagonal is no obstacle and single rows' errors may be larger.
template <class T>
int check_solver(BenchDevice& device, const char* name, const Solve<T>& solve,
                 const std::vector<int64_t>& sizes, int64_t systems, bool pivots = false) {
  int failures = 0, ran = 0, refused = 0;
  const double limit = (pivots ? 1024 : 128) * double(std::numeric_limits<T>::epsilon());
  double worst = 0;
  for (int layout = 0; layout < 9; ++layout) {
    for (const int64_t n : sizes) {
      CheckRun<T> run(device, {n, systems, Layout(layout)});
      const Status status = run.run(solve);
      if (status.code() == Code::unsupported) {
        ++refused;
        continue;
      }
      ++ran;
      const double error = status.ok() ? run.judge() : INFINITY;
      worst = std::max(worst, error);
      const bool words = std::all_of(run.status.begin(), run.status.end(), [](int v) { return v == 0; }) &&
                         std::all_of(run.row.begin(), run.row.end(), [](int v) { return v == -1; });
      if (!(error <= limit) || !words) {
        if (++failures <= 12) {
          std::printf("FAIL %s %s n=%lld error=%g words=%d %s\n", name, kLayouts[layout], (long long)n, error,
                      words, status.message().c_str());
        }
      }
    }
  }
  for (const int64_t n : sizes) {
    // System 1 gets a NaN in the middle, system 2 an infinite diagonal entry, system 3 a zero first pivot.
    CheckRun<T> clean(device, {n, systems, Layout::contiguous});
    CheckRun<T> bad(device, {n, systems, Layout::contiguous});
    if (!clean.run(solve).ok()) continue;
    const int64_t mid = n / 2;
    bad.d[bad.vector_at(1, mid, 0)] = std::numeric_limits<T>::quiet_NaN();
    bad.b[bad.band_at(2, mid)] = std::numeric_limits<T>::infinity();
    bad.b[bad.band_at(3, 0)] = T(0);
    require(bad.run(solve), "status run");
    bool good = bad.status[1] == 2 && bad.row[1] == mid && bad.status[2] == 2 && bad.row[2] == mid &&
                (pivots && n > 1 ? bad.status[3] == 0 && bad.row[3] == -1 : bad.status[3] == 1 && bad.row[3] == 0);
    for (int64_t k = 0; k < systems; ++k) {
      if (k >= 1 && k <= 3) continue;
      good = good && bad.status[k] == 0 && bad.row[k] == -1 &&
             std::memcmp(&bad.x[bad.vector_at(k, 0, 0)], &clean.x[clean.vector_at(k, 0, 0)], n * sizeof(T)) == 0;
    }
    if (!good && ++failures <= 24) {
      std::printf("FAIL %s status n=%lld: %d@%d %d@%d %d@%d\n", name, (long long)n, bad.status[1], bad.row[1],
                  bad.status[2], bad.row[2], bad.status[3], bad.row[3]);
    }
  }
  std::printf("check %-28s %4d ran %3d refused, worst backward error %.2e, %d failures\n", name, ran, refused,
              worst, failures);
  return failures;
}

}  // namespace warploom::bench
