// imaging.curvature and imaging.denoise without Node: the roots of curvature_point.h for every mantissa, all variants against each other
// bit for bit, and times as graphs of launches.
//   imaging_denoise roots | check | curvature
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "bench/device/bench_device.cuh"
#include "cuda/imaging/curvature.cuh"
#include "cuda/imaging/curvature_tile_agent.cuh"
#include "cuda/imaging/tv.cuh"

namespace {

using namespace warploom;
using imaging::Grid;
namespace im = cuda::imaging;
namespace operation = ::warploom::imaging;

__global__ void try_roots(unsigned int first, unsigned int count, unsigned int* worst, unsigned int* wrong) {
  const unsigned int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= count) return;
  const float a = __uint_as_float(first + index), exact = __frcp_rn(__fsqrt_rn(a));
  if (__float_as_uint(exact) != __float_as_uint(portable::inverse_root(a))) atomicAdd(wrong, 1u);
  const double error = fabs(static_cast<double>(portable::quick_inverse_root(a)) * sqrt(static_cast<double>(a)) - 1);
  atomicMax(worst, __float_as_uint(static_cast<float>(error)));
}

/// Every mantissa with an even and an odd exponent: the exact roots, and how far the quick ones are off.
int check_roots() {
  unsigned int* words;
  BENCH_CUDA(cudaMalloc(&words, 8));
  BENCH_CUDA(cudaMemset(words, 0, 8));
  for (const unsigned int exponent : {90u, 126u, 180u}) try_roots<<<(2u << 23) / 256, 256>>>(exponent << 23, 2u << 23, words, words + 1);
  unsigned int host[2];
  BENCH_CUDA(cudaMemcpy(host, words, 8, cudaMemcpyDeviceToHost));
  float worst;
  std::memcpy(&worst, host, 4);
  std::printf("roots: %u wrong, quick ones off by %.3g\n", host[1], static_cast<double>(worst));
  return host[1] != 0 || worst > 0x1p-22f;
}

template <class T>
std::vector<T> noise(int64_t count, uint64_t seed) {
  std::vector<T> values(static_cast<size_t>(count));
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (T& value : values) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    value = static_cast<T>(static_cast<double>(state >> 11) * 0x1p-53);
  }
  return values;
}

/// Images on the device, one after the other in turn.
template <class T>
struct Buffers {
  bench::BenchDevice& device;
  std::vector<cuda::Workspace> blocks;
  int64_t count;
  Buffers(bench::BenchDevice& d, int64_t elements, int images) : device(d), count(elements) {
    const std::vector<T> values = noise<T>(elements, 7);
    for (int i = 0; i < images; ++i) {
      cuda::Workspace block;
      bench::require(cuda::Workspace::make(device, elements * static_cast<int64_t>(sizeof(T)), &block), "memory");
      bench::require(device.upload(block.as<T>(), values.data(), elements * static_cast<int64_t>(sizeof(T))), "upload");
      bench::require(device.synchronize(), "upload");
      blocks.push_back(std::move(block));
    }
  }
  T* at(int i) const { return blocks[static_cast<size_t>(i) % blocks.size()].template as<T>(); }
  std::vector<T> host(int i) const {
    std::vector<T> values(static_cast<size_t>(count));
    bench::require(device.download(values.data(), at(i), count * static_cast<int64_t>(sizeof(T))), "download");
    return values;
  }
  void poison(int i) const { BENCH_CUDA(cudaMemsetAsync(at(i), 0xff, static_cast<size_t>(count) * sizeof(T), device.stream)); }
};

/// Median seconds of one call of `body(i)`, i counting up, in graphs of `calls`.
template <class Body>
double time_calls(bench::BenchDevice& device, int calls, const Body& body) {
  cudaGraph_t graph;
  cudaGraphExec_t launches;
  cudaEvent_t begin, end;
  BENCH_CUDA(cudaEventCreate(&begin));
  BENCH_CUDA(cudaEventCreate(&end));
  bench::require(body(0), "call");
  BENCH_CUDA(cudaStreamBeginCapture(device.stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < calls; ++i) bench::require(body(i), "call");
  BENCH_CUDA(cudaStreamEndCapture(device.stream, &graph));
  BENCH_CUDA(cudaGraphInstantiate(&launches, graph, 0));
  std::vector<float> ms;
  for (int i = 0; i < 8; ++i) {
    float time = 0;
    BENCH_CUDA(cudaEventRecord(begin, device.stream));
    BENCH_CUDA(cudaGraphLaunch(launches, device.stream));
    BENCH_CUDA(cudaEventRecord(end, device.stream));
    BENCH_CUDA(cudaEventSynchronize(end));
    BENCH_CUDA(cudaEventElapsedTime(&time, begin, end));
    if (i > 0) ms.push_back(time);
  }
  BENCH_CUDA(cudaGraphExecDestroy(launches));
  BENCH_CUDA(cudaGraphDestroy(graph));
  std::sort(ms.begin(), ms.end());
  return ms[ms.size() / 2] * 1e-3 / calls;
}

/// A state in which `iterations` iterations are left.
operation::DenoiseState* state_of(int64_t iterations) {
  operation::DenoiseState state{}, *memory;
  state.limit = iterations;
  BENCH_CUDA(cudaMalloc(&memory, sizeof(state)));
  BENCH_CUDA(cudaMemcpy(memory, &state, sizeof(state), cudaMemcpyHostToDevice));
  return memory;
}

template <class T>
im::CurvatureTask<T> task_of(T* from, T* to, const T* f, const operation::DenoiseState* state) {
  im::CurvatureTask<T> task;
  task.u = from;
  task.result = to;
  task.eps16 = static_cast<T>(16e-4);
  task.f = f;
  task.weight4 = static_cast<T>(0.24);
  task.dt = static_cast<T>(0.02);
  task.state = state;
  return task;
}

template <class T, bool kFlow>
int check_grid(bench::BenchDevice& device, const Grid& grid, const operation::DenoiseState* state) {
  const int64_t components = 2;
  Buffers<T> images(device, points_of(grid) * components, 4);
  const auto task = [&](int to) { return task_of<T>(images.at(0), images.at(to), images.at(3), state); };
  bench::require((im::direct_curvature<T, kFlow>(device, grid, components, task(1))), "direct");
  const auto expected = images.host(1);
  int failures = 0;
  for (const int64_t depth : {0, 1, 3, 7}) {
    images.poison(2);
    bench::require((im::march_curvature<T, kFlow>(device, grid, components, task(2), depth)), "march");
    const auto found = images.host(2);
    const bool same = std::memcmp(found.data(), expected.data(), found.size() * sizeof(T)) == 0;
    if (same) continue;
    ++failures;
    std::printf("DIFFERS %d bytes flow %d %ld x %ld x %ld depth %ld\n", (int)sizeof(T), kFlow, (long)grid.nx, (long)grid.ny, (long)grid.nz,
        (long)depth);
  }
  return failures;
}

int check_all(bench::BenchDevice& device) {
  const operation::DenoiseState* const state = state_of(1);
  int failures = 0, grids = 0;
  for (const Grid& grid : {Grid{1, 1, 1}, Grid{5, 1, 1}, Grid{1, 7, 1}, Grid{1, 1, 5}, Grid{128, 64, 1}, Grid{131, 33, 1}, Grid{515, 40,
      1}, Grid{64, 64, 64},
                           Grid{16, 16, 16}, Grid{20, 17, 9}, Grid{128, 37, 11}, Grid{256, 24, 10}, Grid{260, 19, 5}, Grid{131, 29, 7},
                               Grid{33, 5, 3}}) {
    failures += check_grid<float, false>(device, grid, state) + check_grid<float, true>(device, grid, state);
    failures += check_grid<double, false>(device, grid, state) + check_grid<double, true>(device, grid, state);
    ++grids;
  }
  std::printf("check: %d grids, %d failures\n", grids, failures);
  return failures;
}

template <class T, bool kFlow>
void time_grid(bench::BenchDevice& device, const char* name, const Grid& grid, int images, std::initializer_list<int> depths) {
  Buffers<T> buffers(device, points_of(grid), images * 2 + kFlow);
  const operation::DenoiseState* const state = state_of(1);
  const int calls = points_of(grid) > 1 << 22 ? 24 : 120;
  const auto task = [&](int i) { return task_of<T>(buffers.at(2 * (i % images)), buffers.at(2 * (i % images) + 1), buffers.at(2 * images),
      state); };
  std::printf("%s %s %s:", name, sizeof(T) == 4 ? "float32" : "float64", kFlow ? "flow" : "curvature");
  const double copy = time_calls(device, calls, [&](int i) { return device.copy(task(i).result, task(i).u,
      points_of(grid) * (int64_t)sizeof(T)); });
  std::printf(" copy %.2f", copy * 1e6);
  for (const int depth : depths) {
    const double s = time_calls(device, calls, [&](int i) { return im::march_curvature<T, kFlow>(device, grid, 1, task(i), depth); });
    std::printf(" march/%d %.2f", depth, s * 1e6);
  }
  if (!kFlow) {
    const double s = time_calls(device, calls, [&](int i) { return im::direct_curvature<T, kFlow>(device, grid, 1, task(i)); });
    std::printf(" direct %.2f", s * 1e6);
  }
  std::printf(" us\n");
  std::fflush(stdout);
}

template <class T>
void time_tv(bench::BenchDevice& device, const char* name, const Grid& grid, std::initializer_list<int> depths) {
  const int axes = grid.nz == 1 ? 2 : 3;
  const int64_t total = (points_of(grid) + 63) / 64 * 64;
  Buffers<T> u(device, points_of(grid), 4), q(device, axes * total, 2);
  const operation::DenoiseState* const state = state_of(1 << 20);
  operation::TvStep<T> step = {T(0.5), T(0.03), T(0.5), T(0.06), T(1), T(0.6), T(2)}, *steps;
  BENCH_CUDA(cudaMalloc(&steps, sizeof(step)));
  BENCH_CUDA(cudaMemcpy(steps, &step, sizeof(step), cudaMemcpyHostToDevice));
  im::TvTask<T> task;
  task.f = u.at(0);
  task.u[0] = u.at(1);
  task.u[1] = u.at(2);
  task.q[0] = q.at(0);
  task.q[1] = q.at(1);
  task.bar = u.at(3);
  task.total = total;
  task.steps = steps;
  task.state = state;
  const int calls = points_of(grid) > 1 << 22 ? 24 : 120;
  std::printf("%s %s primal-dual:", name, sizeof(T) == 4 ? "float32" : "float64");
  const auto at = [&](int i) { task.ahead = i; return task; };
  for (const int depth : depths) {
    std::printf(" march/%d %.2f", depth, 1e6 * time_calls(device, calls, [&](int i) { return im::march_tv<T>(device, grid, 1, at(i),
        depth); }));
  }
  std::printf(" direct %.2f us\n", 1e6 * time_calls(device, calls, [&](int i) { return im::direct_tv<T>(device, grid, 1, at(i)); }));
  std::fflush(stdout);
}

void time_all(bench::BenchDevice& device) {
  time_grid<float, false>(device, "256^3 cold", {256, 256, 256}, 3, {0, 8, 16, 32, 64});
  time_grid<float, false>(device, "128^3 hot", {128, 128, 128}, 1, {0, 2, 4, 6, 8, 16});
  time_grid<float, false>(device, "64^3 hot", {64, 64, 64}, 1, {0, 1, 2, 4, 8});
  time_grid<float, false>(device, "4096^2 cold", {4096, 4096, 1}, 3, {0, 16, 32, 64, 128});
  time_grid<float, false>(device, "1024^2 hot", {1024, 1024, 1}, 1, {0, 2, 4, 8, 16});
  time_grid<float, true>(device, "256^3 cold", {256, 256, 256}, 3, {0, 8, 16, 32, 64});
  time_grid<float, true>(device, "128^3 hot", {128, 128, 128}, 1, {0, 2, 4, 6, 8, 16});
  time_grid<double, false>(device, "256^3 cold", {256, 256, 256}, 2, {0, 16});
  time_grid<double, false>(device, "4096^2 cold", {4096, 4096, 1}, 2, {0, 32});
  time_tv<float>(device, "256^3", {256, 256, 256}, {0, 8, 16, 32, 64});
  time_tv<float>(device, "128^3", {128, 128, 128}, {0, 2, 4, 6, 8, 16});
  time_tv<float>(device, "64^3", {64, 64, 64}, {0, 1, 2, 4, 8});
  time_tv<float>(device, "1024^2", {1024, 1024, 1}, {0, 2, 4, 8, 16});
  time_tv<double>(device, "128^3", {128, 128, 128}, {0, 4, 8});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "check";
  bench::BenchDevice device;
  if (mode == "roots") return check_roots();
  if (mode == "check") return check_all(device) != 0;
  if (mode == "curvature") time_all(device);
  return 0;
}
