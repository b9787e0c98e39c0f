// The smallest frames around the Euler step: a point per thread, and a tile per warp.
#pragma once
#include "bench/device/bench_device.cuh"
#include "cuda/swept/step_euler.cuh"

namespace warploom::bench {

template <class T, int kSubstep>
struct PointAgent {
  static constexpr int kMaxThreads = 256, kMinBlocks = 1;
  using Equation = swept::Euler<T>;
  struct Parameters {
    Equation equation;
    int64_t n;
    const T* around;
    const T* base;
    T* result;
  };
  static WARPLOOM_DEVICE void run(const cuda::device::Block& block, const Parameters& p) {
    const int64_t i = block.index() * block.threads() + block.thread();
    if (i >= p.n) return;
    typename Equation::Value a[5], base;
    for (int k = 0; k < 3; ++k) {
      for (int d = 0; d < 5; ++d) a[d].item[k] = p.around[k * p.n + (i + d - 2 + p.n) % p.n];
      base.item[k] = p.base[k * p.n + i];
    }
    const auto next = p.equation.template next<kSubstep>(a, base);
    for (int k = 0; k < 3; ++k) p.result[k * p.n + i] = next.item[k];
  }
};

/// A step of a periodic problem in place; `spare` as long as the state.
template <class T>
Status point_step(BenchDevice& device, const swept::Euler<T>& equation, int64_t n, T* state, T* spare) {
  WARPLOOM_TRY((cuda::launch<PointAgent<T, 0>>(device, {(n + 255) / 256, 256, 0, false}, {equation, n, state, state, spare})));
  return cuda::launch<PointAgent<T, 1>>(device, {(n + 255) / 256, 256, 0, false}, {equation, n, spare, state, state});
}

/// `steps` steps of a periodic problem: each warp takes 32 * kPoints places and keeps those its margins of `margin` leave.
template <class T, int kLimiter, int kPoints, int kThreads, int kBlocks>
struct TileAgent {
  static constexpr int kMaxThreads = kThreads, kMinBlocks = kBlocks;
  static constexpr int kPlaces = 32 * kPoints, kLaneReals = kPoints | 1, kStage = 3 * 32 * kLaneReals;
  using Equation = swept::Euler<T, kLimiter>;
  struct Parameters {
    Equation equation;
    int64_t n;
    const T* from;
    T* to;
    int steps, margin;
  };
  static WARPLOOM_DEVICE void run(const cuda::device::Block& block, const Parameters& p) {
    namespace device = cuda::device;
    const int own = kPlaces - 2 * p.margin;
    const int64_t first = (block.index() * (block.threads() / 32) + block.warp()) * own;
    if (first >= p.n) return;
    T* const stage = block.template shared<T>() + block.warp() * kStage;
    const auto slot = [=](int k, int i) { return stage + k * 32 * kLaneReals + i + (kLaneReals - kPoints) * (i / kPoints); };
    const bool inside = first >= p.margin && first - p.margin + kPlaces <= p.n;
    WARPLOOM_UNROLL
    for (int r = 0; r < kPoints; ++r) {
      const int i = r * 32 + block.lane();
      int64_t place = first - p.margin + i;
      if (!inside) place = ((place % p.n) + p.n) % p.n;
      WARPLOOM_UNROLL
      for (int k = 0; k < 3; ++k) *slot(k, i) = p.from[k * p.n + place];
    }
    block.sync_warp();
    typename Equation::Value u[kPoints];
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) {
      for (int k = 0; k < 3; ++k) u[j].item[k] = *slot(k, block.lane() * kPoints + j);
    }
    const cuda::swept::LaneEnds ends;
    WARPLOOM_NO_UNROLL
    for (int s = 0; s < p.steps; ++s) cuda::swept::Stepper<Equation, kPoints>::template step<false>(block, p.equation, u, ends);
    block.sync_warp();
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) {
      for (int k = 0; k < 3; ++k) *slot(k, block.lane() * kPoints + j) = u[j].item[k];
    }
    block.sync_warp();
    WARPLOOM_UNROLL
    for (int r = 0; r < kPoints; ++r) {
      const int i = r * 32 + block.lane();
      const int64_t place = first - p.margin + i;
      if (i < p.margin || i >= kPlaces - p.margin || place >= p.n) continue;
      WARPLOOM_UNROLL
      for (int k = 0; k < 3; ++k) p.to[k * p.n + place] = *slot(k, i);
    }
  }
};

template <class Agent, class T>
Status launch_tiles(BenchDevice& device, const swept::Euler<T>& equation, int64_t n, const T* from, T* to, int steps, int margin,
                    int warps) {
  typename Agent::Equation limited;
  static_assert(sizeof(limited) == sizeof(equation), "the limiter is no part of the coefficients");
  std::memcpy(&limited, &equation, sizeof(equation));
  const int64_t own = int64_t{warps} * (Agent::kPlaces - 2 * margin);
  const size_t shared = warps * Agent::kStage * sizeof(T);
  return cuda::launch<Agent>(device, {(n + own - 1) / own, 32 * warps, shared, false}, {limited, n, from, to, steps, margin});
}

template <class T, int kLimiter, int kPoints, int kMinBlocks>
Status tile_pass(BenchDevice& device, const swept::Euler<T>& equation, int64_t n, const T* from, T* to, int steps) {
  using Agent = TileAgent<T, kLimiter, kPoints, 128, kMinBlocks>;
  return launch_tiles<Agent>(device, equation, n, from, to, steps, 4 * steps, 4);
}

/// Many steps of tiles that never exchange anything: half of the places are called margin, whatever becomes of them.
template <class Agent, class T>
Status tile_steps(BenchDevice& device, const swept::Euler<T>& equation, int64_t n, const T* from, T* to, int steps, int warps) {
  return launch_tiles<Agent>(device, equation, n, from, to, steps, Agent::kPlaces / 4, warps);
}

}  // namespace warploom::bench
