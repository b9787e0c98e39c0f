// The parameters of primal-dual launches.
#pragma once
#include "cuda/imaging/curvature_agent.cuh"
#include "cuda/imaging/tv_point.h"

namespace warploom::WARPLOOM_TARGET::imaging {

/// q has one array of `total` elements per axis: x, y and, for volumes, z.
template <class T>
struct TvTask {
  const T* f = nullptr;
  T* u[2] = {};  ///< even iterations go from 0 to 1, odd ones back; `direct` stays in 0
  T* q[2] = {};
  T* bar = nullptr;  ///< `direct`: the extrapolated image
  int64_t total = 0, channels = 1;
  const operation::TvStep<T>* steps = nullptr;
  int64_t step_count = 1;  ///< 1: the same for all iterations
  const operation::DenoiseState* state = nullptr;
  int64_t ahead = 0;
  bool impulse = false;
  operation::TvWeights<T> weights = {T(1), T(1), T(1), T(1), T(1)};
  MarchShape shape;

  WARPLOOM_DEVICE const operation::TvStep<T>& step(int64_t iteration) const { return steps[step_count == 1 ? 0 : iteration]; }
  WARPLOOM_DEVICE T primal(const operation::TvStep<T>& step, const T& now, const T& data, const T& divergence) const {
    return impulse ? operation::primal_step<true>(step, now, data, divergence) : operation::primal_step<false>(step, now, data, divergence);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
