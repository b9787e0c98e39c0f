// The shape of a launch, in a header of its own because agents may compute it too; launch.cuh does the launch.
#pragma once
#include "cuda/core/declare.h"
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET {

class GpuDevice;

/// Bytes of GpuDevice::mailbox.
inline constexpr int64_t kMailboxBytes = 512 * 1024;

/// Shape of one launch. Threads must be a multiple of 32, at most Agent::kMaxThreads.
struct LaunchShape {
  int64_t blocks = 1;
  int threads = 32;
  size_t shared_bytes = 0;
  bool cooperative = false;  ///< all blocks resident at once, so that Block::sync_grid works
};

}  // namespace warploom::WARPLOOM_TARGET
