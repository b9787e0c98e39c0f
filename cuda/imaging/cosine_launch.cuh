// Launches passes of cosine transforms, which are prepared once and run often.
#pragma once
#include <algorithm>
#include <vector>

#include "cuda/core/launch.cuh"
#include "cuda/imaging/cosine_agent.cuh"
#include "cuda/imaging/cosine_policy.h"
#include "cuda/imaging/cosine_table.h"

namespace warploom::WARPLOOM_TARGET::imaging {

namespace policy = operation::policy;

/// A pass along one axis.
template <class T>
class LinesPass {
 public:
  /// `task`: everything except the tiles.
  Status prepare(GpuDevice& device, const LinesTask<T>& task) {
    constexpr size_t kEntry = sizeof(Pair<T>);
    const int m = task.plan.m;
    const size_t shared = static_cast<size_t>(device.limits().shared_bytes_per_block);
    const int64_t pairs = (task.lines + 1) / 2;
    tiled_.task = task;
    const int fitting = policy::pairs_of(m, kEntry, pairs, task.components, shared);
    tiled_.pairs = fitting == 0 ? static_cast<int>(std::min<int64_t>(policy::kLeastPairs, pairs)) : fitting;
    tiled_.pitch = policy::pitch_of(tiled_.pairs);
    tiled_.tiles = (pairs + tiled_.pairs - 1) / tiled_.pairs;
    shape_.threads = policy::line_threads(m, tiled_.pairs, policy::kLineThreads);
    shape_.blocks = tiled_.tiles * task.components;
    shape_.shared_bytes = policy::tile_bytes(m, tiled_.pairs, kEntry);
    if (fitting == 0) {
      shape_.blocks = std::min(shape_.blocks, policy::kScratchBlocks);
      WARPLOOM_TRY(Workspace::make(device, shape_.blocks * static_cast<int64_t>(shape_.shared_bytes), &scratch_));
      shape_.shared_bytes = 0;
      tiled_.scratch = scratch_.template as<Pair<T>>();
    }
    shape_.blocks = std::min(shape_.blocks, device.limits().max_blocks);
    return {};
  }

  Status launch(GpuDevice& device) const { return ::warploom::WARPLOOM_TARGET::launch<LinesAgent<T>>(device, shape_, tiled_); }

 private:
  TiledLines<T> tiled_;
  LaunchShape shape_;
  Workspace scratch_;
};

/// The tables of the axes of a grid, in device memory.
template <class T>
class AxisTables {
 public:
  /// Plans of the first `axes` axes.
  Status prepare(GpuDevice& device, const int64_t (&extents)[3], int axes) {
    std::vector<T> words;
    for (int axis = 0; axis < axes; ++axis) {
      plan_[axis] = operation::cosine_plan(extents[axis]);
      offset_[axis] = static_cast<int64_t>(words.size());
      const std::vector<T> table = operation::cosine_table<T>(plan_[axis]);
      words.insert(words.end(), table.begin(), table.end());
    }
    const int64_t bytes = static_cast<int64_t>(words.size() * sizeof(T));
    WARPLOOM_TRY(Workspace::make(device, bytes, &memory_));
    WARPLOOM_TRY(device.upload(memory_.template as<T>(), words.data(), bytes));
    return device.synchronize();  // the source of the upload ends with this function
  }
  const CosinePlan& plan(int axis) const { return plan_[axis]; }
  const T* table(int axis) const { return memory_.template as<T>() + offset_[axis]; }

 private:
  CosinePlan plan_[3];
  int64_t offset_[3] = {0, 0, 0};
  Workspace memory_;
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
