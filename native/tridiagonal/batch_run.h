// Spreads a batch over the device's threads, tile by tile.
#pragma once
#include <algorithm>
#include <chrono>

#include "native/cpu/device.h"
#include "native/tridiagonal/kernels.h"

namespace warploom::cpu {

/// Systems shorter than this may share a tile however many rows it costs.
inline constexpr int64_t kMaxTileBytes = int64_t{256} << 20;
/// Rows of work between two polls for cancellation, per thread.
inline constexpr int64_t kTaskRows = int64_t{1} << 16;

/// Tiles of a batch: full vectors where several systems fit, else one system at a time.
template <class R>
const Kernels<R>& tile_kernels(const Problem<R>& problem, const Options& options, bool complex,
                               int threads) {
  const bool streaming = streams(options, problem.periodic);
  const Kernels<R>& widest = kernels_of<R>(kernels(), complex, streaming);
  const Kernels<R>& wide = kernels_of<R>(kernels(), complex, false);
  const auto fits = [&](const Kernels<R>& k) {
    return k.bytes(options, problem.periodic, problem.n) <= kMaxTileBytes;
  };
  // Wider tiles only while every thread has some.
  if (problem.problems() > int64_t{2} * widest.lanes * threads && fits(widest)) return widest;
  return problem.problems() > 1 && fits(wide) ? wide : kernels_of<R>(kernels_single(), complex, false);
}

/// Solves the whole batch with one kernel. `progress_total` counts tasks; 0 reports none.
template <class R>
Status run_batch(CpuDevice& device, const Problem<R>& problem, const Options& options,
                 const Results& results, bool complex, Control& control) {
  const Kernels<R>& chosen = tile_kernels(problem, options, complex, device.thread_count());
  WARPLOOM_TRY(device.reserve_scratch(chosen.bytes(options, problem.periodic, problem.n)));
  const int64_t problems = problem.problems(), lanes = chosen.lanes;
  const int64_t tiles = (problems + lanes - 1) / lanes;
  const int64_t tile_rows = std::max<int64_t>(problem.n, 1) * lanes;
  const int64_t tiles_per_task = std::max<int64_t>(1, kTaskRows / tile_rows);
  const int64_t tasks = (tiles + tiles_per_task - 1) / tiles_per_task;
  const auto task = [&](int64_t index, int worker) {
    const int64_t end = std::min(tiles, (index + 1) * tiles_per_task);
    for (int64_t tile = index * tiles_per_task; tile < end; ++tile) {
      const int64_t first = tile * lanes;
      chosen.solve(problem, options, results, first,
                   static_cast<int>(std::min(lanes, problems - first)), device.scratch(worker));
    }
    return Status();
  };
  return device.threads().run(tasks, task, control, 0, static_cast<double>(tasks));
}

/// Adds the time from construction to destruction to Control::device_seconds.
class Stopwatch {
 public:
  explicit Stopwatch(Control& control)
      : control_(control), start_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    control_.device_seconds += elapsed.count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Control& control_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace warploom::cpu
