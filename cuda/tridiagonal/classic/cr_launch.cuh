// Launch of CrAgent, for `cr` and `cr-pcr`.
#pragma once
#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/classic/block_launch.cuh"
#include "cuda/tridiagonal/classic/cr_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Few threads per system, so that the systems that fit shared memory fill the multiprocessor, and most stages need no
/// barrier; more threads if there are too few systems for that.
template <class Agent, class T>
Groups divide_cr(const GpuDevice& device, const Batch<T>& batch) {
  constexpr int64_t kRowsPerThread = sizeof(T) == 4 ? 16 : 8, kFewThreads = 384, kBlockBytes = 8192;
  const int64_t enough = kFewThreads * device.limits().multiprocessors;
  Groups groups;
  groups.problem_bytes = Agent::problem_bytes(batch.n);
  groups.threads = next_power_of_two((batch.n + kRowsPerThread - 1) / kRowsPerThread);
  if (groups.threads < 8) groups.threads = 8;
  while (2 * int64_t{groups.threads} < batch.n && batch.planned_problems() * groups.threads < enough) groups.threads *= 2;
  if (groups.threads > Agent::kMaxThreads) groups.threads = Agent::kMaxThreads;
  groups.problems = groups.threads < 32 ? 32 / groups.threads : 1;
  while (groups.threads <= 32 && groups.threads * groups.problems < 128 &&
         static_cast<int64_t>(groups.problems * groups.problem_bytes) <= kBlockBytes + kBlockBytes / 8) {
    groups.problems *= 2;
  }
  return groups;
}

template <bool kPcr, class T>
Status launch_cr(GpuDevice& device, operation::Algorithm algorithm, const Batch<T>& batch, Used* used) {
  using Agent = CrAgent<T, kPcr>;
  const int64_t limit = device.limits().shared_bytes_per_block;
  const int64_t most = largest_fitting(limit - 16, Agent::problem_bytes);
  if (batch.n > most) return too_large(operation::kAlgorithmNames[static_cast<int>(algorithm)], batch.n, most);
  typename Agent::Parameters p;
  p.batch = batch;
  p.groups = divide_cr<Agent>(device, batch);
  p.wide = is_aligned(batch, inputs_of(batch, true));
  used->algorithm = algorithm;
  used->threads = p.groups.threads;
  return launch_groups<Agent>(device, p, used);
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
