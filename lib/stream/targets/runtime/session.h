// A run whose input comes in parts: the program reads requests from standard input and answers on standard output. What it keeps from one
// request to the next (state, channels, what is left of the input) stays where it is.
#pragma once
#include "run.h"

namespace wl_runtime {

/// What a request begins with; the steps follow, then the new input, one array after the other.
struct Request {
  /// Firings before and after the steady states.
  long long steps_before, steps_after;
  /// Whole steady states, and how many of them are made in one call.
  long long states, at_once;
  /// Items that come with the request, and the most that it makes.
  long long input_items, output_items;
};

class Session {
 public:
  /// Answers requests until there are no more. Returns the exit code.
  int serve() {
    enter_thread();
    reset_ends();
    for (int i = 0; i < run.program->externals; ++i) {
      const wl_role role = run.program->roles[i];
      if (role == wl_role::input) input_ = i;
      else if (role != wl_role::reader) output_ = i;
    }
    buffers_.resize((size_t)run.program->streams);
    Request request;
    while (fread(&request, sizeof request, 1, stdin) == 1) {
      if (!take(request) || !answer(request)) return kBadFile;
    }
    return feof(stdin) ? 0 : kBadFile;
  }

 private:
  /// The arrays of the input and of the output, by stream.
  std::vector<std::vector<char>> buffers_;
  std::vector<Step> before_, after_;
  int input_ = -1, output_ = -1;
  /// Items of the input that wait.
  long long waiting_ = 0;

  int& end_of(int external, bool is_write) { return index_of(2 * (run.program->channels + external) + (is_write ? 1 : 0)); }

  /// Makes room for so many bytes. Arrays that have become much larger than what they hold are made anew.
  static void fit(std::vector<char>& buffer, size_t bytes) {
    constexpr size_t kLeast = 1 << 16, kWasteful = 8;
    if (buffer.size() > kWasteful * std::max(bytes, kLeast)) {
      std::vector<char> smaller(buffer.begin(), buffer.begin() + (ptrdiff_t)std::max(bytes, kLeast));
      buffer.swap(smaller);
    } else if (buffer.size() < bytes) {
      buffer.resize(std::max(bytes, 2 * buffer.size()));
    }
  }

  static bool read_steps(std::vector<Step>& steps, long long count) {
    steps.resize((size_t)count);
    return fread(steps.data(), sizeof(Step), steps.size(), stdin) == steps.size();
  }

  /// Reads what comes with a request: the new items stand behind those that wait.
  bool take(const Request& request) {
    const wl_program& p = *run.program;
    if (!read_steps(before_, request.steps_before) || !read_steps(after_, request.steps_after)) return false;
    const size_t from = input_ < 0 ? 0 : (size_t)end_of(input_, false), left = (size_t)waiting_, more = (size_t)request.input_items;
    for (int i = 0; i < p.streams; ++i) {
      const size_t bytes = (size_t)p.of_streams[i].bytes;
      std::vector<char>& buffer = buffers_[(size_t)i];
      if (p.of_streams[i].external == input_) {
        if (from > 0 && left > 0) memmove(buffer.data(), buffer.data() + from * bytes, left * bytes);
        fit(buffer, (left + more) * bytes + 64);
        if (fread(buffer.data() + left * bytes, bytes, more, stdin) != more) return false;
      } else if (p.of_streams[i].external == output_) {
        fit(buffer, (size_t)request.output_items * bytes + 64);
      } else {
        continue;
      }
      here.streams[(size_t)i] = buffer.data();
    }
    waiting_ += request.input_items;
    if (input_ >= 0) end_of(input_, false) = 0;
    if (output_ >= 0) end_of(output_, true) = 0;
    here.own.steps[0] = (double)run.head->turns;
    return true;
  }

  void make(const Request& request) {
    fire_all(before_.data(), request.steps_before);
    if (request.steps_before > 0) all_to_fronts();
    for (long long left = request.states; left > 0;) {
      const int now = (int)std::min(left, request.at_once);
      run.program->steady(now, here.streams.data());
      left -= now;
    }
    fire_all(after_.data(), request.steps_after);
  }

  /// Makes what is asked for, and writes what came out: with a fault, what came before it.
  bool answer(const Request& request) {
    Fault fault{};
    bool is_faulty = false;
    const Moment begin = this_moment();
    try {
      make(request);
    } catch (const Fault& found) {
      fault = found;
      is_faulty = true;
    }
    take_time(begin);
    if (input_ >= 0) waiting_ -= end_of(input_, false);
    const size_t items = output_ < 0 ? 0 : (size_t)end_of(output_, true);
    const double head[6] = {is_faulty ? 1.0 : 0.0, (double)fault.site, fault.value,
                            run.nanoseconds, (double)run.printed.size(), (double)items};
    fwrite(head, sizeof(double), 6, stdout);
    fwrite(run.printed.data(), sizeof(double), run.printed.size(), stdout);
    run.printed.clear();
    run.line.clear();
    const wl_program& p = *run.program;
    for (int i = 0; i < p.streams; ++i) {
      if (p.of_streams[i].external == output_) fwrite(here.streams[(size_t)i], (size_t)p.of_streams[i].bytes, items, stdout);
    }
    return fflush(stdout) == 0;
  }
};

}  // namespace wl_runtime
