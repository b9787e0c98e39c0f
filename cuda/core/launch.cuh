// Checked launch of an agent: the same call runs on the GPU and under the SIMT shim.
//
// An agent with `static constexpr bool kOverlapped = true` is set up while the previous launch ends, which saves much
// of a short kernel's time. It calls device::follow_previous_launch() before it touches anything that earlier launches
// may write or read.
#pragma once
#include <string>
#include <type_traits>

#include "cuda/core/device.cuh"
#include "cuda/core/launch_shape.h"
#include "cuda/core/runtime.h"

namespace warploom::WARPLOOM_TARGET {

// A function that a build may omit (CMakeLists.txt, WARPLOOM_EXPERIMENTS). WARPLOOM_HAS(function, its type) tells
// whether it exists. Builds of the shim have all of them.
#ifdef WARPLOOM_SIMT
#define WARPLOOM_OPTIONAL
#define WARPLOOM_HAS(function, ...) true
#else
#define WARPLOOM_OPTIONAL __attribute__((weak))
#define WARPLOOM_HAS(function, ...) (static_cast<__VA_ARGS__>(function) != nullptr)
#endif
inline Status not_in_this_build(const char* what, const char* argument) {
  return {Code::not_compiled, std::string(what) + " is not in this build: npm run build:native adds it, released packages have it",
          argument};
}

/// How many threads a block of Agent may have.
template <class Agent>
Status check_threads(const LaunchShape& shape) {
  if (shape.threads >= 32 && shape.threads % 32 == 0 && shape.threads <= Agent::kMaxThreads) return {};
  return {Code::internal, "a block of " + std::to_string(shape.threads) + " threads; the kernel takes 32, 64 … " +
                              std::to_string(Agent::kMaxThreads)};
}

#ifdef WARPLOOM_SIMT

template <class Agent>
Status launch(GpuDevice& device, const LaunchShape& shape, const typename Agent::Parameters& p) {
  WARPLOOM_TRY(check_threads<Agent>(shape));
  return device.launch_blocks(
      shape.blocks, shape.threads, shape.shared_bytes, shape.cooperative,
      [&p](const device::Block& block) { Agent::run(block, p); });
}
/// How many blocks of the agent fit one multiprocessor at once; 0 if the device does not answer.
template <class Agent>
int resident_blocks(GpuDevice&, int, size_t) { return 2; }

#else

template <class Agent, class = void>
inline constexpr bool kOverlapped = false;
template <class Agent>
inline constexpr bool kOverlapped<Agent, std::enable_if_t<Agent::kOverlapped>> = true;

/// The launch kind for blocks that do not wait for each other.
template <class Agent>
LaunchKind kind_of(const LaunchShape& shape, int compute_capability) {
  if (shape.cooperative) return LaunchKind::cooperative;
  return kOverlapped<Agent> && compute_capability >= 90 ? LaunchKind::overlapped : LaunchKind::plain;
}

template <class Agent>
__global__ void __launch_bounds__(Agent::kMaxThreads, Agent::kMinBlocks)
agent_kernel(const __grid_constant__ typename Agent::Parameters p) {
  Agent::run(device::Block(), p);
}

template <class Agent>
Status launch(GpuDevice& device, const LaunchShape& shape, const typename Agent::Parameters& p) {
  WARPLOOM_TRY(check_threads<Agent>(shape));
  void* arguments[] = {const_cast<void*>(static_cast<const void*>(&p))};
  return device.launch_kernel(reinterpret_cast<const void*>(&agent_kernel<Agent>), shape.blocks,
                              shape.threads, shape.shared_bytes, kind_of<Agent>(shape, device.limits().compute_capability), arguments);
}
/// How many blocks of the agent fit one multiprocessor at once; 0 if the device does not answer.
template <class Agent>
int resident_blocks(GpuDevice& device, int threads, size_t shared_bytes) {
  return device.resident_blocks(reinterpret_cast<const void*>(&agent_kernel<Agent>), threads, shared_bytes);
}

#endif

}  // namespace warploom::WARPLOOM_TARGET
