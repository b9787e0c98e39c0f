// Worst residual ratio of the pivoted solver on the twenty families, computed on the device and judged in long double.
#pragma once
#include "bench/device/tridiagonal_time.cuh"
#include "test/device/tridiagonal_cases.h"

namespace warploom::bench {

/// Whether the system as rounded has a solution of numbers below `largest`: odd sizes of family 15 are singular, and
/// rounding may leave one whose solution grows past all bounds (family 12). Partial pivoting in long double.
inline bool solvable(const cases::System& system, long double largest) {
  using cases::Exact;
  const int64_t n = system.rows();
  std::vector<Exact> pivot(n), first(n), second(n), value(n);
  Exact own = system.diagonal[0], above = n > 1 ? system.upper[0] : Exact(0), rhs = system.rhs[0];
  for (int64_t k = 0; k < n; ++k) {
    const bool more = k + 1 < n;
    const Exact next = more ? system.lower[k + 1] : Exact(0), next_above = more ? system.diagonal[k + 1] : Exact(0);
    const Exact next_second = k + 2 < n ? system.upper[k + 1] : Exact(0), next_rhs = more ? system.rhs[k + 1] : Exact(0);
    const bool exchange = cases::System::size(next) > cases::System::size(own);
    pivot[k] = exchange ? next : own;
    first[k] = exchange ? next_above : above;
    second[k] = exchange ? next_second : Exact(0);
    value[k] = exchange ? next_rhs : rhs;
    if (cases::System::size(pivot[k]) == 0) return false;
    const Exact factor = (exchange ? own : next) / pivot[k];
    own = (exchange ? above : next_above) - factor * first[k];
    above = (exchange ? Exact(0) : next_second) - factor * second[k];
    rhs = (exchange ? rhs : next_rhs) - factor * value[k];
  }
  for (int64_t k = n - 1; k >= 0; --k) {
    if (k + 1 < n) value[k] -= first[k] * value[k + 1];
    if (k + 2 < n) value[k] -= second[k] * value[k + 2];
    value[k] /= pivot[k];
    if (!(cases::System::size(value[k]) < largest)) return false;
  }
  return true;
}

/// Systems of every family at one size; the imaginary parts of complex ones come from a second draw, halved.
template <class T>
class Families {
 public:
  using R = cuda::RealOf<T>;

  explicit Families(int64_t n) : n_(n) {
    for (int f = 1; f <= 20; ++f) {
      // The singular value families cost n^3 each.
      const int copies = f < 8 || f > 11 ? 32 : n <= 64 ? 8 : n <= 512 ? 1 : 0;
      for (int copy = 0; copy < copies; ++copy) add(f, static_cast<uint64_t>(copy));
    }
  }

  /// Solves all of them, twice; returns the largest ratio by family, of all answers given. Fails where a system that has a
  /// solution gets none, and where the answers differ.
  std::vector<double> worst(BenchDevice& device, const Solve<T>& solve, int* failures) {
    const std::vector<T> x = solve_on(device, solve, failures), again = solve_on(device, solve, failures);
    if (std::memcmp(x.data(), again.data(), x.size() * sizeof(T)) != 0) {
      std::printf("FAIL two solves differ\n");
      ++*failures;
    }
    std::vector<double> ratios(21, 0);
    for (size_t s = 0; s < systems_.size(); ++s) {
      if (status_[s] != 0) continue;
      cases::System& system = systems_[s];
      for (int64_t i = 0; i < n_; ++i) system.x[i] = exact(x[s * n_ + i]);
      const double epsilon = std::numeric_limits<R>::epsilon();
      const double ratio = static_cast<double>(system.residual_ratio(epsilon));
      double& worst = ratios[family_[s]];
      worst = ratio <= worst ? worst : ratio;
    }
    return ratios;
  }

 private:
  static cases::Exact exact(const T& value) { return wide(value); }
  static T make(double re, double im) {
    if constexpr (cuda::kIsComplex<T>) return T(static_cast<R>(re), static_cast<R>(im));
    else return static_cast<T>(re);
  }
  void add(int family, uint64_t seed) {
    const cases::Bands re = cases::family(family, n_, 2 * seed + 1);
    const cases::Bands im = cuda::kIsComplex<T> ? cases::family(family, n_, 2 * seed + 2) : re;
    cases::System system;
    cases::Random random(seed * 131 + static_cast<uint64_t>(family));
    for (int64_t i = 0; i < n_; ++i) {
      const T lower = make(re.lower[i], im.lower[i] / 2), upper = make(re.upper[i], im.upper[i] / 2);
      const T diagonal = make(re.diagonal[i], im.diagonal[i] / 2), unread = make(NAN, NAN);
      host_.lower.push_back(i > 0 ? lower : unread);
      host_.diagonal.push_back(diagonal);
      host_.upper.push_back(i + 1 < n_ ? upper : unread);
      system.lower.push_back(exact(lower));
      system.diagonal.push_back(exact(diagonal));
      system.upper.push_back(exact(upper));
      const double imaginary = cuda::kIsComplex<T> ? random.normal() : 0;
      system.x.push_back({3 + random.normal(), imaginary});
    }
    system.rhs.assign(n_, 0);
    std::vector<cases::Exact> products;
    long double scale;
    for (int64_t i = 0; i < n_; ++i) products.push_back(-system.residual(i, &scale));
    for (int64_t i = 0; i < n_; ++i) {
      host_.rhs.push_back(make(static_cast<double>(products[i].real()), static_cast<double>(products[i].imag())));
      system.rhs[i] = exact(host_.rhs.back());
    }
    unsolvable_.push_back(!solvable(system, std::numeric_limits<R>::max()));
    systems_.push_back(system);
    family_.push_back(family);
  }

  std::vector<T> solve_on(BenchDevice& device, const Solve<T>& solve, int* failures) {
    const size_t rows = host_.rhs.size(), count = systems_.size();
    T* arrays[5];
    int32_t* words = nullptr;
    const std::vector<T>* from[4] = {&host_.lower, &host_.diagonal, &host_.upper, &host_.rhs};
    for (int k = 0; k < 5; ++k) {
      BENCH_CUDA(cudaMalloc(&arrays[k], rows * sizeof(T)));
      if (k < 4) BENCH_CUDA(cudaMemcpy(arrays[k], from[k]->data(), rows * sizeof(T), cudaMemcpyHostToDevice));
    }
    BENCH_CUDA(cudaMemset(arrays[4], 0xff, rows * sizeof(T)));
    BENCH_CUDA(cudaMalloc(&words, count * 8));
    BENCH_CUDA(cudaMemset(words, 0xff, count * 8));
    tri::Batch<T> batch;
    batch.n = n_;
    batch.systems = static_cast<int64_t>(count);
    tri::Strided<T>* views[] = {&batch.lower, &batch.diagonal, &batch.upper, &batch.rhs, &batch.solution};
    for (int v = 0; v < 5; ++v) *views[v] = {arrays[v], nullptr, n_, 1, 0, false};
    batch.status = words;
    batch.row = words + count;
    require(solve(device, batch, nullptr), "families");
    BENCH_CUDA(cudaStreamSynchronize(device.stream));
    std::vector<T> x(rows);
    std::vector<int32_t> status(count);
    BENCH_CUDA(cudaMemcpy(x.data(), arrays[4], rows * sizeof(T), cudaMemcpyDeviceToHost));
    BENCH_CUDA(cudaMemcpy(status.data(), words, count * 4, cudaMemcpyDeviceToHost));
    for (size_t s = 0; s < count; ++s) {
      if (status[s] == 0 || unsolvable_[s]) continue;
      std::printf("FAIL family %d, n = %lld: status %d\n", family_[s], (long long)n_, status[s]);
      ++*failures;
    }
    status_ = status;
    for (T* p : arrays) cudaFree(p);
    cudaFree(words);
    return x;
  }

  int64_t n_;
  Systems<T> host_;
  std::vector<cases::System> systems_;
  std::vector<int> family_;
  std::vector<bool> unsolvable_;
  std::vector<int32_t> status_;
};

/// Prints one line per size and type; returns the number of families over 30 and of bad words.
template <class T>
int check_families(BenchDevice& device, const std::vector<int64_t>& sizes) {
  int failures = 0;
  for (const int64_t n : sizes) {
    const std::vector<double> ratios = Families<T>(n).worst(device, tri::solve_pivoting<T>, &failures);
    std::printf("families %-10s n %4lld:", type_name<T>(), (long long)n);
    for (int f = 1; f <= 20; ++f) {
      std::printf(" %.2f", ratios[f]);
      if (!(ratios[f] <= 30)) ++failures;
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return failures;
}

}  // namespace warploom::bench
