// Runs a compiled stream program: reads what it is given from a file, and writes what came out to another (lib/stream/run/cpp.ts). Steady
// states run on one thread; or in launches on several, under a plan that comes with the run (lib/stream/plan/launches.ts); or, where the
// program has no state, in pieces of the run, each on channels of the thread that takes it (lib/stream/run/split.ts).
#include "stream.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

/// See lib/kernel/print/arithmetic.h.
extern int wl_nil;
int wl_nil = 0;

namespace {

using Clock = std::chrono::steady_clock;

/// How steady states run.
enum class Way { alone, launches, pieces };
/// Exit codes: what the program was given cannot be read, or its answer not written; there are not enough threads.
constexpr int kBadFile = 2, kNoThreads = 3;

struct Fault {
  int site;
  double value;
};

struct Step {
  int node, count;
};

/// The file of a run: blocks that begin with lines of the cache.
class Input {
 public:
  bool open(const char* path) {
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fseek(file, 0, SEEK_END) != 0) return false;
    bytes_.resize((size_t)ftell(file));
    rewind(file);
    const bool is_read = fread(bytes_.data(), 1, bytes_.size(), file) == bytes_.size();
    fclose(file);
    return is_read;
  }
  template <class T>
  T* take(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (taken_ + bytes > bytes_.size()) exit(kBadFile);
    T* at = reinterpret_cast<T*>(bytes_.data() + taken_);
    taken_ += (bytes + 63) / 64 * 64;
    return at;
  }

 private:
  std::vector<char> bytes_;
  size_t taken_ = 0;
};

/// What a run is told, in the order of the file's first block.
struct Head {
  long long steady_states, lines, turns, seed, init_steps, tail_steps, words, way, most_printed;
  long long unused[7];
};

/// The run.
struct Run {
  const wl_program* program;
  const char* result_path;
  Input input;
  const Head* head;
  /// Items by external stream.
  const long long* items;
  const Step *init, *tail;
  /// What several threads are told.
  const int* words;
  /// Addresses of the streams from their begins on.
  std::vector<void*> streams;
  /// By channel, and for the end: the first of its arrays.
  std::vector<int> arrays_of;
  std::vector<double> printed, line;
  long long lines;
  double nanoseconds;
};

Run run;

/// What a thread runs the program with.
struct Here {
  wl_own own;
  std::vector<void*> streams;
  /// Nodes that have fired.
  std::vector<char> fired;
};

thread_local Here here;

int& index_of(int slot) { return here.own.ix[slot]; }

void enter_thread() {
  const wl_program& p = *run.program;
  here.own = p.own();
  here.streams = run.streams;
  here.own.steps[0] = (double)run.head->turns;
}

/// Ends of channels and streams as they are at the start.
void reset_ends() {
  const wl_program& p = *run.program;
  for (int id = 0; id < p.channels; ++id) {
    index_of(2 * id) = 0;
    index_of(2 * id + 1) = p.initial[id];
  }
  for (int i = 0; i < p.externals; ++i) {
    index_of(2 * (p.channels + i)) = 0;
    index_of(2 * (p.channels + i) + 1) = p.roles[i] == wl_role::reader ? (int)run.items[i] : 0;
  }
  here.fired.assign((size_t)p.nodes, 0);
}

void move_to_front(int channel) {
  const int from = index_of(2 * channel), to = index_of(2 * channel + 1);
  if (from == 0) return;
  for (int i = run.arrays_of[(size_t)channel]; i < run.arrays_of[(size_t)channel + 1]; ++i) {
    const auto [items, _, bytes] = here.own.arrays[i];
    memmove(items, (char*)items + (size_t)from * (size_t)bytes, (size_t)(to - from) * (size_t)bytes);
  }
  index_of(2 * channel) = 0;
  index_of(2 * channel + 1) = to - from;
}

void all_to_fronts() {
  for (int id = 0; id < run.program->channels; ++id) move_to_front(id);
}

void fire(const Step& step) {
  const wl_program& p = *run.program;
  int left = step.count;
  if (!here.fired[(size_t)step.node] && left > 0 && p.first(step.node, here.streams.data())) --left;
  here.fired[(size_t)step.node] = 1;
  if (left > 0) p.fire(step.node, left, here.streams.data());
}

void fire_all(const Step* steps, long long count) {
  for (long long i = 0; i < count && run.lines < run.head->lines; ++i) fire(steps[i]);
}

bool open_run(char** words) {
  const int number = atoi(words[3]);
  if (number < 0 || number >= wl_program_count || !run.input.open(words[1])) return false;
  run.result_path = words[2];
  const wl_program& p = *(run.program = wl_programs[number]);
  run.head = run.input.take<Head>(1);
  run.items = run.input.take<long long>((size_t)p.externals + 1);
  run.init = run.input.take<Step>((size_t)run.head->init_steps);
  run.tail = run.input.take<Step>((size_t)run.head->tail_steps);
  run.words = run.input.take<int>((size_t)run.head->words);
  const wl_array* arrays = p.own().arrays;
  for (int id = 0, at = 0; id <= p.channels; ++id) {
    run.arrays_of.push_back(at);
    while (at < p.arrays && arrays[at].channel == id) ++at;
  }
  for (int node = 0; node < p.nodes; ++node) p.random[node] = (int)((unsigned)run.head->seed + (unsigned)node);
  for (int i = 0; i < p.streams; ++i) {
    const auto& [external, bytes] = p.of_streams[i];
    const size_t size = (size_t)run.items[external] * (size_t)bytes;
    const bool is_given = p.roles[external] == wl_role::input || p.roles[external] == wl_role::reader;
    char* data = is_given ? run.input.take<char>(size) : (char*)calloc(size + 128, 1);
    // Touched, so that the clock does not count how the system finds memory.
    for (size_t at = 0; !is_given && data != nullptr && at < size; at += 4096) ((volatile char*)data)[at] = 0;
    run.streams.push_back(data);
  }
  return true;
}

/// Writes the answer: what was printed, and where all went well what came out.
int finish(const Fault* fault) {
  FILE* file = fopen(run.result_path, "wb");
  if (file == nullptr) return kBadFile;
  const wl_program& p = *run.program;
  const double head[8] = {fault == nullptr ? 0.0 : 1.0, fault == nullptr ? 0.0 : (double)fault->site, fault == nullptr ? 0 : fault->value,
                          run.nanoseconds, (double)run.printed.size(), (double)run.lines, 0, 0};
  fwrite(head, sizeof(double), 8, file);
  fwrite(run.printed.data(), sizeof(double), run.printed.size(), file);
  for (int i = 0; i < p.streams && fault == nullptr; ++i) {
    const auto& [external, bytes] = p.of_streams[i];
    const bool is_made = p.roles[external] == wl_role::output || p.roles[external] == wl_role::writer;
    if (is_made) fwrite(run.streams[(size_t)i], (size_t)bytes, (size_t)run.items[external], file);
  }
  return fclose(file) == 0 ? 0 : kBadFile;
}

void take_time(Clock::time_point begin) {
  run.nanoseconds = (double)std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
}

// One thread.

void run_alone() {
  const wl_program& p = *run.program;
  enter_thread();
  reset_ends();
  const auto begin = Clock::now();
  fire_all(run.init, run.head->init_steps);
  all_to_fronts();
  // Where lines end the run, it may end behind any steady state.
  const int most = run.head->lines < 1LL << 60 ? 1 : p.multiplicity;
  for (long long left = run.head->steady_states; left > 0 && run.lines < run.head->lines;) {
    const int now = (int)std::min<long long>(left, most);
    p.steady(now, here.streams.data());
    left -= now;
  }
  fire_all(run.tail, run.head->tail_steps);
  take_time(begin);
}

// Launches: the threads meet at a barrier between them, and in each take tasks that no other has taken.

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
/// A fault in a launch, and what stands in the program before it comes first.
struct Found {
  long long iteration;
  int group, from;
  Fault fault;
};

bool is_before(const Found& a, const Found& b) {
  return std::tie(a.iteration, a.group, a.from) < std::tie(b.iteration, b.group, b.from);
}

void pause_processor() {
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
  /// One more than the last launch in which some core took it.
  std::vector<std::atomic<long long>> claims_;
  /// By core; iterations from which on nobody need go.
  std::vector<Found> faults_;
  long long stop_;
  std::vector<int> base_;
  std::atomic<int> met_{0}, round_{0};
  std::chrono::microseconds spin_{0};
  std::mutex gate_;
  std::condition_variable bell_;
};

Launches::Launches() {
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

void Launches::meet() {
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
  // Going to sleep and waking up takes about as long.
  for (const auto until = Clock::now() + spin_; Clock::now() < until;) {
    for (int i = 0; i < 50; ++i) {
      if (round_.load(std::memory_order_acquire) != round) return;
      pause_processor();
    }
  }
  std::unique_lock<std::mutex> lock(gate_);
  bell_.wait(lock, [this, round] { return round_.load() != round; });
}

/// Sets the ends of a group for iterations of it from `from` on, in an iteration of the run.
void Launches::place(int id, long long iteration, int from, int core) {
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

/// Items behind the last turn of a ring stand at its front as well.
void Launches::mirror(int id, long long iteration, int from, int count) {
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
      memcpy(items + (size_t)(begin - length) * (size_t)bytes, items + (size_t)begin * (size_t)bytes, (size_t)(end - begin) * (size_t)bytes);
    }
  }
}

/// After a fault the task goes on with iterations before it. Other tasks run on as a whole: which core does them must not matter.
void Launches::run_task(int core, int id, long long number) {
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

void Launches::work(int core) {
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

/// What is left of whole steady states; then ends of channels are where single firings expect them.
void Launches::run_rest() {
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

void Launches::run_all() {
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
  const auto begin = Clock::now();
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
    // The other threads may still wait.
    _Exit(finish(&fault));
  }
  take_time(begin);
  for (auto& each : threads) each.join();
}

// Pieces.

struct Piece {
  /// Where its input and output begin, in items; items that come out before those of the piece, and steady states until all of them are out.
  int input, output, dropped, warm_up, states, tail_steps;
  const Step* tail;
};

class Pieces {
 public:
  Pieces();
  void run_all();

 private:
  void begin_streams(const Piece& piece);
  void warm_up(const Piece& piece);
  void settle_down(const Piece& piece);
  void run_piece(const Piece& piece);
  void work();

  int threads_;
  std::vector<Piece> pieces_;
  std::atomic<int> next_{0};
  /// By piece; site -1: none.
  std::vector<Fault> faults_;
};

Pieces::Pieces() {
  threads_ = run.words[0];
  const int count = run.words[1];
  const int* at = run.words + 2;
  for (int number = 0; number < count; ++number, at += 6 + 2 * at[5]) {
    pieces_.push_back({at[0], at[1], at[2], at[3], at[4], at[5], (const Step*)(at + 6)});
  }
  faults_.resize((size_t)count, Fault{-1, 0});
}

/// The streams of this thread, from the begin of the piece's part on.
void Pieces::begin_streams(const Piece& piece) {
  const wl_program& p = *run.program;
  for (int i = 0; i < p.streams; ++i) {
    const auto& [external, bytes] = p.of_streams[i];
    const int from = p.roles[external] == wl_role::input ? piece.input : piece.output;
    here.streams[(size_t)i] = (char*)run.streams[(size_t)i] + (size_t)from * (size_t)bytes;
  }
}

/// What comes out first and is not wanted.
thread_local std::vector<std::vector<double>> dropped;

/// Has output go elsewhere while items come that are not wanted.
void Pieces::warm_up(const Piece& piece) {
  const wl_program& p = *run.program;
  dropped.resize((size_t)p.streams);
  for (int i = 0; i < p.streams; ++i) {
    const auto& [external, bytes] = p.of_streams[i];
    if (p.roles[external] != wl_role::output) continue;
    auto& items = dropped[(size_t)i];
    items.resize(2 * (size_t)piece.dropped * (size_t)bytes / sizeof(double) + 1);
    here.streams[(size_t)i] = items.data();
  }
}

/// Ends that: what came behind them is the piece's own.
void Pieces::settle_down(const Piece& piece) {
  const wl_program& p = *run.program;
  for (int i = 0; i < p.streams; ++i) {
    const auto& [external, bytes] = p.of_streams[i];
    if (p.roles[external] != wl_role::output) continue;
    const char* items = (const char*)dropped[(size_t)i].data();
    const size_t from = (size_t)piece.dropped * (size_t)bytes;
    const size_t to = (size_t)index_of(2 * (p.channels + external) + 1) * (size_t)bytes;
    char* output = (char*)run.streams[(size_t)i] + (ptrdiff_t)(piece.output - piece.dropped) * bytes;
    if (to > from) memcpy(output + from, items + from, to - from);
    here.streams[(size_t)i] = output;
  }
}

void Pieces::run_piece(const Piece& piece) {
  const wl_program& p = *run.program;
  const auto states = [&p](int count) {
    for (int left = count; left > 0; left -= p.multiplicity) p.steady(std::min(left, p.multiplicity), here.streams.data());
  };
  reset_ends();
  here.own.steps[0] = (double)run.head->turns;
  begin_streams(piece);
  if (piece.warm_up > 0) warm_up(piece);
  fire_all(run.init, run.head->init_steps);
  all_to_fronts();
  states(piece.warm_up);
  if (piece.warm_up > 0) settle_down(piece);
  states(piece.states - piece.warm_up);
  fire_all(piece.tail, piece.tail_steps);
}

/// Takes pieces in order: when one goes wrong those before it are taken, and those after it no longer matter.
void Pieces::work() {
  const int count = (int)pieces_.size();
  for (int number; (number = next_++) < count;) {
    try {
      run_piece(pieces_[(size_t)number]);
    } catch (const Fault& fault) {
      faults_[(size_t)number] = fault;
      next_ = count;
    }
  }
}

void Pieces::run_all() {
  std::atomic<int> ready{0};
  const int others = threads_ - 1;
  std::vector<std::thread> threads;
  try {
    for (int number = 0; number < others; ++number) {
      threads.emplace_back([this, others, &ready] {
        enter_thread();
        for (++ready; ready <= others;) std::this_thread::yield();
        work();
      });
    }
  } catch (const std::system_error&) {
    _Exit(kNoThreads);
  }
  enter_thread();
  while (ready < others) std::this_thread::yield();
  const auto begin = Clock::now();
  ++ready;
  work();
  for (auto& each : threads) each.join();
  take_time(begin);
  for (const auto& fault : faults_) {
    if (fault.site >= 0) throw fault;
  }
}

}  // namespace

void wl_trap(int site, double value) { throw Fault{site, value}; }

void put(double value) { run.line.push_back(value); }

void print(int site) {
  if ((long long)run.printed.size() > run.head->most_printed) wl_trap(site, 0);
  run.printed.push_back(site);
  run.printed.push_back((double)run.line.size());
  run.printed.insert(run.printed.end(), run.line.begin(), run.line.end());
  run.line.clear();
  run.lines += run.program->lines[site];
}

void room(int channel, int items, int capacity) {
  if (index_of(2 * channel + 1) + items <= capacity) return;
  move_to_front(channel);
  if (index_of(2 * channel + 1) + items > capacity) wl_trap(-1, channel);
}

int main(int count, char** words) {
  if (count != 4 || !open_run(words)) return kBadFile;
  try {
    switch ((Way)run.head->way) {
      case Way::alone: run_alone(); break;
      case Way::launches: Launches().run_all(); break;
      case Way::pieces: Pieces().run_all(); break;
    }
  } catch (const Fault& fault) {
    return finish(&fault);
  }
  return finish(nullptr);
}
