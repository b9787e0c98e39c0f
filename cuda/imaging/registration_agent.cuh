// The step of registration along the rows, for a tile of row pairs: inverse transform, force, sums and forward
// transform.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/imaging/cosine_block.cuh"
#include "cuda/imaging/registration_point.h"
#include "cuda/imaging/registration_sums.h"
#include "cuda/imaging/registration_task.h"

namespace warploom::WARPLOOM_TARGET::imaging {

using operation::ImageSums;
using operation::RegistrationState;
using operation::RowsTask;

/// What a launch uses its sums for.
enum class Purpose : int32_t {
  factors,   ///< the factors of ncc, before the first iteration
  iterate,   ///< an iteration; nothing is done after the last one
  conclude,  ///< the measure of the result
};

template <class T>
struct TiledRows {
  RowsTask<T> task;
  operation::Evaluation evaluation;
  Purpose purpose = Purpose::iterate;
  bool moves = false;
  int32_t groups = 1, pitch = 1;  ///< row pairs per tile; a tile has groups * axes pairs of lines
  int64_t tiles = 1;
  T* warped = nullptr;            ///< with several channels: the warped template, for the sums
  Pair<T>* scratch = nullptr;
  int32_t* tickets = nullptr;     ///< blocks that have finished; zero between launches
};

/// The first lane of the warp gets the sums over all lanes.
WARPLOOM_DEVICE ImageSums combine_warp(const device::Block& block, ImageSums sums, bool all) {
  WARPLOOM_UNROLL
  for (int distance = 16; distance > 0; distance /= 2) {
    if (all) {
      sums = operation::combined(sums, device::shuffle_down(block, sums, distance));
    } else {
      sums.count += device::shuffle_down(block, sums.count, distance);
      sums.square += device::shuffle_down(block, sums.square, distance);
    }
  }
  return sums;
}

/// The sum of one lane over the pairs first, first + kTotalLanes, …, with several loads in flight.
template <bool kAll>
WARPLOOM_DEVICE ImageSums lane_sums(const double* words, int64_t pairs, int first) {
  constexpr int kAtOnce = kAll ? 1 : 8;
  ImageSums sums = operation::no_sums();
  WARPLOOM_NO_UNROLL
  for (int64_t p = first; p < pairs; p += kAtOnce * operation::kTotalLanes) {
    ImageSums part[kAtOnce];
    WARPLOOM_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      const int64_t q = p + i * operation::kTotalLanes;
      part[i] = q < pairs ? operation::load_sums(kAll, words + q, pairs) : operation::no_sums();
    }
    WARPLOOM_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      if (p + i * operation::kTotalLanes < pairs) sums = operation::combined(sums, part[i]);
    }
  }
  return sums;
}

/// The sums over all pairs, by the last block to finish; `warps` has room for eight of them.
WARPLOOM_DEVICE ImageSums total_sums(const device::Block& block, const double* words, int64_t pairs, bool all, ImageSums* warps) {
  constexpr int kGroups = operation::kTotalLanes / 32;
  for (int group = block.warp(); group < kGroups; group += block.threads() / 32) {
    const int first = group * 32 + block.lane();
    const ImageSums sums = combine_warp(block, all ? lane_sums<true>(words, pairs, first) : lane_sums<false>(words, pairs, first), all);
    if (block.lane() == 0) warps[group] = sums;
  }
  block.sync();
  if (block.thread() != 0) return operation::no_sums();
  ImageSums sums = warps[0];
  for (int group = 1; group < kGroups; ++group) sums = operation::combined(sums, warps[group]);
  return sums;
}

template <class T, int kAxes, bool kChannels>
struct RowsAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr bool kOverlapped = true;
  static constexpr int kMinBlocks = sizeof(T) == 4 ? 3 : 2;
  using Parameters = TiledRows<T>;
  using Entry = Pair<T>;
  using Lanes = operation::ScalarLanes<T>;
  /// Shared memory needed for the total of the sums.
  static constexpr size_t kTotalBytes = operation::kTotalLanes / 32 * sizeof(ImageSums) + sizeof(int32_t);

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    device::follow_previous_launch();
    if (p.purpose == Purpose::iterate && p.task.state->last != 0) {
      if (block.index() == 0 && block.thread() == 0) p.task.state->finished = 1;
      return;
    }
    const TileTransform<T> transform(block, p.task.plan, p.task.table, kAxes * p.groups);
    TileBuffers<T> tile = tile_buffers(block, p.scratch, p.task.plan.m, kAxes * p.groups, p.pitch);
    for (int64_t i = block.index(); i < p.tiles; i += block.count()) step(block, p, transform, tile, i * p.groups);
    total(block, p);
  }

 private:
  static WARPLOOM_DEVICE void step(const device::Block& block, const Parameters& p, const TileTransform<T>& transform,
                                   TileBuffers<T>& tile, int64_t first) {
    load(block, p, tile, first);
    block.sync();
    if (p.task.coefficients != nullptr) {
      transform.each_two(tile, [](Entry& low, Entry& high, int k, const Entry& phase) {
        if (k == 0) high = {T(0), T(0)};
        operation::join(low, high, phase.re, phase.im);
      });
      block.sync();
      transform.run(tile);
    }
    move(block, p, tile, first);
    block.sync();
    add_rows(block, p, tile, first);
    block.sync();
    if (p.task.new_coefficients == nullptr) return;
    transform.run(tile);
    transform.each_two(tile, [](Entry& low, Entry& high, int, const Entry& phase) {
      operation::separate(low, high, phase.re, phase.im);
    });
    block.sync();
    each_line(block, p, first, [&](int line, int k, int64_t a, int64_t left) {
      const Entry entry = tile.data[k * tile.pitch + line];
      if (left > 0) p.task.new_coefficients[a] = entry.re;
      if (left > 1) p.task.new_coefficients[a + p.task.plan.n] = entry.im;
    });
    block.sync();
  }

  /// Calls body(line, k, element, rows left) for every point of every pair of lines. line = axis * groups + pair; rows
  /// are counted from the pair's first row.
  template <class Body>
  static WARPLOOM_DEVICE void each_line(const device::Block& block, const Parameters& p, int64_t first, const Body& body) {
    const RowsTask<T>& task = p.task;
    for (int line = block.warp(); line < kAxes * p.groups; line += block.threads() / 32) {
      const int axis = line / p.groups;
      const int64_t row = 2 * (first + line - axis * p.groups), base = axis * task.points + row * task.plan.n;
      for (int k = block.lane(); k < task.plan.n; k += 32) body(line, k, base + k, task.rows - row);
    }
  }

  static WARPLOOM_DEVICE void load(const device::Block& block, const Parameters& p, const TileBuffers<T>& tile, int64_t first) {
    const bool spectral = p.task.coefficients != nullptr;
    const T* const from = spectral ? p.task.coefficients : p.task.displacement;
    each_line(block, p, first, [&](int line, int k, int64_t a, int64_t left) {
      const bool given = from != nullptr;
      const Entry entry = {given && left > 0 ? from[a] : T(0), given && left > 1 ? from[a + p.task.plan.n] : T(0)};
      tile.data[(spectral ? k : operation::place_of(k, p.task.plan.n)) * tile.pitch + line] = entry;
    });
  }

  /// Processes every point of the tile: computes the force on it, and stores what the sums need in the other buffer.
  static WARPLOOM_DEVICE void move(const device::Block& block, const Parameters& p, const TileBuffers<T>& tile, int64_t first) {
    const RowsTask<T>& task = p.task;
    const int n = task.plan.n, pieces = (n + 31) / 32;
    const T pace = static_cast<T>(task.state->step) * task.share;
    const operation::ForceFactors<T> factors = {
        static_cast<T>(task.state->reference), static_cast<T>(task.state->warped), static_cast<T>(task.state->constant),
        {pace * task.factors.square[0], pace * task.factors.square[1], pace * task.factors.square[2]}};
    for (int c = block.warp(); c < 2 * p.groups * pieces; c += block.threads() / 32) {
      const int half = c / pieces, x = (c - half * pieces) * 32 + block.lane();
      const int64_t row = 2 * first + half;
      if (x >= n) continue;
      if (row < task.rows) move_one(p, tile, factors, half, x, row);
      else clear_one(p, tile, half, x);
    }
  }

  static WARPLOOM_DEVICE T* words_of(const Parameters& p, const TileBuffers<T>& tile, int half, int x) {
    return reinterpret_cast<T*>(tile.data + operation::place_of(x, p.task.plan.n) * tile.pitch + (half >> 1)) + (half & 1);
  }

  /// A row that the image does not have: writes zeros next to the last row of an odd count.
  static WARPLOOM_DEVICE void clear_one(const Parameters& p, const TileBuffers<T>& tile, int half, int x) {
    T* const words = words_of(p, tile, half, x);
    WARPLOOM_UNROLL
    for (int a = 0; a < kAxes; ++a) words[a * 2 * p.groups] = T(0);
  }

  static WARPLOOM_DEVICE void move_one(const Parameters& p, const TileBuffers<T>& tile, const operation::ForceFactors<T>& factors, int half,
                                       int x, int64_t row) {
    const RowsTask<T>& task = p.task;
    const bool spectral = task.coefficients != nullptr;
    const int n = task.plan.n, second = half & 1;
    T* const words = words_of(p, tile, half, x);
    const int stride = 2 * p.groups;
    const T momentum = static_cast<T>(task.state->momentum);
    const T scale = !spectral ? T(1) : second != 0 ? -task.inverse_factor : task.inverse_factor;
    const uint32_t line = static_cast<uint32_t>(row), height = static_cast<uint32_t>(task.extent[1]);
    int32_t at[3] = {x, 0, 0};
    at[2] = kAxes == 3 ? static_cast<int32_t>(line / height) : 0;
    at[1] = static_cast<int32_t>(line - static_cast<uint32_t>(at[2]) * height);
    T u[kAxes];
    operation::Around<Lanes> places[kAxes];
    int32_t pitch = 1;
    WARPLOOM_UNROLL
    for (int a = 0; a < kAxes; ++a) {
      u[a] = spectral ? words[a * stride] * scale : words[a * stride];
      if (task.trail != nullptr) u[a] = extrapolated(task.trail + a * task.points + row * n + x, u[a], spectral, momentum);
      places[a] = operation::around<Lanes>(static_cast<T>(at[a]) + u[a], task.extent[a], pitch);
      pitch *= task.extent[a];
    }
    const int64_t point = row * n + x;
    const T reference = task.reference[point];
    T warped, moved[kAxes];
    WARPLOOM_UNROLL
    for (int a = 0; a < kAxes; ++a) moved[a] = u[a];
    operation::move_point<Lanes, kAxes>(operation::sample<Lanes>(task.image, places), reference, factors, moved, warped);
    if constexpr (kChannels) {
      p.warped[point] = warped;
      move_by_others(p, places, factors, point, moved);
    } else {
      tile.other[x * tile.pitch + half] = {warped, reference};
    }
    if (task.laplacian != nullptr) smooth(task, at, point, moved);
    WARPLOOM_UNROLL
    for (int a = 0; a < kAxes; ++a) {
      const T value = p.moves ? moved[a] : u[a];
      if (task.new_coefficients != nullptr) words[a * stride] = value;
      if (task.result != nullptr) task.result[a * task.points + point] = value;
    }
  }

  /// Adds the forces of the channels after the first.
  static WARPLOOM_DEVICE void move_by_others(const Parameters& p, const operation::Around<Lanes> (&places)[kAxes],
                                             const operation::ForceFactors<T>& factors, int64_t point, T (&moved)[kAxes]) {
    const RowsTask<T>& task = p.task;
    WARPLOOM_NO_UNROLL
    for (int c = 1; c < task.channels; ++c) {
      const int64_t first = c * task.points;
      const operation::Sample<Lanes, kAxes> sample = operation::sample<Lanes>(task.image + first, places);
      operation::move_point<Lanes, kAxes>(sample, task.reference[first + point], factors, moved, p.warped[first + point]);
    }
  }

  /// The starting point of an iteration; the first iteration has no predecessor.
  static WARPLOOM_DEVICE T extrapolated(T* before, T u, bool known, T momentum) {
    const T y = known ? portable::fma(momentum, u - *before, u) : u;
    *before = u;
    return y;
  }

  /// The explicit step with the operator.
  static WARPLOOM_DEVICE void smooth(const RowsTask<T>& task, const int32_t (&at)[3], int64_t point, T (&u)[kAxes]) {
    const T weight = -static_cast<T>(task.state->weight);
    WARPLOOM_UNROLL
    for (int a = 0; a < kAxes; ++a) {
      const T slope = operation::laplacian<T, kAxes>(task.laplacian + a * task.points, at, task.extent, point, task.factors);
      u[a] = portable::fma(weight, slope, u[a]);
    }
  }

  static WARPLOOM_DEVICE void add_samples(const Parameters& p, const TileBuffers<T>& tile, ImageSums& sums, int half, int x,
                                          int64_t point) {
    const RowsTask<T>& task = p.task;
    if constexpr (kChannels) {
      for (int64_t c = 0, i = point; c < task.channels; ++c, i += task.points) {
        operation::add_point(sums, p.warped[i], task.reference[i], task.all_sums);
      }
    } else {
      const Entry entry = tile.other[x * tile.pitch + half];
      operation::add_point(sums, entry.re, entry.im, task.all_sums);
    }
  }

  static WARPLOOM_DEVICE void add_rows(const device::Block& block, const Parameters& p, const TileBuffers<T>& tile, int64_t first) {
    const RowsTask<T>& task = p.task;
    for (int g = block.warp(); g < p.groups; g += block.threads() / 32) {
      const int64_t pair = first + g;
      if (pair >= task.pairs) continue;
      ImageSums sums = operation::no_sums();
      for (int x = block.lane(); x < task.plan.n; x += 32) {
        for (int half = 0; half < 2 && 2 * pair + half < task.rows; ++half) {
          add_samples(p, tile, sums, 2 * g + half, x, (2 * pair + half) * task.plan.n + x);
        }
      }
      sums = combine_warp(block, sums, task.all_sums);
      if (block.lane() == 0) operation::store_sums(sums, task.all_sums, task.sums + pair, task.pairs);
    }
  }

  /// The last block to finish adds up all sums.
  static WARPLOOM_DEVICE void total(const device::Block& block, const Parameters& p) {
    ImageSums* const warps = block.shared<ImageSums>();
    int32_t* const last = reinterpret_cast<int32_t*>(warps + operation::kTotalLanes / 32);
    device::fence_device();
    block.sync();
    if (block.thread() == 0) {
      *last = device::atomic_add(p.tickets, 1) == static_cast<int>(block.count()) - 1 ? 1 : 0;
      device::fence_device();
    }
    block.sync();
    if (*last == 0) return;
    const ImageSums sums = total_sums(block, p.task.sums, p.task.pairs, p.task.all_sums, warps);
    if (block.thread() != 0) return;
    *p.tickets = 0;
    RegistrationState state = *p.task.state;
    if (p.purpose == Purpose::factors) operation::measure_of(sums, p.evaluation.ncc, state);
    else operation::take_sums(state, p.evaluation, sums);
    *p.task.state = state;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
