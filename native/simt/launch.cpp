#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "simt/launch_state.h"

namespace warploom::simt {

namespace {

constexpr size_t kCanaryBytes = 64;
constexpr unsigned char kCanary = 0xc5;
#if defined(WARPLOOM_SIMT_ASAN) || defined(WARPLOOM_SIMT_TSAN)
constexpr size_t kSharedCanary = 0;  // ASan wants the exact size
#else
constexpr size_t kSharedCanary = kCanaryBytes;
#endif
constexpr int64_t kMaxFibers = 32768;
// Reused fibers and barrier tokens are ordered after the block they served before. TSan builds therefore rotate through
// several sets, so that races between blocks that run close together are detected.
#ifdef WARPLOOM_SIMT_TSAN
constexpr int64_t kSets = 2;
#else
constexpr int64_t kSets = 1;
#endif

const char* operation_name(device::detail::WarpOperation operation) {
  static const char* const names[] = {"sync_warp", "shuffle", "shuffle_up", "shuffle_down", "shuffle_xor", "ballot"};
  return names[static_cast<int>(operation)];
}

// Instrumented again; touches no shim data that changes.
__attribute__((noinline)) void run_body(const std::function<void(const device::Block&)>& body,
                                        const device::Block& block) {
  body(block);
}

WARPLOOM_SHIM void thread_main(void* argument) {
  entered();
  Thread* self = static_cast<Thread*>(argument);
  const LaunchRequest& request = *self->team->launch->request;
  race_acquire(&self->team->launch->start_token);
  run_body(*request.body, device::Block(self, self->index, self->team->count, self->team->index, request.blocks,
                                        self->team->shared));
  thread_gone(self);
}

/// What one thread is doing, for reports.
std::string activity(const Thread& thread) {
  const Warp& warp = thread.team->warps[thread.index >> 5];
  char text[512];
  if (thread.state == ThreadState::gone) return "exited";
  if ((warp.waiting >> (thread.index & 31) & 1u) != 0) {
    std::snprintf(text, sizeof text, "wait at %s:%d (%s)", warp.file, warp.line, operation_name(warp.operation));
  } else if (thread.state == ThreadState::at_barrier || thread.state == ThreadState::at_grid) {
    std::snprintf(text, sizeof text, "wait at %s:%d (%s)", thread.file, thread.line,
                  thread.state == ThreadState::at_grid ? "sync_grid" : "sync");
  } else if (thread.state == ThreadState::at_message) {
    std::snprintf(text, sizeof text, "wait at %s:%d (receive)", thread.file, thread.line);
  } else if (thread.file != nullptr) {
    std::snprintf(text, sizeof text, "came from %s:%d", thread.file, thread.line);
  } else {
    return "not yet at any barrier";
  }
  return text;
}

std::string activities(const Team& team) {
  std::vector<std::pair<std::string, int>> groups;
  for (int i = 0; i < team.count; ++i) {
    const std::string what = activity(*team.threads[i]);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == what; });
    if (group == groups.end()) groups.emplace_back(what, 1);
    else ++group->second;
  }
  std::string text;
  for (const auto& group : groups) {
    text += (text.empty() ? "" : ", ") + std::to_string(group.second) + " threads " + group.first;
  }
  return text;
}

const char* defect_text(Defect defect) {
  switch (defect) {
    case Defect::divergent_block: return "threads of the block met at different barriers";
    case Defect::divergent_warp: return "lanes of a warp met at different warp operations";
    case Defect::divergent_grid: return "threads met at different grid barriers";
    case Defect::not_cooperative: return "sync_grid or receive outside a cooperative launch";
    case Defect::different_counter: return "sync_grid with different counters";
    case Defect::counter_not_zeroed: return "the counter of sync_grid was not zero at the launch";
    case Defect::copy_not_awaited: return "a thread exited with asynchronous copies it never waited for";
    case Defect::copy_misaligned: return "asynchronous copy with a misaligned address";
    case Defect::too_many_copies: return "too many asynchronous copies in flight";
    default: return "deadlock: some threads never reach what the others wait for";
  }
}

}  // namespace

std::string describe_defect(const LaunchState& launch) {
  const Team* team = launch.culprit != nullptr ? launch.culprit->team : launch.stuck;
  for (int i = 0; team == nullptr && i < launch.resident; ++i) {
    if (launch.teams[i].gone != launch.teams[i].count) team = &launch.teams[i];
  }
  std::string text = defect_text(launch.defect);
  text += ": block " + std::to_string(team->index) + " of " + std::to_string(launch.request->blocks);
  if (launch.culprit != nullptr) {
    text += ", thread " + std::to_string(launch.culprit->index) + " at " + launch.culprit->file + ":" +
            std::to_string(launch.culprit->line);
  }
  return text + "; " + activities(*team);
}

void fill_unwritten(void* memory, size_t bytes) {
  unsigned char* to = static_cast<unsigned char*>(memory);
  size_t at = 0;
  for (; at + 4 <= bytes; at += 4) std::memcpy(to + at, &kUnwritten, 4);
  for (; at < bytes; ++at) to[at] = 0xff;
}

/// Fibers, blocks and shared memory of a scheduler, kept from launch to launch.
class FiberPool {
 public:
  ~FiberPool() {
    clear();
    release_thread(launch.main);
  }
  /// Drops the fibers of a failed launch, wherever they stopped.
  void abandon() {
    for (Thread* thread : threads_) race_release_as(thread->context, launch.main, &launch.end_token);
    clear();
  }
  void clear() {
    for (Thread* thread : threads_) {
      destroy_context(thread->context);
      delete thread;
    }
    threads_.clear();
  }
  bool reserve(size_t count) {
    while (threads_.size() < count) {
      Thread* thread = new Thread;
      if (!make_context(thread->context)) {
        delete thread;
        return false;
      }
      threads_.push_back(thread);
    }
    return true;
  }
  void resize_teams(int count) {
    if (static_cast<int>(teams_.size()) < count) teams_.resize(static_cast<size_t>(count));
  }
  void prepare(Team& team, int slot, int64_t block, int count, size_t shared_bytes);
  /// Frees the block's shared memory; false when the block wrote past its end.
  bool finish(Team& team, size_t shared_bytes);
  void free_retired() {
    for (void* memory : retired_) std::free(memory);
    retired_.clear();
  }

  void use_set(int first_team) { launch.teams = teams_.data() + first_team; }

  LaunchState launch;

 private:
  std::vector<Thread*> threads_;
  std::vector<Team> teams_;
  std::vector<void*> retired_;
};

WARPLOOM_SHIM void FiberPool::prepare(Team& team, int slot, int64_t block, int count, size_t shared_bytes) {
  unsigned char* shared = nullptr;
  if (posix_memalign(reinterpret_cast<void**>(&shared), 128, shared_bytes + kSharedCanary) != 0) std::abort();
  fill_unwritten(shared, shared_bytes);
  std::memset(shared + shared_bytes, kCanary, kSharedCanary);
  team.launch = &launch;
  team.index = block;
  team.count = count;
  team.at_barrier = team.gone = 0;
  team.shared = shared;
  for (int i = 0; i < count / 32; ++i) team.warps[i].waiting = team.warps[i].at_message = 0;
  const int turn = static_cast<int>(block % count * 7 % count);  // thread t gets a different fiber in each block
  for (int i = 0; i < count; ++i) {
    Thread* thread = threads_[static_cast<size_t>(slot) * static_cast<size_t>(count) +
                              static_cast<size_t>((i + turn) % count)];
    thread->team = &team;
    thread->index = i;
    thread->file = nullptr;
    thread->open_group = 0;
    thread->copies = 0;
    team.threads[i] = thread;
    prepare_context(thread->context, &thread_main, thread);
  }
  wake(team);
}

WARPLOOM_SHIM bool FiberPool::finish(Team& team, size_t shared_bytes) {
  bool intact = true;
  for (size_t i = 0; i < kSharedCanary; ++i) intact = intact && team.shared[shared_bytes + i] == kCanary;
#ifdef WARPLOOM_SIMT_TSAN
  retired_.push_back(team.shared);  // TSan treats freeing as a write: not before the launch has ended
#else
  std::free(team.shared);
#endif
  team.shared = nullptr;
  return intact;
}

namespace {

/// Order of the blocks of a launch: a full cycle that visits each block once.
class BlockOrder {
 public:
  BlockOrder(const Schedule& schedule, int64_t blocks, LaunchState& launch) : order_(schedule.order), blocks_(blocks) {
    if (order_ != Order::random) return;
    const int bound = static_cast<int>(std::min<int64_t>(blocks, 2147483647));
    start_ = launch.random(bound);
    step_ = 1 + launch.random(bound);
    while (divisor(step_, blocks_) != 1) ++step_;
  }
  int64_t at(int64_t turn) const {
    if (order_ == Order::forward) return turn;
    if (order_ == Order::reverse) return blocks_ - 1 - turn;
    return (start_ + turn * step_) % blocks_;
  }

 private:
  static int64_t divisor(int64_t a, int64_t b) { return b == 0 ? a : divisor(b, a % b); }
  Order order_;
  int64_t blocks_, start_ = 0, step_ = 1;
};

// Plain arrays and hand-written comparisons, because fibers run this code and TSan must not see it.
struct SitePlace {
  const char *kind, *file;
  int line;
};
constexpr int kMaxSites = 4096;
SitePlace recorded_sites[kMaxSites];
int recorded_count = 0;
bool recording = false;
const BarrierSite* disabled_site = nullptr;

}  // namespace

static WARPLOOM_SHIM bool same_text(const char* a, const char* b) {
  for (; *a != 0 && *a == *b; ++a, ++b) {
  }
  return *a == *b;
}

void BarrierMutation::record(bool on) {
  recorded_count = 0;
  recording = on;
}
std::vector<BarrierSite> BarrierMutation::recorded() {
  std::vector<BarrierSite> sites;
  for (int i = 0; i < recorded_count; ++i) {
    sites.push_back({recorded_sites[i].kind, recorded_sites[i].file, recorded_sites[i].line});
  }
  return sites;
}
void BarrierMutation::disable(const BarrierSite* site) { disabled_site = site; }
WARPLOOM_SHIM bool BarrierMutation::active() { return recording || disabled_site != nullptr; }
WARPLOOM_SHIM bool BarrierMutation::skip(const char* kind, const char* file, int line) {
  if (recording) {
    int i = 0;
    while (i < recorded_count && !(recorded_sites[i].line == line && same_text(recorded_sites[i].file, file) &&
                                   same_text(recorded_sites[i].kind, kind))) {
      ++i;
    }
    if (i == recorded_count && i < kMaxSites) recorded_sites[recorded_count++] = {kind, file, line};
  }
  return disabled_site != nullptr && disabled_site->line == line && same_text(disabled_site->file, file) &&
         same_text(disabled_site->kind, kind);
}

bool parse_schedule(const std::string& text, Schedule* out) {
  if (text == "forward") {
    *out = {Order::forward, 1};
  } else if (text == "reverse") {
    *out = {Order::reverse, 1};
  } else if (text == "random") {
    *out = {Order::random, 1};
  } else if (text.rfind("random:", 0) == 0) {
    char* end = nullptr;
    const unsigned long long seed = std::strtoull(text.c_str() + 7, &end, 10);
    if (end == text.c_str() + 7 || *end != 0) return false;
    *out = {Order::random, seed};
  } else {
    return false;
  }
  return true;
}

Scheduler::Scheduler() : pool_(new FiberPool) {}
Scheduler::~Scheduler() = default;
void Scheduler::set_schedule(const Schedule& schedule) {
  schedule_ = schedule;
  launches_ = 0;
}

Status Scheduler::run(const LaunchRequest& request) {
  if (request.blocks == 0) return {};
  if (request.threads < 32 || request.threads > kMaxThreads || request.threads % 32 != 0) {
    return {Code::internal, "a block of " + std::to_string(request.threads) + " threads: want 32, 64 … 1024"};
  }
  const int64_t together = request.cooperative ? request.blocks
                           : schedule_.order == Order::random ? std::min<int64_t>(request.blocks, 2) : 1;
  if (request.blocks < 0 || together * request.threads > kMaxFibers) {
    return {Code::internal, "a launch of " + std::to_string(request.blocks) + " blocks is out of range"};
  }
  FiberPool& pool = *pool_;
  LaunchState& launch = pool.launch;
  const int64_t sets = request.cooperative ? 1 : std::min(kSets, (request.blocks + together - 1) / together);
  if (!pool.reserve(static_cast<size_t>(sets * together * request.threads))) {
    return Status::out_of_memory(sets * together * request.threads, 0, 0);
  }
  pool.resize_teams(static_cast<int>(sets * together));
  launch.request = &request;
  launch.order = schedule_.order;
  launch.random_state = (schedule_.seed + ++launches_) * 0x9e3779b97f4a7c15u | 1u;
  launch.cooperative = request.cooperative;
  launch.posted = false;
  launch.at_grid = 0;
  launch.defect = Defect::none;
  launch.culprit = nullptr;
  launch.stuck = nullptr;
  adopt_thread(launch.main);
  const BlockOrder order(schedule_, request.blocks, launch);
  Status status;
  for (int64_t turn = 0; turn < request.blocks && status.ok(); turn += together) {
    launch.resident = static_cast<int>(std::min<int64_t>(together, request.blocks - turn));
    const int first_team = static_cast<int>(turn / together % sets * together);
    pool.use_set(first_team);
    for (int i = 0; i < launch.resident; ++i) {
      // Blocks that use sync_grid keep their place: `anywhere` runs them in the schedule's order.
      const int64_t block = request.cooperative ? i : order.at(turn + i);
      pool.prepare(launch.teams[i], first_team + i, block, request.threads, request.shared_bytes);
    }
    race_release(&launch.start_token);
    switch_context(launch.main, first_thread(launch)->context, false);
    bool finished = launch.defect == Defect::none;
    for (int i = 0; i < launch.resident; ++i) finished = finished && launch.teams[i].gone == request.threads;
    if (!finished) status = {Code::internal, describe_defect(launch)};
    for (int i = 0; i < launch.resident; ++i) {
      const int64_t block = launch.teams[i].index;
      if (!pool.finish(launch.teams[i], request.shared_bytes) && status.ok()) {
        status = {Code::internal, "block " + std::to_string(block) + " wrote past its " +
                                      std::to_string(request.shared_bytes) + " bytes of shared memory"};
      }
    }
    if (!finished) pool.abandon();
  }
  race_acquire(&launch.end_token);
  pool.free_retired();
  return status;
}

}  // namespace warploom::simt
