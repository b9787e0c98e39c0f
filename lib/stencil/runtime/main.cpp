// Runs a compiled equation as a process of its own, which answers requests on its standard output (lib/stencil/engines/cpp.ts).
//
// First it reads 16 integers of 64 bits (threads, extents, members, steps of a pass, tile, and what the program must have been made for),
// then parameters, coefficients and the state, and answers with a status. Each request after that is 8 doubles:
// its kind, then (steps, time of the clock's origin, step from there, unit, dt) or (steps, time, until, longest step, 1 / CFL number,
// 1 / diffusion number). The answer is (status, steps, seconds, time, dt, rate, whether no step is possible), or the state.
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>
#ifdef __linux__
#include <sys/mman.h>
#endif
#include "clock.h"
#include "crew.h"
#include "stencil.h"

/// See lib/kernel/print/arithmetic.h.
extern int wl_nil;
int wl_nil = 0;
/// Programs of equations have no traps.
void wl_trap(int, double) { abort(); }

namespace wl_stencil {

enum Status { kDone = 0, kNoMemory = 1, kOtherProgram = 2 };
enum Request { kRun = 1, kRead = 2, kProbe = 3, kRunLimited = 4, kProbeLimited = 5 };

/// Threads are not told of lesser rates.
static void raise(std::atomic<double>& most, double to) {
  for (double now = most; to > now && !most.compare_exchange_weak(now, to);) {
  }
}

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

static bool answer(double status, double steps, double seconds, const StepClock& clock = {}) {
  const double all[8] = {status, steps, seconds, clock.time, clock.dt, clock.rate, clock.is_stuck ? 1.0 : 0.0, 0};
  return write_all(all, sizeof all);
}

/// Memory in whole cache lines, in large pages where the system has them.
struct Block {
  void* data = nullptr;

  Block() = default;
  explicit Block(size_t bytes) {
    const size_t page = bytes >= (size_t)1 << 18 ? (size_t)1 << 21 : 64;
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
    if (program.staged && program.stages > 1) {
      third_ = Block(bytes_);
      for (Block& sum : sums_) sum = Block(bytes_);
    }
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

  /// Takes steps from the state to the other array; whether they are good.
  bool pass(int steps, double origin, double from, double unit, double dt) {
    times_.resize(steps);
    for (int i = 0; i < steps; ++i) times_[i] = origin + (from + i) * unit;
    return take(dt, nullptr);
  }

  /// Steps of varying length, up to the first bad one or the end of the span.
  double limited_steps(double count, const StepLimits& limits, StepClock& clock) {
    double done = 0;
    for (; done < count && clock.time != limits.until; ++done) {
      const StepClock next = following(limits, clock);
      if (next.is_stuck) {
        clock = next;
        break;
      }
      if (!limited_pass(limits, clock, next)) break;
      std::swap(state_, other_);
      clock = next;
      rated_ = {next.time, limits.h, limits.g};
      rate_ = next_rate_;
    }
    return done;
  }

  /// One such step, from the state to the other array.
  bool limited_pass(const StepLimits& limits, const StepClock& clock, const StepClock& next) {
    times_.assign(1, clock.time);
    const Limits after{next.time, limits.h, limits.g};
    return take(next.dt, &after);
  }

  /// The clock after the next step. The rate of a state is known from the step that has made it.
  StepClock following(const StepLimits& limits, const StepClock& clock) {
    if (!(rated_.time == clock.time && rated_.h == limits.h && rated_.g == limits.g)) {
      rated_ = {clock.time, limits.h, limits.g};
      Pass pass{};
      pass.grid = &grid_;
      pass.shape = &shape_;
      pass.from = state_.data;
      pass.limits = &rated_;
      std::atomic<double> most{0};
      crew_.run((int)tiles_.size(), [&](int tile, int thread) { raise(most, program.rate(pass, tiles_[tile], scratch_[thread].data)); });
      rate_ = most;
    }
    return next_step(limits, clock, rate_);
  }

  bool write_state() { return write_all(state_.data, bytes_); }
  bool write_other() { return write_all(other_.data, bytes_); }

 private:
  /// Takes steps that begin at `times_`.
  bool take(double dt, const Limits* limits) {
    Pass pass{};
    pass.grid = &grid_;
    pass.shape = &shape_;
    pass.from = pass.start = state_.data;
    pass.to = other_.data;
    pass.steps = (int)times_.size();
    pass.times = times_.data();
    pass.dt = dt;
    pass.limits = limits;
    if (!program.staged) return tiles(pass);
    bool is_good = true;
    for (int s = 0; s < program.stages; ++s) {
      pass.stage = s;
      pass.to = (program.stages - s) % 2 == 1 ? other_.data : third_.data;
      pass.sum = sums_[s % 2].data;
      pass.sum_to = sums_[(s + 1) % 2].data;
      is_good = tiles(pass);
      pass.from = pass.to;
    }
    return is_good;
  }

  bool tiles(const Pass& pass) {
    std::atomic<bool> is_good{true};
    std::atomic<double> most{0};
    crew_.run((int)tiles_.size(), [&](int tile, int thread) {
      double rate = 0;
      if (!program.advance(pass, tiles_[tile], scratch_[thread].data, rate)) is_good = false;
      raise(most, rate);
    });
    next_rate_ = most;
    return is_good;
  }

  /// Coefficients continue with the nearest cell, or periodically.
  bool read_coefficients() {
    if (program.coefficients == 0) return true;
    int64_t padded = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const int margin = shape_.depth * program.stages * program.margin[axis];
      // Rows of tiles are rounded to vectors.
      grid_.pad[axis] = program.reach[axis] + (program.periodic[axis] ? margin : 0) + (axis == 2 ? 64 / program.real_bytes : 0);
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
  Block third_, sums_[2];
  std::vector<Block> scratch_;
  std::vector<Tile> tiles_;
  std::vector<double> times_;
  /// The rate of the state, as far as it is known: for what, and how large. No time is NaN.
  Limits rated_{std::numeric_limits<double>::quiet_NaN(), 0, 0};
  double rate_ = 0, next_rate_ = 0;
};

static bool serve(Run& run) {
  for (double request[8]; read_all(request, sizeof request);) {
    const int kind = (int)request[0];
    const auto [_, count, origin, from, unit, dt, __, ___] = request;
    const StepLimits limits{request[2], request[3], request[4], request[5], request[6]};
    StepClock clock{limits.time, std::numeric_limits<double>::quiet_NaN(), 0, false};
    switch (kind) {
      case kRun: case kRunLimited: {
        const auto begin = std::chrono::steady_clock::now();
        const double done = kind == kRun ? run.steps(count, origin, from, unit, dt) : run.limited_steps(count, limits, clock);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        if (!answer(kDone, done, took.count(), clock)) return false;
        break;
      }
      case kRead:
        if (!run.write_state()) return false;
        break;
      case kProbe:
        run.pass(1, origin, from, unit, dt);
        if (!run.write_other()) return false;
        break;
      case kProbeLimited:
        run.limited_pass(limits, clock, run.following(limits, clock));
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
