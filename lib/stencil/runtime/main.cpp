// Runs a compiled equation as a process of its own, which answers requests on its standard output (lib/stencil/engines/cpp.ts).
//
// First it reads 16 integers of 64 bits (threads, extents, members, steps of a pass, tile, and what the program must have been made for),
// then parameters, coefficients and the state, and answers with a status. Each request after that is 8 doubles.
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>
#ifdef __linux__
#include <sys/mman.h>
#endif
#include "stencil.h"

/// See lib/kernel/print/arithmetic.h.
extern int wl_nil;
int wl_nil = 0;
/// Programs of equations have no traps.
void wl_trap(int, double) { abort(); }

namespace wl_stencil {

enum Status { kDone = 0, kNoMemory = 1, kOtherProgram = 2 };
enum Request { kRun = 1, kRead = 2, kProbe = 3 };

static bool read_all(void* to, size_t bytes) {
  for (char* at = (char*)to; bytes > 0;) {
    const ssize_t got = read(0, at, std::min(bytes, (size_t)1 << 30));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= (size_t)got;
  }
  return true;
}

static bool write_all(const void* from, size_t bytes) {
  for (const char* at = (const char*)from; bytes > 0;) {
    const ssize_t put = write(1, at, std::min(bytes, (size_t)1 << 30));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    bytes -= (size_t)put;
  }
  return true;
}

static bool answer(double status, double steps, double seconds) {
  const double all[4] = {status, steps, seconds, 0};
  return write_all(all, sizeof all);
}

/// Memory in whole cache lines, in large pages where the system has them.
struct Block {
  void* data = nullptr;

  Block() = default;
  explicit Block(size_t bytes) {
    const size_t page = bytes >= (size_t)1 << 22 ? (size_t)1 << 21 : 64;
    const size_t whole = (bytes + page - 1) / page * page;
    data = aligned_alloc(page, std::max(whole, page));
    if (data == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (page > 64) madvise(data, whole, MADV_HUGEPAGE);
#endif
  }
  Block(Block&& other) noexcept : data(other.data) { other.data = nullptr; }
  Block& operator=(Block&& other) noexcept {
    std::swap(data, other.data);
    return *this;
  }
  ~Block() { free(data); }
};

/// Threads that work on the tiles of one pass after the other.
class Crew {
 public:
  explicit Crew(int threads) : threads_(threads) {
    for (int i = 1; i < threads; ++i) {
      try {
        others_.emplace_back([this, i] { serve(i); });
      } catch (const std::system_error&) {
        break;  // the threads that there are do the work
      }
    }
  }

  /// Calls `work` for every number below `count`, with the number of the thread that does it.
  template <class Work>
  void run(int count, const Work& work) {
    const auto each = [&](int thread) {
      for (int i; (i = next_.fetch_add(1)) < count;) work(i, thread);
    };
    next_ = 0;
    if (others_.empty() || count < 2) {
      each(0);
      return;
    }
    Caller<decltype(each)> caller{each};
    {
      std::lock_guard<std::mutex> lock(mutex_);
      call_ = &caller;
      busy_ = (int)others_.size();
      ++round_;
    }
    begin_.notify_all();
    each(0);
    for (int i = 0; i < kSpins && busy_ > 0; ++i) std::this_thread::yield();
    std::unique_lock<std::mutex> lock(mutex_);
    end_.wait(lock, [this] { return busy_ == 0; });
  }

  ~Crew() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
      ++round_;
    }
    begin_.notify_all();
    for (std::thread& each : others_) each.join();
  }

  int threads() const { return (int)others_.size() + 1; }

 private:
  static constexpr int kSpins = 200;

  struct AnyCaller {
    virtual void call(int thread) const = 0;
    virtual ~AnyCaller() = default;
  };
  template <class F>
  struct Caller final : AnyCaller {
    const F& f;
    explicit Caller(const F& given) : f(given) {}
    void call(int thread) const override { f(thread); }
  };

  void serve(int thread) {
    for (long long seen = 0;;) {
      for (int i = 0; i < kSpins && round_ == seen; ++i) std::this_thread::yield();
      std::unique_lock<std::mutex> lock(mutex_);
      begin_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
      if (is_over_) return;
      const AnyCaller* const call = call_;
      lock.unlock();
      call->call(thread);
      if (busy_.fetch_sub(1) == 1) {
        lock.lock();
        end_.notify_one();
      }
    }
  }

  int threads_;
  std::vector<std::thread> others_;
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  std::atomic<long long> round_{0};
  std::atomic<int> next_{0}, busy_{0};
  const AnyCaller* call_ = nullptr;
  bool is_over_ = false;
};

class Run {
 public:
  explicit Run(const int64_t (&head)[16]) : crew_((int)head[0]) {
    for (int axis = 0; axis < 3; ++axis) {
      grid_.n[axis] = (int)head[1 + axis];
      shape_.tile[axis] = (int)head[6 + axis];
    }
    grid_.members = head[4];
    shape_.depth = (int)head[5];
    grid_.cells = (int64_t)grid_.n[0] * grid_.n[1] * grid_.n[2];
    bytes_ = (size_t)grid_.members * program.fields * grid_.cells * program.real_bytes;
    state_ = Block(bytes_);
    other_ = Block(bytes_);
    for (int i = 0; i < crew_.threads(); ++i) scratch_.emplace_back(program.scratch_bytes(shape_));
    cut();
  }

  bool begin() {
    const size_t parameters = (size_t)grid_.members * program.parameters * program.real_bytes;
    parameters_ = Block(parameters);
    grid_.parameters = parameters_.data;
    return read_all(parameters_.data, parameters) && read_coefficients() && read_all(state_.data, bytes_);
  }

  /// Steps up to the first bad one: the state is the one before it then.
  double steps(double count, double origin, double from, double unit, double dt) {
    double done = 0;
    bool is_careful = false;
    while (done < count) {
      const int steps = is_careful ? 1 : (int)std::min<double>(shape_.depth, count - done);
      if (pass(steps, origin, from + done, unit, dt)) {
        std::swap(state_, other_);
        done += steps;
      } else if (steps == 1) {
        break;
      } else {
        is_careful = true;
      }
    }
    return done;
  }

  bool pass(int steps, double origin, double from, double unit, double dt) {
    times_.resize(steps);
    for (int i = 0; i < steps; ++i) times_[i] = origin + (from + i) * unit;
    const Pass pass{&grid_, &shape_, state_.data, other_.data, steps, times_.data(), dt};
    std::atomic<bool> is_good{true};
    crew_.run((int)tiles_.size(), [&](int tile, int thread) {
      if (!program.advance(pass, tiles_[tile], scratch_[thread].data)) is_good = false;
    });
    return is_good;
  }

  bool write_state() { return write_all(state_.data, bytes_); }
  bool write_other() { return write_all(other_.data, bytes_); }

 private:
  /// Coefficients continue with the nearest cell, or periodically.
  bool read_coefficients() {
    if (program.coefficients == 0) return true;
    int64_t padded = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const int margin = shape_.depth * program.stages * program.margin[axis];
      // Rows of tiles are rounded to vectors.
      grid_.pad[axis] = program.reach[axis] + (program.periodic[axis] ? margin : 0) + (axis == 2 ? 32 / program.real_bytes : 0);
      padded *= grid_.n[axis] + 2 * grid_.pad[axis];
    }
    const int size = program.real_bytes;
    const Block plain((size_t)program.coefficients * grid_.cells * size);
    if (!read_all(plain.data, (size_t)program.coefficients * grid_.cells * size)) return false;
    coefficients_ = Block((size_t)program.coefficients * padded * size);
    grid_.coefficients = coefficients_.data;
    char* to = (char*)coefficients_.data;
    for (int c = 0; c < program.coefficients; ++c) {
      for (int plane = -grid_.pad[0]; plane < grid_.n[0] + grid_.pad[0]; ++plane) {
        for (int row = -grid_.pad[1]; row < grid_.n[1] + grid_.pad[1]; ++row) {
          const int64_t line = (c * (int64_t)grid_.n[0] + near(0, plane)) * grid_.n[1] + near(1, row);
          for (int column = -grid_.pad[2]; column < grid_.n[2] + grid_.pad[2]; ++column, to += size) {
            memcpy(to, (const char*)plain.data + (line * grid_.n[2] + near(2, column)) * size, size);
          }
        }
      }
    }
    return true;
  }

  int near(int axis, int i) const {
    const int n = grid_.n[axis];
    return program.periodic[axis] ? (i % n + n) % n : std::clamp(i, 0, n - 1);
  }

  void cut() {
    const int *const n = grid_.n, *const most = shape_.tile;
    for (int64_t member = 0; member < grid_.members; ++member) {
      for (int plane = 0; plane < n[0]; plane += most[0]) {
        for (int row = 0; row < n[1]; row += most[1]) {
          for (int column = 0; column < n[2]; column += most[2]) {
            tiles_.push_back({member, {plane, row, column},
                              {std::min(n[0], plane + most[0]), std::min(n[1], row + most[1]), std::min(n[2], column + most[2])}});
          }
        }
      }
    }
  }

  Crew crew_;
  Grid grid_{};
  Shape shape_{};
  size_t bytes_;
  Block state_, other_, parameters_, coefficients_;
  std::vector<Block> scratch_;
  std::vector<Tile> tiles_;
  std::vector<double> times_;
};

static bool serve(Run& run) {
  for (double request[8]; read_all(request, sizeof request);) {
    const auto [kind, count, origin, from, unit, dt, _, __] = request;
    switch ((int)kind) {
      case kRun: {
        const auto begin = std::chrono::steady_clock::now();
        const double done = run.steps(count, origin, from, unit, dt);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        if (!answer(kDone, done, took.count())) return false;
        break;
      }
      case kRead:
        if (!run.write_state()) return false;
        break;
      case kProbe:
        run.pass(1, origin, from, unit, dt);
        if (!run.write_other()) return false;
        break;
      default: return false;
    }
  }
  return true;
}

}  // namespace wl_stencil

int main() {
  using namespace wl_stencil;
  int64_t head[16];
  if (!read_all(head, sizeof head)) return 1;
  if (head[9] != program.real_bytes || head[10] != program.parameters || head[11] != program.coefficients || head[12] != program.fields) {
    return answer(kOtherProgram, 0, 0) ? 0 : 1;
  }
  std::unique_ptr<Run> run;
  try {
    run = std::make_unique<Run>(head);
    if (!run->begin()) return 1;
  } catch (const std::bad_alloc&) {
    return answer(kNoMemory, 0, 0) ? 0 : 1;
  }
  return answer(kDone, 0, 0) && serve(*run) ? 0 : 1;
}
