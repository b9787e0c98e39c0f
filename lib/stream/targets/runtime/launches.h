// Runs steady states in launches on several threads. The plan comes with the run (lib/stream/plan/launches.ts): threads meet at a barrier
// between launches, and within a launch take tasks that no other thread has taken.
#pragma once
#include <atomic>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "run.h"

namespace wl_runtime {

/// Kinds of ends: see plan/launches.ts.
enum EndKind { kRead, kWrite, kStream, kFile, kOwn };

struct Ring {
  int items, slots, residual;
};
struct End {
  int kind, slot, each, id;
};
struct Slice {
  int group, from, count;
};
struct GroupPlan {
  int stage, iterations, count;
  const End* ends;
};
/// A fault in a launch. Of several faults, the one that is earliest in program order counts.
struct Found {
  long long iteration;
  int group, from;
  Fault fault;
};

inline bool is_before(const Found& a, const Found& b) {
  return std::tie(a.iteration, a.group, a.from) < std::tie(b.iteration, b.group, b.from);
}

inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class Launches {
 public:
  Launches();
  void run_all();

 private:
  void meet();
  void place(int id, long long iteration, int from, int core);
  void mirror(int id, long long iteration, int from, int count);
  void run_task(int core, int id, long long number);
  void work(int core);
  void run_rest();
  void group(int id, int n) { run.program->group(id, n, here.streams.data()); }

  int threads_, last_stage_, chunk_;
  long long multiplier_, iterations_;
  const Ring* rings_;
  std::vector<GroupPlan> groups_;
  std::vector<std::pair<int, const Slice*>> tasks_;
  std::vector<std::pair<int, const int*>> orders_;
  /// One more than the number of the last launch in which a core took the task.
  std::vector<std::atomic<long long>> claims_;
  /// `faults_`: by core; `stop_`: the iteration from which on nothing needs to run.
  std::vector<Found> faults_;
  long long stop_;
  std::vector<int> base_;
  std::atomic<int> met_{0}, round_{0};
  std::chrono::microseconds spin_{0};
  std::mutex gate_;
  std::condition_variable bell_;
};

inline Launches::Launches() {
  const wl_program& p = *run.program;
  const int* at = run.words;
  threads_ = *at++;
  multiplier_ = *at++;
  last_stage_ = *at++;
  chunk_ = *at++;
  rings_ = (const Ring*)at;
  at += 3 * p.channels;
  for (int id = 0; id < p.groups; ++id) {
    groups_.push_back({at[0], at[1], at[2], (const End*)(at + 3)});
    at += 3 + 4 * at[2];
  }
  const int tasks = *at++;
  for (int id = 0; id < tasks; ++id, at += 1 + 3 * at[0]) tasks_.push_back({at[0], (const Slice*)(at + 1)});
  for (int core = 0; core < threads_; ++core, at += 1 + at[0]) orders_.push_back({at[0], at + 1});
  claims_ = std::vector<std::atomic<long long>>((size_t)tasks);
  if (threads_ <= (int)std::thread::hardware_concurrency()) spin_ = std::chrono::microseconds(300);
  stop_ = iterations_ = run.head->steady_states / multiplier_;
  faults_.resize((size_t)threads_, Found{std::numeric_limits<long long>::max(), 0, 0, {0, 0}});
}

inline void Launches::meet() {
  const int round = round_.load();
  if (met_.fetch_add(1) == threads_ - 1) {
    stop_ = iterations_;
    for (const auto& each : faults_) stop_ = std::min(stop_, each.iteration);
    met_ = 0;
    {
      std::lock_guard<std::mutex> lock(gate_);
      round_ = round + 1;
    }
    bell_.notify_all();
    return;
  }
  // Spin for about as long as going to sleep and waking up would take.
  for (const auto until = Clock::now() + spin_; Clock::now() < until;) {
    for (int i = 0; i < 50; ++i) {
      if (round_.load(std::memory_order_acquire) != round) return;
      pause_processor();
    }
  }
  std::unique_lock<std::mutex> lock(gate_);
  bell_.wait(lock, [this, round] { return round_.load() != round; });
}

/// Sets the ends of a group for its iterations starting at `from`, within one iteration of the run.
inline void Launches::place(int id, long long iteration, int from, int core) {
  const GroupPlan& g = groups_[(size_t)id];
  for (int i = 0; i < g.count; ++i) {
    const End& e = g.ends[i];
    if (e.kind == kOwn) {
      index_of(e.slot) = core * rings_[e.id].items;
    } else if (e.kind == kRead || e.kind == kWrite) {
      const Ring& r = rings_[e.id];
      index_of(e.slot) = (int)(iteration % r.slots) * r.items + from * e.each + (e.kind == kWrite ? r.residual : 0);
    } else {
      const long long at = base_[(size_t)e.slot] + (iteration * multiplier_ * g.iterations + from) * e.each;
      index_of(e.slot) = (int)(e.kind == kStream || at == 0 ? at : (at - 1) % base_[(size_t)e.slot + 1] + 1);
    }
  }
}

/// Items past the last slot of a ring are also stored at its front.
inline void Launches::mirror(int id, long long iteration, int from, int count) {
  const GroupPlan& g = groups_[(size_t)id];
  for (int i = 0; i < g.count; ++i) {
    const End& e = g.ends[i];
    if (e.kind != kWrite || rings_[e.id].residual == 0) continue;
    const Ring& r = rings_[e.id];
    const int length = r.items * r.slots, at = (int)(iteration % r.slots) * r.items + from * e.each + r.residual;
    const int begin = std::max(at, length), end = at + count * e.each;
    if (end <= begin) continue;
    for (int k = run.arrays_of[(size_t)e.id]; k < run.arrays_of[(size_t)e.id + 1]; ++k) {
      const auto [data, _, bytes] = here.own.arrays[k];
      char* items = (char*)data;
      const size_t size = (size_t)bytes;
      memcpy(items + (size_t)(begin - length) * size, items + (size_t)begin * size, (size_t)(end - begin) * size);
    }
  }
}

/// After a fault, the task continues with earlier iterations only. Other tasks run to their end: the result must not depend on which core
/// runs them.
inline void Launches::run_task(int core, int id, long long number) {
  long long end = stop_;
  const auto& [count, slices] = tasks_[(size_t)id];
  for (int i = 0; i < count; ++i) {
    const Slice& slice = slices[i];
    const long long iteration = number - groups_[(size_t)slice.group].stage;
    if (iteration < 0 || iteration >= end) continue;
    place(slice.group, iteration, slice.from, core);
    try {
      group(slice.group, slice.count);
    } catch (const Fault& fault) {
      const Found found = {iteration, slice.group, slice.from, fault};
      if (is_before(found, faults_[(size_t)core])) faults_[(size_t)core] = found;
      end = iteration;
      continue;
    }
    mirror(slice.group, iteration, slice.from, slice.count);
  }
}

inline void Launches::work(int core) {
  std::copy(base_.begin(), base_.end(), here.own.ix);
  here.own.steps[0] = (double)run.head->turns;
  for (long long number = 0; number < stop_ + last_stage_; ++number) {
    const auto& [count, tasks] = orders_[(size_t)core];
    for (int i = 0; i < count; ++i) {
      auto& claim = claims_[(size_t)tasks[i]];
      if (claim.load(std::memory_order_relaxed) > number || claim.exchange(number + 1) > number) continue;
      run_task(core, tasks[i], number);
    }
    meet();
  }
}

/// Runs the remaining whole steady states, then moves the ends of channels to where single firings expect them.
inline void Launches::run_rest() {
  const wl_program& p = *run.program;
  const int states = (int)(run.head->steady_states - iterations_ * multiplier_);
  int done = 0;
  do {
    const int now = std::min(states - done, chunk_);
    for (int id = 0; id < p.groups; ++id) {
      place(id, iterations_, done * p.iterations[id], 0);
      if (now > 0) group(id, now * p.iterations[id]);
    }
    done += now;
  } while (done < states);
  for (int id = 0; id < p.channels; ++id) {
    const Ring& r = rings_[id];
    index_of(2 * id) = index_of(2 * id + 1) = 0;
    if (r.slots == 0) continue;
    index_of(2 * id) = (int)(iterations_ % r.slots) * r.items + states * (int)(r.items / multiplier_);
    index_of(2 * id + 1) = index_of(2 * id) + r.residual;
  }
}

inline void Launches::run_all() {
  std::vector<std::thread> threads;
  try {
    for (int core = 1; core < threads_; ++core) {
      threads.emplace_back([this, core] {
        enter_thread();
        meet();
        meet();
        work(core);
      });
    }
  } catch (const std::system_error&) {
    _Exit(kNoThreads);
  }
  enter_thread();
  reset_ends();
  meet();
  const Moment begin = this_moment();
  try {
    fire_all(run.init, run.head->init_steps);
    all_to_fronts();
    base_.assign(here.own.ix, here.own.ix + 2 * (run.program->channels + run.program->externals));
    meet();
    work(0);
    const Found first = *std::min_element(faults_.begin(), faults_.end(), is_before);
    if (first.iteration < iterations_) throw first.fault;
    run_rest();
    fire_all(run.tail, run.head->tail_steps);
  } catch (const Fault& fault) {
    // Other threads may still be waiting.
    _Exit(finish(&fault));
  }
  take_time(begin);
  for (auto& each : threads) each.join();
}

}  // namespace wl_runtime
