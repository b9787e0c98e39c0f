// Cosine transforms of all lines of an image along one axis.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/imaging/cosine_block.cuh"

namespace warploom::WARPLOOM_TARGET::imaging {

using operation::LinesMode;
using operation::LinesTask;

/// How a pass is cut into tiles.
template <class T>
struct TiledLines {
  LinesTask<T> task;
  int32_t pairs = 1, pitch = 1;  ///< of one tile
  int64_t tiles = 1;             ///< of one component
  Pair<T>* scratch = nullptr;    ///< buffers of the blocks, if they do not fit shared memory
};

template <class T>
struct LinesAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr bool kOverlapped = true;
  static constexpr int kMinBlocks = sizeof(T) == 4 ? 4 : 2;
  using Parameters = TiledLines<T>;
  using Entry = Pair<T>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    device::follow_previous_launch();
    if (p.task.finished != nullptr && *p.task.finished != 0) return;
    const TileTransform<T> transform(block, p.task.plan, p.task.table, p.pairs);
    TileBuffers<T> tile = tile_buffers(block, p.scratch, p.task.plan.m, p.pairs, p.pitch);
    for (int64_t i = block.index(); i < p.tiles * p.task.components; i += block.count()) {
      const int64_t component = i / p.tiles, first = (i - component * p.tiles) * p.pairs;
      load(block, p, transform.lane, tile, component, first);
      block.sync();
      if (p.task.mode == LinesMode::inverse) join_lines(transform, tile);
      else transform.run(tile);
      if (p.task.mode == LinesMode::forward) {
        transform.each_two(tile, [](Entry& low, Entry& high, int, const Entry& phase) {
          operation::separate(low, high, phase.re, phase.im);
        });
        block.sync();
      } else {
        if (p.task.mode == LinesMode::filter) {
          filter_lines(p, transform, tile, first);
          block.sync();
        }
        transform.run(tile);
      }
      store(block, p, transform.lane, tile, component, first);
      block.sync();
    }
  }

 private:
  static WARPLOOM_DEVICE int64_t base_of(const LinesTask<T>& task, int64_t line) {
    const int64_t head = task.inner == 1 ? line : line / task.inner;
    return head * task.outer + (line - head * task.inner);
  }

  static WARPLOOM_DEVICE void join_lines(const TileTransform<T>& transform, const TileBuffers<T>& tile) {
    transform.each_two(tile, [](Entry& low, Entry& high, int k, const Entry& phase) {
      if (k == 0) high = {T(0), T(0)};
      operation::join(low, high, phase.re, phase.im);
    });
    transform.block.sync();
  }

  static WARPLOOM_DEVICE T factor_of(T weight, T lambda) {
    return portable::reciprocal(portable::fma(weight * lambda, lambda, T(1)));
  }

  static WARPLOOM_DEVICE T across_of(const LinesTask<T>& task, int64_t line) {
    if (line >= task.lines) return T(0);
    const int64_t head = task.along == nullptr ? 0 : line / task.width;
    const T value = task.across[line - head * task.width];
    return task.along == nullptr ? value : value + task.along[head];
  }

  static WARPLOOM_DEVICE void filter_lines(const Parameters& p, const TileTransform<T>& transform, TileBuffers<T>& tile, int64_t first) {
    const LinesTask<T>& task = p.task;
    const int64_t line = 2 * (first + transform.lane.pair);
    const T a = across_of(task, line), b = across_of(task, line + 1), weight = static_cast<T>(*task.weight);
    transform.each_two(tile, [&](Entry& low, Entry& high, int k, const Entry& phase) {
      operation::separate(low, high, phase.re, phase.im);
      const T near = task.axis[k];
      low = {low.re * factor_of(weight, a + near), low.im * factor_of(weight, b + near)};
      if (k == 0) {
        high = {T(0), T(0)};
      } else {
        const T far = task.axis[task.plan.n - k];
        high = {high.re * factor_of(weight, a + far), high.im * factor_of(weight, b + far)};
        if (2 * k == task.plan.n) high = low;
      }
      operation::join(low, high, phase.re, phase.im);
    });
  }

  /// Where point or coefficient k of a line is in the buffer.
  static WARPLOOM_DEVICE int place_in(const LinesTask<T>& task, int k) {
    return task.mode == LinesMode::inverse ? k : operation::place_of(k, task.plan.n);
  }
  static WARPLOOM_DEVICE T scale_in(const LinesTask<T>& task, int k) {
    if (task.mode != LinesMode::inverse) return T(1);
    return k == 0 ? task.zero_factor : task.factor;
  }
  static WARPLOOM_DEVICE int place_out(const LinesTask<T>& task, int k) {
    return task.mode == LinesMode::forward ? k : operation::place_of(k, task.plan.n);
  }
  static WARPLOOM_DEVICE Entry result_of(const LinesTask<T>& task, const Entry& entry, int k) {
    if (task.mode != LinesMode::forward) return {entry.re * task.inverse_factor, -(entry.im * task.inverse_factor)};
    const T scale = k == 0 ? task.zero_factor : task.factor;
    return {entry.re * scale, entry.im * scale};
  }

  /// Assigns points to threads so that neighbouring threads move neighbours in memory, along the lines or across them.
  template <class Move>
  static WARPLOOM_DEVICE void each_point(const device::Block& block, const Parameters& p, const TileLane& lane, int64_t first,
                                         const Move& move) {
    const LinesTask<T>& task = p.task;
    if (task.stride == 1) {
      for (int pair = block.warp(); pair < p.pairs; pair += block.threads() / 32) {
        const int64_t line = 2 * (first + pair), a = base_of(task, line), b = base_of(task, line + 1);
        for (int k = block.lane(); k < task.plan.n; k += 32) move(pair, k, a + k, b + k, task.lines - line);
      }
      return;
    }
    const int64_t line = 2 * (first + lane.pair), a = base_of(task, line), b = base_of(task, line + 1);
    for (int k = lane.first; k < task.plan.n; k += lane.step) {
      const int64_t along = k * task.stride;
      move(lane.pair, k, a + along, b + along, task.lines - line);
    }
  }

  static WARPLOOM_DEVICE void load(const device::Block& block, const Parameters& p, const TileLane& lane, const TileBuffers<T>& tile,
                                   int64_t component, int64_t first) {
    const T* const from = p.task.from + component * p.task.component;
    each_point(block, p, lane, first, [&](int pair, int k, int64_t a, int64_t b, int64_t left) {
      const T scale = scale_in(p.task, k);
      const Entry entry = {left > 0 ? from[a] * scale : T(0), left > 1 ? from[b] * scale : T(0)};
      tile.data[place_in(p.task, k) * tile.pitch + pair] = entry;
    });
  }

  static WARPLOOM_DEVICE void store(const device::Block& block, const Parameters& p, const TileLane& lane, const TileBuffers<T>& tile,
                                    int64_t component, int64_t first) {
    T* const to = p.task.to + component * p.task.component;
    each_point(block, p, lane, first, [&](int pair, int k, int64_t a, int64_t b, int64_t left) {
      const Entry entry = result_of(p.task, tile.data[place_out(p.task, k) * tile.pitch + pair], k);
      if (left > 0) to[a] = entry.re;
      if (left > 1) to[b] = entry.im;
    });
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
