// Checks whether a state is finite.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/swept/finite_agent.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

/// Writes whether all of `values` are finite; waits for the device.
template <class T>
Status all_finite(GpuDevice& device, const T* values, int64_t count, bool* finite) {
  Workspace word;
  WARPLOOM_TRY(Workspace::make(device, sizeof(int), &word));
  int* const found = word.as<int>();
  WARPLOOM_TRY(device.fill_zero(found, sizeof(int)));
  using Agent = FiniteAgent<T>;
  const int64_t most = int64_t{16} * device.limits().multiprocessors;
  const int64_t blocks = (count + Agent::kMaxThreads - 1) / Agent::kMaxThreads;
  WARPLOOM_TRY(launch<Agent>(device, {blocks < most ? blocks : most, Agent::kMaxThreads, 0, false}, {values, count, found}));
  int host = 0;
  WARPLOOM_TRY(device.download(&host, found, sizeof(int)));
  *finite = host == 0;
  return {};
}

}  // namespace warploom::WARPLOOM_TARGET::swept
