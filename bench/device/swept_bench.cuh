// Timing and checking of variants of swept.advance, as device_bench's device launches them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "bench/device/bench_device.cuh"
#include "cuda/swept/variants.cuh"

namespace warploom::bench {

namespace sw = cuda::swept;
using ::warploom::swept::Boundary;

/// Smooth waves; Euler: density, momentum and energy of a gas whose pressure varies everywhere.
template <class Equation>
std::vector<typename Equation::Real> start_state(int64_t n, int64_t batch, bool held_ends) {
  using Real = typename Equation::Real;
  std::vector<Real> state(static_cast<size_t>(batch * Equation::kComponents * n));
  uint64_t random = 88172645463325252u;
  for (int64_t p = 0; p < batch; ++p) {
    double wave[3][256];
    for (int i = 0; i < 256; ++i) {
      const double x = 6.283185307179586 * i / 256 + static_cast<double>(p);
      wave[0][i] = Equation::kComponents == 3 ? 1 + 0.3 * std::sin(x) : std::cos(x);
      wave[1][i] = 0.2 * std::cos(x);
      wave[2][i] = 2.5 + 0.5 * std::sin(2 * x);
    }
    for (int k = 0; k < Equation::kComponents; ++k) {
      Real* const row = state.data() + (p * Equation::kComponents + k) * n;
      for (int64_t i = 0; i < n; ++i) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        row[i] = static_cast<Real>(wave[k][i % 256] + 0.02 * static_cast<double>(random >> 40) * 0x1p-24);
      }
      if (held_ends) row[0] = row[n - 1] = 0;  // odd mirrors
    }
  }
  return state;
}

template <class Equation>
const char* equation_name() {
  constexpr const char* names[] = {"heat", "ks", "euler"};
  return names[static_cast<int>(Equation::kEquation)];
}

struct SweptBench {
  BenchDevice device;
  int failures = 0;

  template <class Equation>
  struct State {
    using Real = typename Equation::Real;
    sw::March<Equation> march;
    cuda::Workspace from, to, spare;
    State(SweptBench& bench, const Equation& equation, int64_t n, int64_t batch, int64_t steps, Boundary left, Boundary right) {
      march.equation = equation;
      march.domain = sw::Domain::make(Equation::kEquation, n, left, right);
      march.batch = batch;
      march.steps = steps;
      const int64_t bytes = march.elements() * static_cast<int64_t>(sizeof(Real));
      for (cuda::Workspace* w : {&from, &to, &spare}) require(cuda::Workspace::make(bench.device, bytes, w), "memory");
      const bool odd = Equation::kEquation == ::warploom::swept::Equation::kuramoto_sivashinsky && left == Boundary::dirichlet;
      const std::vector<Real> state = start_state<Equation>(n, batch, odd);
      require(bench.device.upload(from.template as<Real>(), state.data(), bytes), "upload");
      require(bench.device.synchronize(), "upload");
      march.from = from.template as<Real>();
      march.to = to.template as<Real>();
      march.spare = spare.template as<Real>();
    }
    std::vector<Real> result(SweptBench& bench) {
      std::vector<Real> out(static_cast<size_t>(march.elements()));
      require(bench.device.download(out.data(), march.to, march.elements() * static_cast<int64_t>(sizeof(Real))), "download");
      return out;
    }
  };

  template <class Equation, class Run>
  void check(const Equation& equation, int64_t n, int64_t batch, int64_t steps, Boundary left, Boundary right, const Run& run) {
    State<Equation> state(*this, equation, n, batch, steps, left, right);
    Control control;
    sw::Shape shape;
    require(sw::march_classic(device, state.march, &shape, control), "classic");
    const auto expected = state.result(*this);
    BENCH_CUDA(cudaMemsetAsync(state.march.to, 0xff, expected.size() * sizeof(expected[0]), device.stream));
    require(run(state.march, &shape, control), "tiled");
    const auto result = state.result(*this);
    const bool same = std::memcmp(result.data(), expected.data(), expected.size() * sizeof(expected[0])) == 0;
    const bool finite = std::all_of(expected.begin(), expected.end(), [](auto v) { return std::isfinite(v); });
    failures += same && finite ? 0 : 1;
    std::printf("{\"check\":\"%s\",\"bytes\":%zu,\"n\":%lld,\"batch\":%lld,\"ends\":[%d,%d],"
                "\"points\":%d,\"depth\":%d,\"same\":%s,\"finite\":%s}\n",
                equation_name<Equation>(), sizeof(expected[0]), (long long)n, (long long)batch, (int)left, (int)right, shape.points,
                shape.depth, same ? "true" : "false", finite ? "true" : "false");
  }

  /// Median of five; so many steps that a run takes some milliseconds.
  template <class Equation, class Run>
  double time(const Equation& equation, int64_t n, Boundary ends, const char* variant, int64_t steps, const Run& run) {
    State<Equation> state(*this, equation, n, 1, 2000, ends, ends);
    Control control;
    sw::Shape shape;
    cudaEvent_t begin, end;
    BENCH_CUDA(cudaEventCreate(&begin));
    BENCH_CUDA(cudaEventCreate(&end));
    const auto once = [&](int64_t count) {
      state.march.steps = count;
      BENCH_CUDA(cudaEventRecord(begin, device.stream));
      require(run(state.march, &shape, control), variant);
      BENCH_CUDA(cudaEventRecord(end, device.stream));
      BENCH_CUDA(cudaEventSynchronize(end));
      float ms = 0;
      BENCH_CUDA(cudaEventElapsedTime(&ms, begin, end));
      return ms * 1e-3;
    };
    once(300);
    const double guess = once(300) / 300;
    if (steps == 0) steps = std::max<int64_t>(300, std::min<int64_t>(60000, static_cast<int64_t>(6e-3 / guess)));
    std::vector<double> seconds;
    for (int i = 0; i < 5; ++i) seconds.push_back(once(steps) / static_cast<double>(steps));
    std::sort(seconds.begin(), seconds.end());
    std::printf("{\"id\":\"%s/%s/%lld/%s\",\"ends\":%d,"
                "\"steps\":%lld,\"points\":%d,\"depth\":%d,\"threads\":%d,\"us\":%.5f,\"least\":%.5f,\"G\":%.1f}\n",
                equation_name<Equation>(), sizeof(typename Equation::Real) == 8 ? "float64" : "float32", (long long)n, variant, (int)ends,
                (long long)steps, shape.points, shape.depth, shape.threads, seconds[2] * 1e6, seconds[0] * 1e6, n / seconds[2] * 1e-9);
    std::fflush(stdout);
    BENCH_CUDA(cudaEventDestroy(begin));
    BENCH_CUDA(cudaEventDestroy(end));
    return seconds[2];
  }
};

}  // namespace warploom::bench
