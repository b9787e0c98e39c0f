// Timing: cold runs rotate over buffer sets larger than the L2, hot runs repeat one set; both as graphs
// where a launch is short. Floor and cuSPARSE stand beside the solvers in one run.
#pragma once
#include <dlfcn.h>

#include <functional>
#include <memory>

#include "bench/device/tridiagonal_check.cuh"

namespace warploom::bench {

using Vector16 = int4;
/// Reads four arrays and writes a fifth once, 16 bytes per access.
static __global__ void stream5(const Vector16* a, const Vector16* b, const Vector16* c, const Vector16* d,
                               Vector16* x, int64_t count) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x) {
    const int4 p = a[i], q = b[i], r = c[i], s = d[i];
    x[i] = {p.x ^ q.x ^ r.x ^ s.x, p.y ^ q.y ^ r.y ^ s.y, p.z ^ q.z ^ r.z ^ s.z, p.w ^ q.w ^ r.w ^ s.w};
  }
}

struct Timing {
  double median = 0, fastest = 0, slowest = 0;  ///< seconds
};

/// Median of 15 over launches of every set in turn, `repeat` times, captured as one graph when short.
inline Timing time_sets(BenchDevice& device, int sets, int repeat, const std::function<void(int)>& launch) {
  for (int s = 0; s < sets; ++s) launch(s);
  BENCH_CUDA(cudaStreamSynchronize(device.stream));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  const int launches = sets * repeat;
  if (launches > 1) {
    BENCH_CUDA(cudaStreamBeginCapture(device.stream, cudaStreamCaptureModeThreadLocal));
    for (int r = 0; r < repeat; ++r) {
      for (int s = 0; s < sets; ++s) launch(s);
    }
    BENCH_CUDA(cudaStreamEndCapture(device.stream, &graph));
    BENCH_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  }
  cudaEvent_t begin, end;
  BENCH_CUDA(cudaEventCreate(&begin));
  BENCH_CUDA(cudaEventCreate(&end));
  std::vector<double> seconds;
  for (int k = 0; k < 17; ++k) {
    BENCH_CUDA(cudaEventRecord(begin, device.stream));
    if (executable) {
      BENCH_CUDA(cudaGraphLaunch(executable, device.stream));
    } else {
      launch(0);
    }
    BENCH_CUDA(cudaEventRecord(end, device.stream));
    BENCH_CUDA(cudaEventSynchronize(end));
    float ms = 0;
    BENCH_CUDA(cudaEventElapsedTime(&ms, begin, end));
    if (k >= 2) seconds.push_back(ms * 1e-3 / launches);
  }
  if (executable) {
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds.front(), seconds.back()};
}

/// cuSPARSE gtsv2StridedBatch, opened at run time.
class Cusparse {
 public:
  explicit Cusparse(cudaStream_t stream) {
    for (const char* name : {"libcusparse.so.12", "libcusparse.so.13", "libcusparse.so"}) {
      if ((library_ = dlopen(name, RTLD_NOW)) != nullptr) break;
    }
    if (library_ == nullptr) return;
    const auto create = symbol<int (*)(void**)>("cusparseCreate");
    const auto set = symbol<int (*)(void*, cudaStream_t)>("cusparseSetStream");
    if (create == nullptr || set == nullptr || create(&handle_) != 0 || set(handle_, stream) != 0) {
      handle_ = nullptr;
    }
  }
  bool present() const { return handle_ != nullptr; }
  template <class T>
  size_t workspace(int n, T* a, T* b, T* c, T* x, int batch) {
    size_t bytes = 0;
    const auto size = symbol<int (*)(void*, int, const T*, const T*, const T*, const T*, int, int, size_t*)>(
        sizeof(T) == 4 ? "cusparseSgtsv2StridedBatch_bufferSizeExt" : "cusparseDgtsv2StridedBatch_bufferSizeExt");
    return size != nullptr && size(handle_, n, a, b, c, x, batch, n, &bytes) == 0 ? bytes : 0;
  }
  template <class T>
  void solve(int n, T* a, T* b, T* c, T* x, int batch, void* buffer) {
    const auto run = symbol<int (*)(void*, int, const T*, const T*, const T*, T*, int, int, void*)>(
        sizeof(T) == 4 ? "cusparseSgtsv2StridedBatch" : "cusparseDgtsv2StridedBatch");
    run(handle_, n, a, b, c, x, batch, n, buffer);
  }

 private:
  template <class F>
  F symbol(const char* name) {
    return reinterpret_cast<F>(dlsym(library_, name));
  }
  void* library_ = nullptr;
  void* handle_ = nullptr;
};

template <class T>
const char* type_name() {
  if (cuda::kIsComplex<T>) return sizeof(T) == 8 ? "complex64" : "complex128";
  return sizeof(T) == 4 ? "float32" : "float64";
}

/// One timed shape: buffers of `sets` copies, each with its own data of the first up to 4096 systems repeated.
template <class T>
class Shape {
 public:
  Shape(BenchDevice& device, int64_t systems, int64_t n, bool cold) : device_(device), systems(systems), n(n) {
    const int64_t rows = systems * n, bytes = rows * int64_t(sizeof(T)) * 5;
    sets = cold ? static_cast<int>(std::max<int64_t>(1, (int64_t{330} << 20) / bytes)) : 1;
    repeat = cold ? 1 : 40;
    hosted_ = std::max<int64_t>(1, std::min<int64_t>(systems, (int64_t{1} << 21) / n));
    Random random{uint64_t(systems * 7919 + n)};
    host.resize(hosted_ * n);
    for (int64_t k = 0; k < hosted_; ++k) {
      fill_system(Family::weak, random, &host.lower[k * n], &host.diagonal[k * n], &host.upper[k * n],
                  &host.rhs[k * n], n);
      // cuSPARSE asks for zeros there; the product's solvers never look.
      host.lower[k * n] = host.upper[k * n + n - 1] = 0;
    }
    for (int s = 0; s < sets; ++s) {
      for (int v = 0; v < 5; ++v) {
        T* p = nullptr;
        BENCH_CUDA(cudaMalloc(&p, rows * sizeof(T)));
        arrays.push_back(p);
        const std::vector<T>* from[] = {&host.lower, &host.diagonal, &host.upper, &host.rhs, &host.rhs};
        const int64_t part = hosted_ * n;
        BENCH_CUDA(cudaMemcpy(p, from[v]->data(), part * sizeof(T), cudaMemcpyHostToDevice));
        for (int64_t at = part; at < rows; at += part) {
          BENCH_CUDA(cudaMemcpy(p + at, p, std::min(part, rows - at) * sizeof(T), cudaMemcpyDeviceToDevice));
        }
      }
    }
    BENCH_CUDA(cudaMalloc(&status, systems * 8));
  }
  ~Shape() {
    for (T* p : arrays) cudaFree(p);
    cudaFree(status);
  }
  tri::Batch<T> batch(int set) const {
    tri::Batch<T> batch;
    batch.n = n;
    batch.systems = systems;
    tri::Strided<T>* views[] = {&batch.lower, &batch.diagonal, &batch.upper, &batch.rhs, &batch.solution};
    for (int v = 0; v < 5; ++v) *views[v] = {arrays[set * 5 + v], nullptr, n, 1, 0, false};
    batch.status = status;
    batch.row = status + systems;
    return batch;
  }
  void poison() {
    BENCH_CUDA(cudaMemsetAsync(arrays[4], 0xff, systems * n * sizeof(T), device_.stream));
    BENCH_CUDA(cudaMemsetAsync(status, 0xff, systems * 8, device_.stream));
  }
  /// Worst componentwise backward error of the first and last systems of set 0, and nonzero status words.
  double judge(bool* statuses_good) {
    std::vector<T> x(hosted_ * n);
    BENCH_CUDA(cudaStreamSynchronize(device_.stream));
    double worst = 0;
    const int64_t checked = std::min<int64_t>(hosted_, std::max<int64_t>(1, (int64_t{1} << 20) / n));
    for (const int64_t start : {int64_t{0}, (systems / hosted_ - 1) * hosted_}) {
      BENCH_CUDA(cudaMemcpy(x.data(), arrays[4] + start * n, hosted_ * n * sizeof(T), cudaMemcpyDeviceToHost));
      for (int64_t k = 0; k < checked; ++k) {
        worst = std::max(worst, backward_error(&host.lower[k * n], &host.diagonal[k * n], &host.upper[k * n],
                                               &host.rhs[k * n], &x[k * n], n));
      }
    }
    std::vector<int32_t> words(systems * 2);
    BENCH_CUDA(cudaMemcpy(words.data(), status, systems * 8, cudaMemcpyDeviceToHost));
    *statuses_good = std::all_of(words.begin(), words.begin() + systems, [](int w) { return w == 0; }) &&
                     std::all_of(words.begin() + systems, words.end(), [](int w) { return w == -1; });
    return worst;
  }

  std::string id() const {
    char text[96];
    std::snprintf(text, sizeof text, "%lldx%lld/%s/%s", (long long)systems, (long long)n, type_name<T>(),
                  repeat == 1 ? "cold" : "hot");
    return text;
  }

  BenchDevice& device_;
  int64_t systems, n;
  int sets = 1, repeat = 1;
  Systems<T> host;
  std::vector<T*> arrays;
  int32_t* status = nullptr;

 private:
  int64_t hosted_ = 1;
};

/// Time to read four arrays and write a fifth: the fastest of one access per thread and persistent grids.
template <class T>
Timing time_floor(BenchDevice& device, Shape<T>& shape, int64_t units) {
  Timing floor;
  for (const int threads : {128, 256, 512, 1024}) {
    for (const int64_t most : {int64_t{1} << 30, int64_t{132} * 2048 / threads}) {
      const int blocks = static_cast<int>(std::min((units + threads - 1) / threads, most));
      const Timing t = time_sets(device, shape.sets, shape.repeat, [&](int s) {
        auto** p = reinterpret_cast<Vector16**>(&shape.arrays[s * 5]);
        stream5<<<blocks, threads, 0, device.stream>>>(p[0], p[1], p[2], p[3], p[4], units);
      });
      if (floor.median == 0 || t.median < floor.median) floor = t;
    }
  }
  return floor;
}

/// One line of the table.
template <class T>
void report(const Shape<T>& shape, const char* name, const Timing& floor, const Timing& t, const tri::Used& used,
            double error, bool good) {
  std::printf("%-32s %-18s %10.3f us  %5.1f %%  [%.3f..%.3f]  berr %.2e %s depth %d threads %d launches %d\n",
              shape.id().c_str(), name, t.median * 1e6, 100 * floor.median / t.median, t.fastest * 1e6,
              t.slowest * 1e6, error, good ? "" : "BAD STATUS", used.depth, used.threads, used.launches);
  std::fflush(stdout);
}

/// Checks one solve of the shape's first set, times it, and reports it against the floor.
template <class T>
void time_solver(BenchDevice& device, Shape<T>& shape, const Timing& floor, const char* name, const Solve<T>& solve) {
  tri::Used used;
  shape.poison();
  const Status status = solve(device, shape.batch(0), &used);
  if (!status.ok()) {
    std::printf("%-32s %-18s %s\n", shape.id().c_str(), name, status.message().c_str());
    return;
  }
  bool good = false;
  const double error = shape.judge(&good);
  const Timing t = time_sets(device, shape.sets, shape.repeat, [&](int s) {
    tri::Used ignored;
    require(solve(device, shape.batch(s), &ignored), name);
  });
  report(shape, name, floor, t, used, error, good);
}

}  // namespace warploom::bench
