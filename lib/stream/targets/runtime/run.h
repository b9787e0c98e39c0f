// A run of a stream program: the file with its input, its streams, single firings, and the file with its result.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

#include "stream.h"

namespace wl_runtime {

using Clock = std::chrono::steady_clock;

/// How steady states run. `session`: as requests say (session.h).
enum class Way { alone, launches, pieces, session };
/// Exit codes: the input cannot be read, or the result cannot be written; threads cannot be started.
constexpr int kBadFile = 2, kNoThreads = 3;

struct Fault {
  int site;
  double value;
};

struct Step {
  int node, count;
};

/// The file of a run, as blocks aligned to cache lines.
class Input {
 public:
  bool open(const char* path) {
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fseek(file, 0, SEEK_END) != 0) return false;
    const size_t size = (size_t)ftell(file);
    rewind(file);
    const bool is_read = read(file, size);
    fclose(file);
    return is_read;
  }
  /// Reads so many bytes.
  bool read(FILE* file, size_t size) {
    bytes_.resize(size);
    return fread(bytes_.data(), 1, size, file) == size;
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

/// Parameters of a run, in the order of the file's first block.
struct Head {
  long long steady_states, lines, turns, seed, init_steps, tail_steps, words, way, most_printed;
  long long unused[7];
};

struct Run {
  const wl_program* program;
  const char* result_path;
  Input input;
  const Head* head;
  /// Items by external stream.
  const long long* items;
  const Step *init, *tail;
  /// Plan for several threads.
  const int* words;
  /// Start addresses of the streams.
  std::vector<void*> streams;
  /// By channel: the first of its arrays; with one more entry for the end.
  std::vector<int> arrays_of;
  std::vector<double> printed, line;
  long long lines;
  /// Duration of the run: wall-clock time, and processor time of all threads together.
  double nanoseconds, processor_nanoseconds;
};

inline Run run;

/// State of one thread that runs the program.
struct Here {
  wl_own own;
  std::vector<void*> streams;
  /// Nodes that have fired.
  std::vector<char> fired;
};

inline thread_local Here here;

inline int& index_of(int slot) { return here.own.ix[slot]; }

inline void enter_thread() {
  const wl_program& p = *run.program;
  here.own = p.own();
  here.streams = run.streams;
  here.own.steps[0] = (double)run.head->turns;
}

/// Ends of channels and streams at the start.
inline void reset_ends() {
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

inline void move_to_front(int channel) {
  const int from = index_of(2 * channel), to = index_of(2 * channel + 1);
  if (from == 0) return;
  for (int i = run.arrays_of[(size_t)channel]; i < run.arrays_of[(size_t)channel + 1]; ++i) {
    const auto [items, _, bytes] = here.own.arrays[i];
    memmove(items, (char*)items + (size_t)from * (size_t)bytes, (size_t)(to - from) * (size_t)bytes);
  }
  index_of(2 * channel) = 0;
  index_of(2 * channel + 1) = to - from;
}

inline void all_to_fronts() {
  for (int id = 0; id < run.program->channels; ++id) move_to_front(id);
}

inline void fire(const Step& step) {
  const wl_program& p = *run.program;
  int left = step.count;
  if (!here.fired[(size_t)step.node] && left > 0 && p.first(step.node, here.streams.data())) --left;
  here.fired[(size_t)step.node] = 1;
  if (left > 0) p.fire(step.node, left, here.streams.data());
}

inline void fire_all(const Step* steps, long long count) {
  for (long long i = 0; i < count && run.lines < run.head->lines; ++i) fire(steps[i]);
}

/// Reads the description of a session from standard input, its length first.
inline bool read_session() {
#ifdef _WIN32
  _setmode(_fileno(stdin), _O_BINARY);
  _setmode(_fileno(stdout), _O_BINARY);
#endif
  long long size = 0;
  return fread(&size, sizeof size, 1, stdin) == 1 && run.input.read(stdin, (size_t)size);
}

/// `words`: the paths of input and output, or two dashes for a session, and the number of the program.
inline bool open_run(char** words) {
  const int number = atoi(words[3]);
  if (number < 0 || number >= wl_program_count) return false;
  if (!(strcmp(words[1], "-") == 0 ? read_session() : run.input.open(words[1]))) return false;
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
    // Touch the pages, so that page faults are not part of the measured time.
    for (size_t at = 0; !is_given && data != nullptr && at < size; at += 4096) ((volatile char*)data)[at] = 0;
    run.streams.push_back(data);
  }
  return true;
}

/// Writes the result: what was printed and, without a fault, the output.
inline int finish(const Fault* fault) {
  FILE* file = fopen(run.result_path, "wb");
  if (file == nullptr) return kBadFile;
  const wl_program& p = *run.program;
  const double head[8] = {fault == nullptr ? 0.0 : 1.0, fault == nullptr ? 0.0 : (double)fault->site, fault == nullptr ? 0 : fault->value,
                          run.nanoseconds, (double)run.printed.size(), (double)run.lines, run.processor_nanoseconds, 0};
  fwrite(head, sizeof(double), 8, file);
  fwrite(run.printed.data(), sizeof(double), run.printed.size(), file);
  for (int i = 0; i < p.streams && fault == nullptr; ++i) {
    const auto& [external, bytes] = p.of_streams[i];
    const bool is_made = p.roles[external] == wl_role::output || p.roles[external] == wl_role::writer;
    if (is_made) fwrite(run.streams[(size_t)i], (size_t)bytes, (size_t)run.items[external], file);
  }
  return fclose(file) == 0 ? 0 : kBadFile;
}

/// The time at which a run began.
struct Moment {
  Clock::time_point wall;
  std::clock_t processor;
};

inline Moment this_moment() { return {Clock::now(), std::clock()}; }

inline void take_time(const Moment& begin) {
  run.nanoseconds = (double)std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin.wall).count();
  run.processor_nanoseconds = (double)(std::clock() - begin.processor) * (1e9 / CLOCKS_PER_SEC);
}

}  // namespace wl_runtime
