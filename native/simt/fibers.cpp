#include "simt/fibers.h"

#include <cstdio>
#include <cstdlib>

#include "simt/launch_state.h"

namespace warploom::simt {

using device::detail::WarpOperation;

namespace {

// std::memcpy would go through TSan's interceptor, which sees the shim's own accesses.
WARPLOOM_SHIM void copy_words(unsigned int* to, const unsigned int* from, int count) {
  for (int i = 0; i < count; ++i) static_cast<volatile unsigned int*>(to)[i] = from[i];
}

WARPLOOM_SHIM int pick(LaunchState& launch, uint32_t mask) {
  switch (launch.order) {
    case Order::forward: return __builtin_ctz(mask);
    case Order::reverse: return 31 - __builtin_clz(mask);
    default: break;
  }
  for (int skip = launch.random(__builtin_popcount(mask)); skip > 0; --skip) mask &= mask - 1;
  return __builtin_ctz(mask);
}

WARPLOOM_SHIM Thread* first_of(Team& team, int warp) {
  return team.threads[warp * 32 + pick(*team.launch, team.warps[warp].ready)];
}

/// Wakes every thread whose message has arrived.
WARPLOOM_SHIM void deliver(LaunchState& launch) {
  launch.posted = false;
  for (int i = 0; i < launch.resident; ++i) {
    Team& team = launch.teams[i];
    for (int w = 0; w < team.count / 32; ++w) {
      Warp& warp = team.warps[w];
      for (uint32_t mask = warp.at_message; mask != 0; mask &= mask - 1) {
        Thread* thread = team.threads[w * 32 + __builtin_ctz(mask)];
        if (thread->message[3] != thread->tag) continue;
        thread->state = ThreadState::running;
        warp.at_message &= ~(1u << (thread->index & 31));
        warp.ready |= 1u << (thread->index & 31);
        team.ready_warps |= 1u << w;
      }
    }
  }
}

/// A runnable thread in any block; null when there is none.
WARPLOOM_SHIM Thread* anywhere(LaunchState& launch) {
  const int count = launch.resident;
  const int begin = launch.order == Order::random ? launch.random(count) : 0;
  for (int i = 0; i < count; ++i) {
    int at = begin + i < count ? begin + i : begin + i - count;
    if (launch.order == Order::reverse) at = count - 1 - at;
    Team& team = launch.teams[at];
    if (team.ready_warps != 0) return first_of(team, pick(launch, team.ready_warps));
  }
  if (!launch.posted) return nullptr;
  deliver(launch);
  return anywhere(launch);
}

/// The next thread to run after one that waits or has exited; null returns control to the launch.
WARPLOOM_SHIM Thread* next(Thread* self) {
  Team& team = *self->team;
  Warp& warp = team.warps[self->index >> 5];
  if (warp.ready != 0) return first_of(team, self->index >> 5);
  team.ready_warps &= ~(1u << (self->index >> 5));
  if (warp.waiting != 0 && warp.at_message == 0) {  // the warp can never complete the operation its lanes wait for
    team.launch->stuck = &team;
    return nullptr;
  }
  if (team.ready_warps != 0) return first_of(team, pick(*team.launch, team.ready_warps));
  return anywhere(*team.launch);
}

WARPLOOM_SHIM void go(Thread* self, Thread* to, bool done = false) {
  if (to == self) return;
  Context& target = to != nullptr ? to->context : self->team->launch->main;
  switch_context(self->context, target, done);
}

WARPLOOM_SHIM bool same_place(const char* file, int line, const char* other_file, int other_line) {
  if (line != other_line) return false;
  if (file == other_file) return true;
  for (; *file != 0 && *file == *other_file; ++file, ++other_file) {
  }
  return *file == *other_file;
}

/// Ends the launch: the calling fiber never runs again.
WARPLOOM_SHIM void fail(Thread* self, Defect defect, const char* file, int line) {
  LaunchState& launch = *self->team->launch;
  launch.defect = defect;
  launch.culprit = self;
  self->file = file;
  self->line = line;
  switch_context(self->context, launch.main, false);
  std::abort();
}

/// Waits until all lanes of the warp have arrived; returns the phase that was completed.
WARPLOOM_SHIM unsigned int meet_warp(Thread* self, WarpOperation operation, const char* file, int line) {
  Warp& warp = self->team->warps[self->index >> 5];
  if (warp.waiting == 0) {
    warp.operation = operation;
    warp.file = file;
    warp.line = line;
  } else if (warp.operation != operation || !same_place(file, line, warp.file, warp.line)) {
    fail(self, Defect::divergent_warp, file, line);
  }
  const unsigned int phase = warp.phase;
  const uint32_t bit = 1u << (self->index & 31);
  warp.waiting |= bit;
  warp.ready &= ~bit;
  self->file = file;
  self->line = line;
  if (warp.waiting == ~0u) {
    warp.waiting = 0;
    warp.ready = ~0u;
    ++warp.phase;
    go(self, first_of(*self->team, self->index >> 5));
  } else {
    go(self, next(self));
  }
  return phase;
}

}  // namespace

WARPLOOM_SHIM void thread_gone(Thread* self) {
  Team& team = *self->team;
  if (self->copies != 0) fail(self, Defect::copy_not_awaited, self->copy[0].file, self->copy[0].line);
  race_release(&team.launch->end_token);
  team.warps[self->index >> 5].ready &= ~(1u << (self->index & 31));
  self->state = ThreadState::gone;
  ++team.gone;
  go(self, next(self), true);
  std::abort();
}

WARPLOOM_SHIM Thread* first_thread(LaunchState& launch) { return anywhere(launch); }

namespace device::detail {

WARPLOOM_SHIM void block_barrier(Thread* self, const char* file, int line) {
  if (BarrierMutation::active() && BarrierMutation::skip("sync", file, line)) return;
  Team& team = *self->team;
  LaunchState& launch = *team.launch;
  if (team.at_barrier == 0) {
    team.file = file;
    team.line = line;
  } else if (!same_place(file, line, team.file, team.line)) {
    fail(self, Defect::divergent_block, file, line);
  }
  char* token = &team.token[team.phase & 1];
  race_release(token);
  self->state = ThreadState::at_barrier;
  self->file = file;
  self->line = line;
  team.warps[self->index >> 5].ready &= ~(1u << (self->index & 31));
  if (++team.at_barrier == team.count) {
    team.at_barrier = 0;
    ++team.phase;
    wake(team);
    go(self, launch.order == Order::random ? anywhere(launch) : first_of(team, pick(launch, team.ready_warps)));
  } else {
    go(self, next(self));
  }
  race_acquire(token);
}

WARPLOOM_SHIM void warp_barrier(Thread* self, const char* file, int line) {
  if (BarrierMutation::active() && BarrierMutation::skip("sync_warp", file, line)) return;
  Warp& warp = self->team->warps[self->index >> 5];
  race_release(&warp.token[warp.phase & 1]);
  const unsigned int phase = meet_warp(self, WarpOperation::barrier, file, line);
  race_acquire(&warp.token[phase & 1]);
}

WARPLOOM_SHIM void grid_barrier(Thread* self, unsigned int* counter, const char* file, int line) {
  if (BarrierMutation::active() && BarrierMutation::skip("sync_grid", file, line)) return;
  LaunchState& launch = *self->team->launch;
  if (!launch.cooperative) fail(self, Defect::not_cooperative, file, line);
  if (launch.at_grid == 0) {
    launch.grid_counter = counter;
    launch.grid_file = file;
    launch.grid_line = line;
  } else if (!same_place(file, line, launch.grid_file, launch.grid_line)) {
    fail(self, Defect::divergent_grid, file, line);
  } else if (launch.grid_counter != counter) {
    fail(self, Defect::different_counter, file, line);
  }
  char* token = &launch.grid_token[launch.grid_phase & 1];
  race_release(token);
  self->state = ThreadState::at_grid;
  self->file = file;
  self->line = line;
  self->team->warps[self->index >> 5].ready &= ~(1u << (self->index & 31));
  if (++launch.at_grid == launch.resident * self->team->count) {
    if (*counter % static_cast<unsigned int>(launch.resident) != 0) fail(self, Defect::counter_not_zeroed, file, line);
    *counter += static_cast<unsigned int>(launch.resident);  // as the blocks' tickets do on the device
    launch.at_grid = 0;
    ++launch.grid_phase;
    for (int i = 0; i < launch.resident; ++i) wake(launch.teams[i]);
    go(self, anywhere(launch));
  } else {
    go(self, next(self));
  }
  race_acquire(token);
}

WARPLOOM_SHIM void exchange(Thread* self, WarpOperation operation, const unsigned int* words, int count, int source,
                            unsigned int* result, const char* file, int line) {
  Team& team = *self->team;
  const int warp = self->index >> 5;
  // Two slots, alternating by phase: a lane that is ahead must not overwrite what a slower lane has yet to read.
  copy_words(self->slot[team.warps[warp].phase & 1], words, count);
  const unsigned int phase = meet_warp(self, operation, file, line);
  copy_words(result, team.threads[warp * 32 + source]->slot[phase & 1], count);
}

WARPLOOM_SHIM unsigned int ballot(Thread* self, bool predicate, const char* file, int line) {
  Team& team = *self->team;
  const int warp = self->index >> 5;
  self->slot[team.warps[warp].phase & 1][0] = predicate ? 1u : 0u;
  const unsigned int phase = meet_warp(self, WarpOperation::ballot, file, line);
  unsigned int result = 0;
  for (int lane = 0; lane < 32; ++lane) {
    result |= team.threads[warp * 32 + lane]->slot[phase & 1][0] << lane;
  }
  return result;
}

WARPLOOM_SHIM void fence() {
  static char token;
  race_acquire(&token);
  race_release(&token);
}

WARPLOOM_SHIM void post(Thread* self, unsigned int* to, const unsigned int* words) {
  copy_words(to, words, 4);
  self->team->launch->posted = true;
}

WARPLOOM_SHIM void receive(Thread* self, const unsigned int* from, unsigned int tag, unsigned int* words,
                           const char* file, int line) {
  LaunchState& launch = *self->team->launch;
  if (!launch.cooperative) fail(self, Defect::not_cooperative, file, line);
  const bool skip = BarrierMutation::active() && BarrierMutation::skip("receive", file, line);
  if (!skip && from[3] != tag) {
    Warp& warp = self->team->warps[self->index >> 5];
    const uint32_t bit = 1u << (self->index & 31);
    self->state = ThreadState::at_message;
    self->message = from;
    self->tag = tag;
    self->file = file;
    self->line = line;
    warp.at_message |= bit;
    warp.ready &= ~bit;
    go(self, next(self));
  }
  copy_words(words, from, 4);
}

WARPLOOM_SHIM void async_copy(Thread* self, void* shared, const void* global, int bytes, const char* file,
                              int line) {
  const uintptr_t unaligned = reinterpret_cast<uintptr_t>(shared) | reinterpret_cast<uintptr_t>(global);
  if ((unaligned & static_cast<uintptr_t>(bytes - 1)) != 0) fail(self, Defect::copy_misaligned, file, line);
  if (self->copies == kMaxCopies) fail(self, Defect::too_many_copies, file, line);
  PendingCopy& copy = self->copy[self->copies++];
  copy = {shared, global, bytes, self->open_group, file, line};
  race_write(shared, static_cast<size_t>(bytes));
  race_read(global, static_cast<size_t>(bytes));
  for (int i = 0; i < bytes / 4; ++i) static_cast<volatile unsigned int*>(shared)[i] = kUnwritten;
}

WARPLOOM_SHIM void async_commit(Thread* self) { ++self->open_group; }

WARPLOOM_SHIM void async_wait(Thread* self, int pending, const char* file, int line) {
  if (BarrierMutation::active() && BarrierMutation::skip("async_wait", file, line)) return;
  int kept = 0;
  for (int i = 0; i < self->copies; ++i) {
    PendingCopy& copy = self->copy[i];
    if (static_cast<int64_t>(copy.group) >= static_cast<int64_t>(self->open_group) - pending) {
      if (kept != i) self->copy[kept] = copy;
      ++kept;
      continue;
    }
    race_read(copy.from, static_cast<size_t>(copy.bytes));
    race_write(copy.to, static_cast<size_t>(copy.bytes));
    copy_words(static_cast<unsigned int*>(copy.to), static_cast<const unsigned int*>(copy.from), copy.bytes / 4);
  }
  self->copies = kept;
}

}  // namespace device::detail
}  // namespace warploom::simt
