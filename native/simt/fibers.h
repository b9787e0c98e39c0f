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

/// In which order ready threads, warps and blocks get their turn.
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

/// Mutation seam of the test programs, for the whole process: notes the sites that are reached, and turns one
/// of them into nothing. Off unless a test switches it on.
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

/// Blocks run one after another, those of a cooperative launch together. A defect of the device code (threads at
/// different barriers, a lane or thread that never comes, shared memory overrun, a copy never waited for) ends the
/// launch with Code::internal, which says block, counts and places.
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

/// Word that reads as NaN in float32 and, twice in a row, in float64: unwritten memory of the shim.
inline constexpr uint32_t kUnwritten = 0xfff7a5a5u;
/// Fills memory with kUnwritten.
void fill_unwritten(void* memory, size_t bytes);

}  // namespace warploom::simt
