// The state of one launch of the shim. Plain arrays throughout, because fibers use them from code that TSan does not
// see.
#pragma once
#include <cstdint>

#include "simt/context.h"
#include "simt/fibers.h"

namespace warploom::simt {

inline constexpr int kMaxThreads = 1024;
inline constexpr int kMaxWarps = kMaxThreads / 32;
inline constexpr int kMaxCopies = 512;  ///< asynchronous copies of one thread in flight

struct Team;
struct LaunchState;

enum class ThreadState : uint8_t { running, at_barrier, at_grid, at_message, gone };

enum class Defect {
  none, divergent_block, divergent_warp, divergent_grid, not_cooperative, different_counter, counter_not_zeroed,
  copy_not_awaited, copy_misaligned, too_many_copies
};

struct PendingCopy {
  void* to;
  const void* from;
  int bytes;
  uint64_t group;
  const char* file;
  int line;
};

/// One CUDA thread: a fiber that later blocks reuse.
struct Thread {
  Context context;
  Team* team = nullptr;
  int index = 0;  ///< in its block
  ThreadState state = ThreadState::running;
  const char* file = nullptr;  ///< where it waits
  int line = 0;
  const unsigned int* message = nullptr;  ///< at_message: the message it waits for, and the tag
  unsigned int tag = 0;
  uint64_t open_group = 0;  ///< asynchronous copies: the group not yet committed
  int copies = 0;
  unsigned int slot[2][device::detail::kExchangeWords];
  PendingCopy copy[kMaxCopies];
};

struct Warp {
  uint32_t ready = 0;    ///< lanes that can run, the running one included
  uint32_t waiting = 0;  ///< lanes at the warp operation below
  uint32_t at_message = 0;
  device::detail::WarpOperation operation = device::detail::WarpOperation::barrier;
  const char* file = nullptr;
  int line = 0;
  unsigned int phase = 0;
  char token[2] = {};  ///< TSan: they alternate, so that a thread ahead is not ordered before the slow ones
};

/// One block.
struct Team {
  LaunchState* launch = nullptr;
  int64_t index = 0;
  int count = 0;  ///< threads
  int at_barrier = 0;
  int gone = 0;
  uint32_t ready_warps = 0;
  unsigned int phase = 0;
  const char* file = nullptr;
  int line = 0;
  char token[2] = {};
  unsigned char* shared = nullptr;
  Warp warps[kMaxWarps];
  Thread* threads[kMaxThreads];
};

struct LaunchState {
  const LaunchRequest* request = nullptr;
  Order order = Order::forward;
  uint64_t random_state = 1;
  bool cooperative = false;
  Context main;
  Team* teams = nullptr;
  int resident = 0;  ///< teams that run together
  char start_token = 0, end_token = 0;
  bool posted = false;  ///< a message was posted since the waiting threads were last checked
  int at_grid = 0;
  unsigned int grid_phase = 0;
  unsigned int* grid_counter = nullptr;
  const char* grid_file = nullptr;
  int grid_line = 0;
  char grid_token[2] = {};
  Defect defect = Defect::none;
  Thread* culprit = nullptr;
  const Team* stuck = nullptr;  ///< block with a warp that can never proceed

  /// Uniform enough for scheduling: in 0…bound-1.
  WARPLOOM_SHIM int random(int bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return static_cast<int>((random_state >> 33) % static_cast<uint64_t>(bound));
  }
};

/// Makes every thread of a block ready.
WARPLOOM_SHIM inline void wake(Team& team) {
  const int warps = team.count / 32;
  for (int i = 0; i < warps; ++i) team.warps[i].ready = ~0u;
  for (int i = 0; i < team.count; ++i) team.threads[i]->state = ThreadState::running;
  team.ready_warps = warps == 32 ? ~0u : (1u << warps) - 1u;
}

/// Called by a thread whose work is done; never returns.
void thread_gone(Thread* self);
Thread* first_thread(LaunchState& launch);
/// What the threads of a stuck or defective launch are doing.
std::string describe_defect(const LaunchState& launch);

}  // namespace warploom::simt
