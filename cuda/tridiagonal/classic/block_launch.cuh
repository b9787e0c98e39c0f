// Launches the algorithms that keep a problem in shared memory (block_problem.cuh).
#pragma once
#include <string>

#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/classic/block_problem.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

inline int next_power_of_two(int64_t n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

/// Groups of about `threads` threads; small problems share a block of 128.
template <class Agent>
Groups divide_block(int64_t threads, size_t problem_bytes, int64_t shared_limit) {
  Groups groups;
  groups.threads = next_power_of_two(threads < 8 ? 8 : threads > Agent::kMaxThreads ? Agent::kMaxThreads : threads);
  if (groups.threads > Agent::kMaxThreads) groups.threads = Agent::kMaxThreads;
  groups.problem_bytes = problem_bytes;
  groups.problems = groups.threads < 128 ? 128 / groups.threads : 1;
  while (groups.problems > 1 && groups.threads * groups.problems > 32 &&
         static_cast<int64_t>(groups.shared_bytes()) > shared_limit) {
    groups.problems /= 2;
  }
  return groups;
}

/// Launches Agent over all problems of a batch, in slices if a grid cannot hold them.
template <class Agent>
Status launch_groups(GpuDevice& device, typename Agent::Parameters p, Used* used) {
  const int64_t problems = p.batch.problems();
  const int64_t blocks = (problems + p.groups.problems - 1) / p.groups.problems;
  const int64_t slice = device.limits().max_blocks;
  for (int64_t first = 0; first < blocks; first += slice) {
    p.groups.first = first * p.groups.problems;
    LaunchShape shape;
    shape.blocks = blocks - first < slice ? blocks - first : slice;
    shape.threads = p.groups.threads * p.groups.problems;
    shape.shared_bytes = p.groups.shared_bytes();
    WARPLOOM_TRY(launch<Agent>(device, shape, p));
    ++used->launches;
  }
  return {};
}

/// Refuses a system that does not fit a block's shared memory; `most` is the largest n that fits.
inline Status too_large(const char* algorithm, int64_t n, int64_t most) {
  return Status(Code::unsupported,
                std::string("algorithm '") + algorithm +
                    "' keeps a system in one block's shared memory: on this device up to " + std::to_string(most) +
                    " unknowns of this type, not " + std::to_string(n) + "; use 'auto', 'partition' or 'pcr-thomas'",
                "algorithm");
}

/// Largest n with bytes(n) <= limit, for a non-decreasing `bytes`.
template <class Bytes>
int64_t largest_fitting(int64_t limit, Bytes bytes) {
  int64_t low = 0, high = 1 << 20;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (static_cast<int64_t>(bytes(middle)) <= limit ? low : high) = middle;
  }
  return low;
}

/// Launches Agent with `workers` threads for each problem of p.batch, and bytes(n) of shared memory for a problem of n
/// rows; refuses systems that do not fit a block.
template <class Agent, class Bytes>
Status launch_in_block(GpuDevice& device, operation::Algorithm algorithm, int64_t workers, Bytes bytes,
                       typename Agent::Parameters p, Used* used) {
  const int64_t limit = device.limits().shared_bytes_per_block, n = p.batch.n;
  const int64_t most = largest_fitting(limit - 16, bytes);
  if (n > most) return too_large(operation::kAlgorithmNames[static_cast<int>(algorithm)], n, most);
  p.groups = divide_block<Agent>(workers, bytes(n), limit);
  used->algorithm = algorithm;
  used->threads = p.groups.threads;
  return launch_groups<Agent>(device, p, used);
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
