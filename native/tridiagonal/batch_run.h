// Spreads a batch over the device's threads, tile by tile.
#pragma once
#include <algorithm>

#include "native/linear/run.h"
#include "native/tridiagonal/kernels.h"

namespace warploom::cpu {

/// Whether rows of neighbouring problems are adjacent in memory, so that tiles need no transposition.
template <class R>
bool adjacent(const Problem<R>& problem, bool complex) {
  if (problem.offsets != nullptr || problem.last_rows >= 0) return false;
  if (problem.systems > 1 && problem.rhs_count > 1) return false;
  const auto one = [&](const Band<R>& band) {
    const int64_t stride = problem.rhs_count == 1 ? band.system_stride : band.rhs_stride;
    const bool pairs = complex && band.im == band.re + 1;
    return stride == (pairs ? 2 : 1);
  };
  return one(problem.rhs) && one(problem.solution);
}

/// Tiles of a batch: strips for adjacent systems, full vectors if several systems fit, otherwise one system at a time.
template <class R>
const Kernels<R>& tile_kernels(const Problem<R>& problem, const Options& options, bool complex) {
  const Kernels<R>& wide = kernels_of<R>(kernels(), complex);
  const bool fits = wide.bytes(options, problem.periodic, problem.n) <= kMaxTileBytes;
  if (problem.problems() <= 1 || !fits) return kernels_of<R>(kernels_single(), complex);
  const bool strips = streams(options, problem.periodic) && problem.problems() >= wide.lanes;
  return strips && adjacent(problem, complex) ? across_kernels_of<R>(kernels(), complex) : wide;
}

/// Solves the whole batch with one kernel. `progress_total` counts tasks; 0 reports none.
template <class R>
Status run_batch(CpuDevice& device, const Problem<R>& problem, const Options& options,
                 const Results& results, bool complex, Control& control) {
  const Kernels<R>& chosen = tile_kernels(problem, options, complex);
  WARPLOOM_TRY(device.reserve_scratch(chosen.bytes(options, problem.periodic, problem.n)));
  const int64_t problems = problem.problems();
  const int64_t narrow = kernels_of<R>(kernels(), complex).lanes;
  int64_t lanes = chosen.lanes;
  // Threads share the strips of a batch, so strips are wide only if every thread gets some.
  while (lanes > narrow && problems < 2 * lanes * device.thread_count()) lanes /= 2;
  const int64_t tiles = (problems + lanes - 1) / lanes;
  const int64_t per_task = tiles_per_task(tiles, problem.n * lanes, device.thread_count());
  const int64_t tasks = (tiles + per_task - 1) / per_task;
  const auto task = [&](int64_t index, int worker) {
    const int64_t end = std::min(tiles, (index + 1) * per_task);
    for (int64_t tile = index * per_task; tile < end; ++tile) {
      const int64_t first = tile * lanes;
      chosen.solve(problem, options, results, first,
                   static_cast<int>(std::min(lanes, problems - first)), device.scratch(worker));
    }
    return Status();
  };
  return device.threads().run(tasks, task, control, 0, static_cast<double>(tasks));
}

}  // namespace warploom::cpu
