// Stand-alone check and benchmark of the Euler step on one GPU, without Node:
//   build: bench/device/build.sh BUILD_FOLDER
//   run:   BUILD_FOLDER/swept_euler [arithmetic|step|time|steps|profile …]   without arguments all but the last
// arithmetic: portable.h against the correctly rounded intrinsics. step: tiles of warps against single points and against the host.
// time: passes over memory with tiles of one warp. steps: of tiles that never exchange anything.
#include <cstring>

#include "bench/device/swept_euler_arithmetic.cuh"
#include "bench/device/swept_euler_tile.cuh"

using namespace warploom;
using namespace warploom::bench;

/// State of every kind: smooth waves, jumps, rest; a power of two between neighbours here and there.
template <class T>
static std::vector<T> start(int64_t n, bool rough) {
  std::vector<T> state(3 * n);
  uint64_t seed = 88172645463325252u;
  for (int64_t i = 0; i < n; ++i) {
    const double x = double(i) / double(n) * 2 * 3.14159265358979;
    double density = 1 + 0.2 * std::sin(7 * x), velocity = 0.1 * std::cos(11 * x), pressure = 1 + 0.1 * std::sin(13 * x);
    if (rough) {
      seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
      const int kind = int(i / 40 % 4);
      if (kind == 1) density *= i % 2 != 0 ? 1 : 1.5, pressure = 1;
      if (kind == 2) density = 0.5, velocity = 0, pressure = 0.7;
      if (kind == 3) density += double(seed >> 40) * 0x1p-26, velocity += double(seed >> 20 & 0xffff) * 0x1p-18;
    }
    state[i] = T(density);
    state[n + i] = T(density * velocity);
    state[2 * n + i] = T(pressure / 0.4 + 0.5 * density * velocity * velocity);
  }
  return state;
}

template <class T>
struct DeviceState {
  int64_t n;
  T* data;
  explicit DeviceState(const std::vector<T>& values) : n(int64_t(values.size()) / 3) {
    BENCH_CUDA(cudaMalloc(&data, values.size() * sizeof(T)));
    BENCH_CUDA(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    BENCH_CUDA(cudaDeviceSynchronize());  // the benchmark's stream does not wait for a copy from pageable memory
  }
  ~DeviceState() { cudaFree(data); }
  std::vector<T> read() const {
    std::vector<T> values(3 * n);
    BENCH_CUDA(cudaDeviceSynchronize());
    BENCH_CUDA(cudaMemcpy(values.data(), data, values.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
};

template <class T>
static int64_t differences(const std::vector<T>& a, const std::vector<T>& b) {
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += std::memcmp(&a[i], &b[i], sizeof(T)) != 0;
  return count;
}
template <class T>
static bool finite(const std::vector<T>& a) {
  for (const T value : a) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

template <class T>
static swept::Euler<T> make(swept::Limiter limiter, int64_t n) {
  const double dx = 1.0 / double(n);
  return swept::Euler<T>::template make<T>(1.4, dx, 0.2 * dx, limiter);
}

/// One sub-step of every point of a periodic problem on the host.
template <int kSubstep, class T>
static void host_substep(const swept::Euler<T>& equation, const std::vector<T>& around, const std::vector<T>& base, std::vector<T>* to) {
  const int64_t n = int64_t(around.size()) / 3;
  for (int64_t i = 0; i < n; ++i) {
    typename swept::Euler<T>::Value a[5], b;
    for (int k = 0; k < 3; ++k) {
      for (int d = 0; d < 5; ++d) a[d].item[k] = around[k * n + (i + d - 2 + n) % n];
      b.item[k] = base[k * n + i];
    }
    const auto next = equation.template next<kSubstep>(a, b);
    for (int k = 0; k < 3; ++k) (*to)[k * n + i] = next.item[k];
  }
}

template <class T, int kLimiter, int kPoints>
static int check_tiles(BenchDevice& device, const swept::Euler<T>& equation, const std::vector<T>& begin, const std::vector<T>& right,
                       int steps) {
  int failures = 0;
  for (const int depth : {1, 3}) {
    if (32 * kPoints <= 8 * depth) continue;
    DeviceState<T> a(begin), b(begin);
    for (int done = 0; done < steps; done += depth) {
      const int count = steps - done < depth ? steps - done : depth;
      require((tile_pass<T, kLimiter, kPoints, 4>(device, equation, a.n, a.data, b.data, count)), "pass");
      std::swap(a.data, b.data);
    }
    const int64_t count = differences(a.read(), right);
    if (count != 0) std::printf("FAILED limiter %d points %d depth %d: %lld differ\n", kLimiter, kPoints, depth, (long long)count);
    failures += count != 0;
  }
  return failures;
}

template <class T, int kLimiter>
static int check_limiter(BenchDevice& device) {
  int failures = 0;
  for (const int64_t n : {257, 1000, 70001}) {
    const auto equation = make<T>(static_cast<swept::Limiter>(kLimiter), n);
    const std::vector<T> begin = start<T>(n, true);
    const int steps = 20;
    std::vector<T> u = begin, half = begin, next = begin;
    for (int s = 0; s < steps; ++s) {
      host_substep<0>(equation, u, u, &half);
      host_substep<1>(equation, half, u, &next);
      u.swap(next);
    }
    DeviceState<T> a(begin), b(begin);
    for (int s = 0; s < steps; ++s) require(point_step(device, equation, a.n, a.data, b.data), "point step");
    const std::vector<T> points = a.read();
    const int64_t count = differences(points, u);
    if (count != 0 || !finite(u)) {
      std::printf("FAILED limiter %d n %lld: %lld differ from the host\n", kLimiter, (long long)n, (long long)count);
      ++failures;
    }
    failures += check_tiles<T, kLimiter, 2>(device, equation, begin, points, steps);
    failures += check_tiles<T, kLimiter, 4>(device, equation, begin, points, steps);
    failures += check_tiles<T, kLimiter, 8>(device, equation, begin, points, steps);
    if (kLimiter == 0) failures += check_tiles<T, kLimiter, 1>(device, equation, begin, points, steps);
  }
  return failures;
}

template <class T>
static int check_steps(BenchDevice& device) {
  int failures = check_limiter<T, 0>(device) + check_limiter<T, 1>(device);
  failures += check_limiter<T, 2>(device) + check_limiter<T, 3>(device);
  std::printf("step float%d: %d failures\n", int(sizeof(T) * 8), failures);
  return failures;
}

/// Best of several repeats of `count` passes, in seconds per pass.
template <class Pass>
static double time_passes(BenchDevice& device, int count, const Pass& pass) {
  cudaEvent_t from, to;
  BENCH_CUDA(cudaEventCreate(&from));
  BENCH_CUDA(cudaEventCreate(&to));
  double best = 1e30;
  for (int repeat = 0; repeat < 4; ++repeat) {
    BENCH_CUDA(cudaEventRecord(from, device.stream));
    for (int i = 0; i < count; ++i) pass(i);
    BENCH_CUDA(cudaEventRecord(to, device.stream));
    BENCH_CUDA(cudaEventSynchronize(to));
    float ms = 0;
    BENCH_CUDA(cudaEventElapsedTime(&ms, from, to));
    if (repeat > 0 && ms * 1e-3 / count < best) best = ms * 1e-3 / count;
  }
  return best;
}

template <class T, int kPoints, int kMinBlocks>
static void time_shape(BenchDevice& device, int64_t n) {
  const auto equation = make<T>(swept::Limiter::paper, n);
  const std::vector<T> begin = start<T>(n, false);
  DeviceState<T> a(begin), b(begin);
  for (const int depth : {1, 2, 3, 4}) {
    if (32 * kPoints <= 16 * depth) continue;
    const int count = int((int64_t{1} << 28) / n / depth) + 4;
    const double seconds = time_passes(device, count, [&](int i) {
      const DeviceState<T>&from = i % 2 == 0 ? a : b, &to = i % 2 == 0 ? b : a;
      require((tile_pass<T, 0, kPoints, kMinBlocks>(device, equation, n, from.data, to.data, depth)), "pass");
    });
    const double useful = (32.0 * kPoints - 8 * depth) / (32 * kPoints);
    std::printf("{\"float\":%d,\"n\":%lld,\"points\":%d,\"minBlocks\":%d,\"depth\":%d,\"gps\":%.2f,\"stepped\":%.2f}\n", int(sizeof(T) * 8),
                (long long)n, kPoints, kMinBlocks, depth, double(n) * depth / seconds * 1e-9, double(n) * depth / seconds / useful * 1e-9);
  }
  if (!finite(a.read())) std::printf("FAILED: not finite\n");
}

/// Steps alone, with `blocks` blocks on each multiprocessor: time of a step, places of all multiprocessors stepped per second.
template <class T, int kPoints, int kThreads, int kBlocks>
static void time_steps(BenchDevice& device) {
  using Agent = TileAgent<T, 0, kPoints, kThreads, kBlocks>;
  const auto equation = make<T>(swept::Limiter::paper, 1 << 20);
  const int warps = kThreads / 32, blocks = 132 * kBlocks;
  const int64_t n = int64_t{blocks} * warps * Agent::kPlaces / 2;
  DeviceState<T> a(start<T>(n, false)), b(start<T>(n, false));
  const int steps = 1000;
  const double seconds = time_passes(device, 1, [&](int) {
    require((tile_steps<Agent>(device, equation, n, a.data, b.data, steps, warps)), "steps");
  });
  std::printf("{\"float\":%d,\"points\":%d,\"warpsPerMultiprocessor\":%d,\"ns\":%.1f,\"gps\":%.2f}\n", int(sizeof(T) * 8), kPoints,
              warps * kBlocks, seconds / steps * 1e9, double(blocks) * warps * Agent::kPlaces * steps / seconds * 1e-9);
}

int main(int argc, char** argv) {
  BenchDevice device;
  const auto wanted = [&](const char* name) {
    if (argc < 2) return true;
    for (int i = 1; i < argc; ++i) {
      if (std::strcmp(argv[i], name) == 0) return true;
    }
    return false;
  };
  int failures = 0;
  if (wanted("arithmetic")) failures += check_arithmetic(device);
  if (wanted("step")) failures += check_steps<double>(device) + check_steps<float>(device);
  if (wanted("time")) {
    print_peak(device);
    for (const int64_t n : {int64_t{1} << 20, int64_t{1} << 24}) {
      time_shape<double, 4, 3>(device, n);
      time_shape<double, 4, 4>(device, n);
      time_shape<double, 8, 2>(device, n);
      time_shape<double, 8, 3>(device, n);
      time_shape<float, 4, 6>(device, n);
      time_shape<float, 8, 4>(device, n);
    }
  }
  if (wanted("steps")) {
    time_steps<double, 1, 128, 1>(device);
    time_steps<double, 1, 256, 1>(device);
    time_steps<double, 1, 256, 4>(device);
    time_steps<double, 2, 128, 1>(device);
    time_steps<double, 2, 256, 1>(device);
    time_steps<double, 2, 128, 5>(device);
    time_steps<double, 2, 128, 6>(device);
    time_steps<double, 4, 128, 1>(device);
    time_steps<double, 4, 128, 2>(device);
    time_steps<double, 4, 128, 3>(device);
    time_steps<double, 4, 128, 4>(device);
    time_steps<double, 8, 128, 2>(device);
    time_steps<double, 8, 128, 3>(device);
    time_steps<float, 1, 128, 1>(device);
    time_steps<float, 2, 128, 1>(device);
    time_steps<float, 2, 128, 2>(device);
    time_steps<float, 4, 128, 6>(device);
    time_steps<float, 4, 128, 8>(device);
    time_steps<float, 8, 128, 4>(device);
    time_steps<float, 8, 128, 5>(device);
  }
  if (argc > 1 && wanted("profile")) {
    time_steps<double, 2, 128, 6>(device);
    time_steps<double, 4, 128, 4>(device);
    time_steps<double, 8, 128, 3>(device);
  }
  std::printf("%d failures\n", failures);
  return failures != 0;
}
