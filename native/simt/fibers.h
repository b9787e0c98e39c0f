// Runs one launch of device code on the calling thread: fibers, barriers, warp exchange, defect reports.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/core/status.h"
#include "simt/device.h"

namespace warploom::simt {

/// The order in which ready threads, warps and blocks run.
enum class Order { forward, reverse, random };

struct Schedule {
  Order order = Order::forward;
  uint64_t seed = 1;
};

/// `forward`, `reverse`, `random` or `random:SEED`; false for anything else.
bool parse_schedule(const std::string& text, Schedule* out);

struct LaunchRequest {
  int64_t blocks = 0;
  int threads = 0;
  size_t shared_bytes = 0;
  bool cooperative = false;
  const std::function<void(const device::Block&)>* body = nullptr;
};

/// One place that waits, as the mutation test sees it.
struct BarrierSite {
  const char* kind = "";  ///< sync, sync_warp, sync_grid, receive or async_wait
  const char* file = "";
  int line = 0;
};

/// Hook for the mutation tests, shared by the whole process: records the wait sites that are reached, and disables one
/// of them. Off unless a test switches it on.
class BarrierMutation {
 public:
  static void record(bool on);                           ///< starts with an empty list, or stops
  static std::vector<BarrierSite> recorded();
  static void disable(const BarrierSite* site);          ///< nullptr: none
  /// True when the call at this place must do nothing.
  static bool skip(const char* kind, const char* file, int line);
  static bool active();
};

class FiberPool;

/// Blocks run one after another; those of a cooperative launch run together. A defect in the device code ends the
/// launch with Code::internal, and the message names block, counts and places. Defects are threads at different
/// barriers, a lane or thread that never arrives, a shared memory overrun, and a copy never waited for.
class Scheduler {
 public:
  Scheduler();
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  void set_schedule(const Schedule& schedule);
  Status run(const LaunchRequest& request);

 private:
  std::unique_ptr<FiberPool> pool_;
  Schedule schedule_;
  uint64_t launches_ = 0;
};

/// A word that reads as NaN in float32 and, twice in a row, in float64; fills unwritten memory of the shim.
inline constexpr uint32_t kUnwritten = 0xfff7a5a5u;
/// Fills memory with kUnwritten.
void fill_unwritten(void* memory, size_t bytes);

}  // namespace warploom::simt
