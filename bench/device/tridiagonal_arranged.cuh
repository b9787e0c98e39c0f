// The timed shapes in other arrangements than contiguous systems: interleaved, ragged, and bands seen one
// row off (transposed; symmetric, whose upper band is the lower one).
#pragma once
#include <tuple>

#include "bench/device/tridiagonal_time.cuh"

namespace warploom::bench {

enum class Arrangement { contiguous, interleaved, ragged, transposed, symmetric };
inline const char* name_of(Arrangement arrangement) {
  static const char* const names[] = {"contiguous", "interleaved", "ragged", "transposed", "symmetric"};
  return names[static_cast<int>(arrangement)];
}

/// to[j * rows + i] = from[i * columns + j]
template <class T>
__global__ void transpose_matrix(T* to, const T* from, int64_t rows, int64_t columns) {
  for (int64_t e = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; e < rows * columns;
       e += int64_t(gridDim.x) * blockDim.x) {
    to[e % columns * rows + e / columns] = from[e];
  }
}

/// A Shape whose arrays are rearranged on the device once. Ragged: the same rows cut into systems of n/2 … n rows.
template <class T>
class ArrangedShape {
 public:
  ArrangedShape(BenchDevice& device, int64_t systems, int64_t n, Arrangement arrangement)
      : shape(device, systems, n, true), arrangement_(arrangement), rows_(systems * n) {
    for (size_t v = 0; v < shape.arrays.size(); ++v) rearrange(shape.arrays[v], static_cast<int>(v % 5));
    if (arrangement == Arrangement::ragged) cut();
  }
  ~ArrangedShape() { cudaFree(offsets_); }

  tri::Batch<T> batch(int set) const {
    tri::Batch<T> batch = shape.batch(set);
    switch (arrangement_) {
      case Arrangement::interleaved:
        for (auto* view : {&batch.lower, &batch.diagonal, &batch.upper, &batch.rhs, &batch.solution}) {
          view->system_stride = 1;
          view->row_stride = shape.systems;
        }
        break;
      case Arrangement::ragged:
        batch.offsets = offsets_;
        batch.systems = ragged_systems_;
        for (auto* view : {&batch.lower, &batch.diagonal, &batch.upper, &batch.rhs, &batch.solution}) {
          view->system_stride = 1;
        }
        break;
      case Arrangement::transposed: shift(batch.lower, -1);  // and the upper band:
        [[fallthrough]];
      case Arrangement::symmetric: shift(batch.upper, 1); break;
      default: break;
    }
    return batch;
  }
  int64_t systems() const { return arrangement_ == Arrangement::ragged ? ragged_systems_ : shape.systems; }
  /// As Shape::judge; ragged systems are judged by their status words alone.
  double judge(bool* good) {
    if (arrangement_ == Arrangement::ragged) {
      std::vector<int32_t> words(ragged_systems_);
      BENCH_CUDA(cudaStreamSynchronize(shape.device_.stream));
      BENCH_CUDA(cudaMemcpy(words.data(), shape.status, words.size() * 4, cudaMemcpyDeviceToHost));
      *good = std::all_of(words.begin(), words.end(), [](int w) { return w == 0; });
      return 0;
    }
    BENCH_CUDA(cudaStreamSynchronize(shape.device_.stream));
    if (arrangement_ == Arrangement::interleaved) in_other_order(shape.arrays[4], shape.n, shape.systems);
    return shape.judge(good);
  }

  Shape<T> shape;

 private:
  void shift(tri::Strided<T>& band, int64_t rows) const {
    band.data += rows;
    band.off_by = static_cast<int32_t>(rows);
    band.readable_begin = -rows;
    band.readable_end = rows_ - rows;
  }
  void in_other_order(T* array, int64_t rows, int64_t columns) {
    T* copy = nullptr;
    BENCH_CUDA(cudaMalloc(&copy, rows_ * sizeof(T)));
    transpose_matrix<<<1024, 256>>>(copy, array, rows, columns);
    BENCH_CUDA(cudaMemcpy(array, copy, rows_ * sizeof(T), cudaMemcpyDeviceToDevice));
    cudaFree(copy);
  }
  void moved(T* array, int64_t by) {
    T* copy = nullptr;
    BENCH_CUDA(cudaMalloc(&copy, rows_ * sizeof(T)));
    BENCH_CUDA(cudaMemcpy(copy, array, rows_ * sizeof(T), cudaMemcpyDeviceToDevice));
    const int64_t from = by < 0 ? -by : 0, to = by > 0 ? by : 0;
    BENCH_CUDA(cudaMemcpy(array + to, copy + from, (rows_ - 1) * sizeof(T), cudaMemcpyDeviceToDevice));
    cudaFree(copy);
  }
  void rearrange(T* array, int v) {
    if (arrangement_ == Arrangement::interleaved) in_other_order(array, shape.systems, shape.n);
    if (arrangement_ == Arrangement::transposed && v == 0) moved(array, -1);
    if ((arrangement_ == Arrangement::transposed || arrangement_ == Arrangement::symmetric) && v == 2) moved(array, 1);
  }
  void cut() {
    std::vector<int64_t> offsets{0};
    const int64_t n = shape.n;
    Random random{7};
    while (offsets.back() + n <= rows_ && int64_t(offsets.size()) <= shape.systems) {
      offsets.push_back(offsets.back() + n - static_cast<int64_t>(std::fabs(random.uniform()) * (n / 2)));
    }
    ragged_systems_ = static_cast<int64_t>(offsets.size()) - 1;
    used_rows = offsets.back();
    BENCH_CUDA(cudaMalloc(&offsets_, offsets.size() * 8));
    BENCH_CUDA(cudaMemcpy(offsets_, offsets.data(), offsets.size() * 8, cudaMemcpyHostToDevice));
  }

  Arrangement arrangement_;
  int64_t rows_, ragged_systems_ = 0;
  int64_t* offsets_ = nullptr;

 public:
  int64_t used_rows = rows_;
};

/// One arrangement of a cold batch: `auto`, `thomas` and every packing depth.
template <class T>
void time_arranged(BenchDevice& device, int64_t systems, int64_t n, Arrangement arrangement, const std::string& only) {
  ArrangedShape<T> arranged(device, systems, n, arrangement);
  Shape<T>& shape = arranged.shape;
  const Timing floor = time_floor(device, shape, arranged.used_rows * int64_t(sizeof(T)) / 16);
  std::printf("%lldx%lld/%s/%s floor %.3f us\n", (long long)systems, (long long)n,
              sizeof(T) == 4 ? "float32" : "float64", name_of(arrangement), floor.median * 1e6);
  const auto time = [&](const std::string& name, const Solve<T>& solve) {
    if (name.find(only) == std::string::npos) return;
    tri::Used used;
    shape.poison();
    const Status status = solve(device, arranged.batch(0), &used);
    if (!status.ok()) {
      std::printf("  %-14s %s\n", name.c_str(), status.message().c_str());
      return;
    }
    bool good = false;
    const double error = arranged.judge(&good);
    const Timing t = time_sets(device, shape.sets, shape.repeat, [&](int s) {
      tri::Used ignored;
      require(solve(device, arranged.batch(s), &ignored), name.c_str());
    });
    std::printf("  %-14s %9.3f us  %5.1f %%  berr %.2e%s depth %d threads %d\n", name.c_str(), t.median * 1e6,
                100 * floor.median / t.median, error, good ? "" : " BAD STATUS", used.depth, used.threads);
    std::fflush(stdout);
  };
  time("auto", tri::solve_automatic<T>);
  time("thomas", tri::solve_thomas<T>);
  for (const int depth : {4, 8, 16, 32}) {
    time("cr-regpack/" + std::to_string(depth), [depth](cuda::GpuDevice& d, const tri::Batch<T>& b, tri::Used* used) {
      return tri::solve_cr_regpack<T>(d, b, depth, used);
    });
  }
}

/// Layouts other than the usual, and numbers of unknowns that fill no lanes.
inline void time_layouts(BenchDevice& device, const std::string& filter, const std::string& only) {
  using A = Arrangement;
  const std::vector<std::tuple<int64_t, int64_t, A>> lines{
      {100000, 100, A::contiguous}, {65536, 500, A::contiguous},  {65536, 501, A::contiguous},
      {65536, 512, A::ragged},      {100000, 100, A::ragged},     {65536, 512, A::transposed},
      {65536, 512, A::symmetric},   {65536, 512, A::interleaved}, {1000000, 64, A::interleaved},
      {8192, 2048, A::interleaved}};
  for (const auto& [systems, n, arrangement] : lines) {
    const std::string id = std::to_string(systems) + "x" + std::to_string(n) + "/" + name_of(arrangement);
    if (id.find(filter) == std::string::npos) continue;
    time_arranged<float>(device, systems, n, arrangement, only);
    time_arranged<double>(device, systems, n, arrangement, only);
  }
}

}  // namespace warploom::bench
