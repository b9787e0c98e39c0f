// Spreads a batch over the device's threads, tile by tile, and summarises its status words.
#pragma once
#include <algorithm>
#include <chrono>
#include <limits>

#include "cuda/linear/outcomes.h"
#include "native/cpu/device.h"

namespace warploom::cpu {

/// Largest memory of a tile: beyond it, systems no longer share one.
inline constexpr int64_t kMaxTileBytes = int64_t{256} << 20;
/// Rows between two polls for cancellation, per thread. That is many tiles, because nothing was prefetched for the
/// first tile of a task.
inline constexpr int64_t kTaskRows = int64_t{1} << 18;
/// Tasks per thread, if there are enough tiles.
inline constexpr int64_t kTasksPerThread = 8;

/// Tiles of a task.
inline int64_t tiles_per_task(int64_t tiles, int64_t tile_rows, int threads) {
  const int64_t fair = tiles / (kTasksPerThread * threads), most = kTaskRows / std::max<int64_t>(tile_rows, 1);
  return std::max<int64_t>(1, std::min(fair, most));
}

/// Calls body(first, count, scratch) for every tile of `count` systems or problems; `scratch` has room for `arrays`
/// arrays of n tile rows. `tiles` says how many systems a tile holds (lanes) and how large one of its rows is
/// (element_bytes).
template <class Tiles, class Body>
Status run_tiles(CpuDevice& device, const Tiles& tiles, int64_t n, int64_t count, int64_t arrays,
                 Control& control, const Body& body) {
  WARPLOOM_TRY(device.reserve_scratch(n * arrays * tiles.element_bytes));
  const int64_t lanes = tiles.lanes, total = (count + lanes - 1) / lanes;
  const int64_t per_task = tiles_per_task(total, n * lanes, device.thread_count());
  const int64_t tasks = (total + per_task - 1) / per_task;
  const auto task = [&](int64_t index, int worker) {
    const int64_t end = std::min(total, (index + 1) * per_task);
    for (int64_t tile = index * per_task; tile < end; ++tile) {
      const int64_t first = tile * lanes;
      body(first, static_cast<int>(std::min(lanes, count - first)), device.scratch(worker));
    }
    return Status();
  };
  return device.threads().run(tasks, task, control, 0, static_cast<double>(tasks));
}

/// Results of systems without rows; there may be too many of them to loop over.
template <class T>
void fill(const Array<T>& results, T value) {
  if (results.data != nullptr) std::fill_n(results.data, results.length, value);
}

/// Fills a call's summary, if it has one, from its status words. For a slice, whose words start at `before`, adds to
/// the summary.
template <class Parameters>
void summarise(const Parameters& p, int64_t before = 0) {
  linear::Summary* const summary = linear::summary_of(p);
  if (summary == nullptr) return;
  if (before == 0) *summary = {0, 0, 0, 0, -1, 0, -1};
  for (int64_t i = 0; i < p.status.length; ++i) {
    const int32_t word = p.status.data[i];
    if (word == 0) continue;
    if ((word & linear::kResolvedByPivoting) != 0) summary->resolved += 1;
    switch (static_cast<linear::SystemStatus>(word & 0xff)) {
      case linear::SystemStatus::ok: continue;
      case linear::SystemStatus::zero_pivot: summary->zero_pivots += 1; break;
      case linear::SystemStatus::non_finite: summary->non_finites += 1; break;
      case linear::SystemStatus::inaccurate: summary->inaccurates += 1; break;
    }
    if (summary->first_failed >= 0) continue;
    summary->first_failed = static_cast<double>(before + i);
    summary->first_word = word;
    summary->first_row = p.row.data[i];
  }
}

inline bool is_single(ScalarType type) {
  return type == ScalarType::float32 || type == ScalarType::complex64;
}

/// Largest accepted backward error of `check`.
inline double tolerance_of(ScalarType type, double asked) {
  const double epsilon = is_single(type) ? std::numeric_limits<float>::epsilon()
                                         : std::numeric_limits<double>::epsilon();
  return asked > 0 ? asked : 64 * epsilon;
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
