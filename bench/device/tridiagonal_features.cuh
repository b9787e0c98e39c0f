// Times what stands around a solve: the check of every answer, refinement, factors and solves with them, condition
// estimates. Each against the floor of its own bytes: every input read once, every output written once.
#pragma once
#include <algorithm>

#include "bench/device/tridiagonal_time.cuh"
#include "cuda/core/operations.h"
#include "cuda/tridiagonal/condition.h"
#include "cuda/tridiagonal/factor.h"
#include "cuda/tridiagonal/solve_factored.h"
#include "cuda/tridiagonal/verify/verify.cuh"

namespace warploom::bench {

/// One shape with what its features need; `solve` is the solver they stand beside.
template <class T>
class Features {
 public:
  Features(BenchDevice& device, int64_t systems, int64_t n, const Solve<T>& solve)
      : device_(device), solve_(solve), shape_(device, systems, n, true) {
    const int64_t rows = systems * n;
    floor_ = time_floor(device, shape_, rows * int64_t(sizeof(T)) / 16);
    std::printf("%-32s %-26s %10.3f us\n", shape_.id().c_str(), "floor of 5 arrays", floor_.median * 1e6);
  }

  void run_all(const std::string& only) {
    const auto wanted = [&](const char* name) { return std::string(name).find(only) != std::string::npos; };
    if (wanted("solve")) time("solve", 5, [&] { solve(shape_.batch(0)); });
    solve(shape_.batch(0));
    if (wanted("verify")) {
      time("verify (check)", 5,
           [&] { require(tri::verify(device_, shape_.batch(0), verification(), nullptr), "verify"); });
    }
    if (wanted("refine") && sizeof(T) == 4) time("solve + refine", 5, [&] { refined(); });
    using Kind = ::warploom::tridiagonal::Factorisation;
    if (wanted("plan")) {
      plan("regpack", Kind::regpack, 3);
      plan("cholesky", Kind::cholesky, 2);
      plan("pivoted", Kind::pivoted, 4);
    }
    if (wanted("condition")) condition();
  }

 private:
  /// `arrays`: moved at least, in units of one array of the batch.
  void time(const char* name, double arrays, const std::function<void()>& body) {
    const Timing t = time_sets(device_, 1, 1, [&](int) { body(); });
    std::printf("%-32s %-26s %10.3f us  %5.1f %% of the floor of %g arrays\n", shape_.id().c_str(), name,
                t.median * 1e6, 100 * floor_.median * arrays / 5 / t.median, arrays);
    std::fflush(stdout);
  }
  tri::Verification<T> verification() const { return {}; }
  void solve(const tri::Batch<T>& batch) {
    tri::Used used;
    require(solve_(device_, batch, &used), "solve");
  }

  void refined() {
    const tri::Batch<T> batch = shape_.batch(0);
    solve(batch);
    const auto again = [&](const tri::Batch<T>& other) {
      tri::Used used;
      return solve_(device_, other, &used);
    };
    require(tri::refine<T>(device_, batch, verification(), again, nullptr), "refine");
  }

  View view(T* data, int64_t vectors = 1) const {
    View result;
    result.data = data;
    result.length = shape_.systems * shape_.n * vectors;
    result.row_stride = 1;
    result.system_stride = shape_.n;
    result.rhs_stride = shape_.systems * shape_.n;
    return result;
  }

  void plan(const char* name, ::warploom::tridiagonal::Factorisation kind, int arrays) {
    ::warploom::tridiagonal::FactorParameters f;
    f.type = sizeof(T) == 4 ? ScalarType::float32 : ScalarType::float64;
    f.n = shape_.n;
    f.batch = shape_.systems;
    f.factorisation = kind;
    if (kind == ::warploom::tridiagonal::Factorisation::cholesky) {
      f.structure = ::warploom::tridiagonal::Structure::positive_definite;
    }
    f.lower = view(shape_.arrays[0]);
    f.diagonal = view(shape_.arrays[1]);
    f.upper = view(shape_.arrays[2]);
    const int64_t bytes = ::warploom::tridiagonal::factor_bytes(f.type, f.n, f.batch, false, f.factorisation);
    uint8_t* factors = nullptr;
    T* vectors = nullptr;
    constexpr int64_t kCount = 16;
    const int64_t rows = shape_.systems * shape_.n;
    BENCH_CUDA(cudaMalloc(&factors, bytes));
    BENCH_CUDA(cudaMalloc(&vectors, 2 * kCount * rows * sizeof(T)));
    for (int64_t k = 0; k < kCount; ++k) {
      BENCH_CUDA(cudaMemcpy(vectors + k * rows, shape_.arrays[3], rows * sizeof(T), cudaMemcpyDeviceToDevice));
    }
    f.factors = {factors, bytes};
    f.status = {shape_.status, shape_.systems};
    f.row = {shape_.status + shape_.systems, shape_.systems};
    Control control;
    const int matrix = kind == ::warploom::tridiagonal::Factorisation::cholesky ? 2 : 3;
    time((std::string(name) + " factor").c_str(), matrix + arrays,
         [&] { require(cuda::tridiagonal_factor(device_, f, control), name); });
    for (const int64_t count : {int64_t{1}, kCount}) {
      ::warploom::tridiagonal::SolveFactoredParameters p;
      p.type = f.type;
      p.n = f.n;
      p.batch = f.batch;
      p.rhs_count = count;
      p.factorisation = kind;
      p.factors = {factors, bytes};
      p.rhs = view(vectors, count);
      p.solution = view(vectors + kCount * rows, count);
      time((std::string(name) + " solve, " + std::to_string(count) + " rhs").c_str(), double(arrays + 2 * count),
           [&] { require(cuda::tridiagonal_solve_factored(device_, p, control), name); });
    }
    cudaFree(factors);
    cudaFree(vectors);
  }

  void condition() {
    ::warploom::tridiagonal::ConditionParameters p;
    p.type = sizeof(T) == 4 ? ScalarType::float32 : ScalarType::float64;
    p.n = shape_.n;
    p.batch = shape_.systems;
    p.lower = view(shape_.arrays[0]);
    p.diagonal = view(shape_.arrays[1]);
    p.upper = view(shape_.arrays[2]);
    double* result = nullptr;
    BENCH_CUDA(cudaMalloc(&result, shape_.systems * sizeof(double)));
    p.reciprocal_condition = {result, shape_.systems};
    Control control;
    time("condition", 3, [&] { require(cuda::tridiagonal_condition(device_, p, control), "condition"); });
    cudaFree(result);
  }

  BenchDevice& device_;
  Solve<T> solve_;
  Shape<T> shape_;
  Timing floor_;
};

}  // namespace warploom::bench
