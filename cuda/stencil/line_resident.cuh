// Lines that fit on the device: the blocks of line.cuh keep their tiles in registers for all steps of a launch. When the margins of a tile
// are used up, blocks send each other the cells at both ends of what they own, as messages: only neighbours wait for each other. All blocks
// must run at once (a cooperative launch). How the line is cut is an argument, so that one kernel serves lines of all lengths.
#pragma once
#include "cuda/stencil/line.cuh"
#include "cuda/stencil/message.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

template <class T, int kStages>
struct LineResidentParameters : LineParameters<T, kStages> {
  device::Message* boxes;  ///< [kBoxes][block][left, right][field][margin]
  int32_t margin;  ///< cells beside those that a tile owns, and steps that they last
  int32_t depth;
  int32_t tag;  ///< of the first messages; those of later rounds follow. No two launches of a run share one.
};

template <class Scheme>
struct LineResidentAgent : LineAgent<Scheme> {
  using Line = LineAgent<Scheme>;
  using typename Line::T, typename Line::Block, typename Line::Task, typename Line::Row, typename Line::Q;
  using Line::kFields, Line::kP, Line::kR, Line::kWarps, Line::kRound, Line::kTile, Line::kHalo, Line::kNever;
  using Parameters = LineResidentParameters<T, Line::kStages>;
  /// A block sends round r + 2 after the barrier of round r + 1. Its other warps reach that with all messages of round r, which neighbours
  /// sent after their barrier of round r - 1, which they reached with those of r - 2. So four boxes in turn are enough.
  static constexpr int kBoxes = 4;
  /// Messages of a field that a lane waits for at once.
  static constexpr int kAtOnce = kFields > 2 ? 1 : 4 / kFields;

  static WARPLOOM_DEVICE Task task_of(const Block& block, const Parameters& p) {
    const int index = static_cast<int>(block.index()), member = index / p.tiles, tile = index - member * p.tiles;
    const int least = p.n / p.tiles, longer = p.n - least * p.tiles;
    Task task;
    task.low = tile * least + (tile < longer ? tile : longer);
    task.high = task.low + least + (tile < longer ? 1 : 0);
    task.at_left = !Scheme::kPeriodicY && tile == 0;
    task.at_right = !Scheme::kPeriodicY && tile == p.tiles - 1;
    // Cells at a boundary are in the first lane that no warp shares.
    Line::place(block, p, member, task.at_left ? -kHalo : task.at_right ? p.n + kHalo - kTile : task.low - p.margin, task);
    return task;
  }

  /// Cells at both ends of a tile, as messages: side 0 is the left one.
  static WARPLOOM_DEVICE device::Message* box(const Parameters& p, const Block& block, unsigned int tag, int tile, int side) {
    const int64_t at = ((tag % kBoxes) * static_cast<int64_t>(block.count()) + tile) * 2 + side;
    return p.boxes + at * kFields * p.margin;
  }
  static WARPLOOM_DEVICE void publish(const Block& block, const Parameters& p, const Task& task, unsigned int tag, const Row& row) {
    if (!Line::keeps(block.warp(), block.lane())) return;
    const int own = task.high - task.low;
    WARPLOOM_NO_UNROLL
    for (int side = 0; side < 2; ++side) {
      const int first = -task.own_from - (side == 0 ? 0 : own - p.margin);  // place of the lane's first cell among those that are sent
      if (first <= -kP || first >= p.margin) continue;
      device::Message* const to = box(p, block, tag, static_cast<int>(block.index()), side);
      WARPLOOM_UNROLL
      for (int f = 0; f < kFields; ++f) {
        WARPLOOM_UNROLL
        for (int e = 0; e < kP; ++e) {
          if (first + e < 0 || first + e >= p.margin) continue;
          device::post(block, to + f * p.margin + first + e, message_of(row[f][kR + e], tag));
        }
      }
    }
  }

  /// Takes the cells of a margin that are in this warp into its stage; returns their places there.
  struct Range {
    int begin, end;
  };
  static WARPLOOM_DEVICE Range receive(const Block& block, const Parameters& p, const Task& task, unsigned int tag, int side) {
    const int first = (side == 0 ? task.low - p.margin : task.high) - task.first;  // place of the margin in the warp
    Range range;
    range.begin = first > 0 ? first : 0;
    range.end = first + p.margin < 32 * kP ? first + p.margin : 32 * kP;
    const int index = static_cast<int>(block.index()), member = index / p.tiles * p.tiles, tile = index - member;
    if (!Scheme::kPeriodicY && tile == (side == 0 ? 0 : p.tiles - 1)) range.end = range.begin;
    const int beside = side == 0 ? (tile == 0 ? p.tiles - 1 : tile - 1) : (tile == p.tiles - 1 ? 0 : tile + 1);
    const device::Message* const from = box(p, block, tag, member + beside, 1 - side);
    WARPLOOM_NO_UNROLL
    for (int begin = range.begin; begin < range.end; begin += 32 * kAtOnce) {
      device::Message messages[kFields * kAtOnce];
      device::receive_at_once(block, tag, [&](int m) {
        const int i = begin + m % kAtOnce * 32 + block.lane(), last = range.end - 1;
        return from + m / kAtOnce * p.margin + (i < last ? i : last) - first;
      }, messages);
      WARPLOOM_UNROLL
      for (int m = 0; m < kFields * kAtOnce; ++m) {
        const int i = begin + m % kAtOnce * 32 + block.lane();
        if (i < range.end) *Line::stage_of(block, m / kAtOnce, i) = value_of<T>(messages[m]);
      }
    }
    return range;
  }
  static WARPLOOM_DEVICE void renew(const Block& block, const Parameters& p, const Task& task, unsigned int tag, Row& row) {
    block.sync_warp();
    const Range left = receive(block, p, task, tag, 0), right = receive(block, p, task, tag, 1);
    if (left.begin >= left.end && right.begin >= right.end) return;
    block.sync_warp();
    WARPLOOM_UNROLL
    for (int e = 0; e < kP; ++e) {
      const int i = block.lane() * kP + e;
      if ((i < left.begin || i >= left.end) && (i < right.begin || i >= right.end)) continue;
      WARPLOOM_UNROLL
      for (int f = 0; f < kFields; ++f) row[f][kR + e] = *Line::stage_of(block, f, i);
    }
  }

  static WARPLOOM_DEVICE void run(const Block& block, const Parameters& p) {
    const Task task = task_of(block, p);
    Q q = Line::scalars_of(p, static_cast<int>(block.index()) / p.tiles);
    Row row = {};
    Line::load(block, p, task, row);
    int bad = kNever, taken = 0, round = 0;
    unsigned int tag = static_cast<unsigned int>(p.tag);
    WARPLOOM_NO_UNROLL
    for (int done = 0;;) {
      int count = p.depth - taken < kRound ? p.depth - taken : kRound;
      if (p.steps - done < count) count = p.steps - done;
      Line::take(block, p, task, q, done, done + count, row, bad);
      done += count;
      taken += count;
      const bool used_up = taken == p.depth, over = done == p.steps;
      if constexpr (!Scheme::kChecksAll) {
        if ((used_up || over) && bad == kNever && !Line::is_good(task, q, row)) bad = p.step + done - taken;
      }
      if (over) break;
      if (used_up) publish(block, p, task, tag, row);
      if constexpr (kWarps > 1) {
        Line::give(block, round, row);
        block.sync();
        Line::get(block, round, row);
        ++round;
      }
      if (used_up) {
        renew(block, p, task, tag++, row);
        taken = 0;
      }
    }
    Line::store(block, p, task, row);
    if (bad != kNever) device::atomic_min(p.status, bad);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
