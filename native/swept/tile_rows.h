// The rows of a group of tiles: vector j holds the j-th point of each tile, and lane l belongs to tile l. Neighbours in
// space are neighbouring vectors, so a step needs no shuffles or unaligned loads, and lanes are independent.
#pragma once
#include "native/swept/equations.h"
#include "native/swept/kernels.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Vectors before and after a row that kernels may overwrite freely.
inline constexpr int kRowPad = 8;

/// A run of a tile's points beyond an end of the domain that do not obey the equation.
struct RunOfLane {
  int64_t boundary;  ///< the run's last point, seen from the domain, as an index in the tile; < 0: no run
  bool frozen;       ///< all points of the run hold one value; otherwise they follow the point before the run
};

template <class E>
class TileGroup {
 public:
  using R = typename E::Real;
  using V = Vector<R>;
  static constexpr int kLanes = kWidth<R>, kComponents = E::kComponents, kReach = E::kReach;
  static constexpr int kStride = kComponents * kLanes;  ///< numbers per point of a row

  WARPLOOM_INLINE TileGroup(const E& equation, const TileTask<R>& task, int64_t group)
      : equation_(equation), task_(task), halo_(task.steps * E::kSubsteps * kReach), places_(task.length + 2 * halo_) {
    const int64_t units = task.problems * task.tiles;
    for (int l = 0; l < kLanes; ++l) {
      int64_t unit = group * kLanes + l;
      const bool idle = unit >= units;
      if (idle) unit = group * kLanes;
      const int64_t begin = unit % task.tiles * task.length, left = task.domain->n - begin;
      problem_[l] = unit / task.tiles * kComponents * task.domain->n;
      first_[l] = begin - halo_;
      count_[l] = idle ? 0 : left < task.length ? left : task.length;
    }
  }
  int64_t places() const { return places_; }
  int64_t halo() const { return halo_; }
  /// Whether some points do not obey the equation: then fix() must follow each sub-step.
  bool has_runs() const { return has_runs_; }

  /// Fills a row from the state, and finds the runs.
  void gather(R* row) {
    bool inside = true;
    for (int l = 0; l < kLanes; ++l) inside = inside && first_[l] >= 0 && first_[l] + places_ <= task_.domain->n;
    has_runs_ = false;
    for (int k = 0; k < kComponents; ++k) {
      const R* from[kLanes];
      for (int l = 0; l < kLanes; ++l) from[l] = task_.from + problem_[l] + k * task_.domain->n + first_[l];
      if (inside) copy_in(from, row + k * kLanes);
    }
    if (inside) return;
    for (int l = 0; l < kLanes; ++l) gather_lane(l, row + l);
    find_runs(row);
  }

  /// Writes the tiles' own points to the result.
  void scatter(const R* row) const {
    bool whole = true;
    for (int l = 0; l < kLanes; ++l) whole = whole && count_[l] == task_.length;
    for (int k = 0; k < kComponents; ++k) {
      const R* const from = row + halo_ * kStride + k * kLanes;
      R* to[kLanes];
      for (int l = 0; l < kLanes; ++l) to[l] = task_.to + problem_[l] + k * task_.domain->n + first_[l] + halo_;
      if (whole) {
        copy_out(from, to);
        continue;
      }
      for (int l = 0; l < kLanes; ++l) {
        for (int64_t j = 0; j < count_[l]; ++j) to[l][j] = from[j * kStride + l];
      }
    }
  }

  /// Corrects the points that do not obey the equation, as far as the next sub-step reads them.
  void fix(R* row) const {
    for (int l = 0; l < kLanes; ++l) {
      fix_run(row + l, left_[l], -1, frozen_left_[l]);
      fix_run(row + l, right_[l], 1, frozen_right_[l]);
    }
  }

 private:
  WARPLOOM_INLINE void copy_in(const R* const (&from)[kLanes], R* row) const {
    for (int64_t j = 0; j < places_; ++j) {
      for (int l = 0; l < kLanes; ++l) row[j * kStride + l] = from[l][j];
    }
  }
  WARPLOOM_INLINE void copy_out(const R* row, R* const (&to)[kLanes]) const {
    for (int64_t j = 0; j < task_.length; ++j) {
      for (int l = 0; l < kLanes; ++l) to[l][j] = row[j * kStride + l];
    }
  }

  void gather_lane(int l, R* row) const {
    const R* const from = task_.from + problem_[l];
    const int64_t n = task_.domain->n;
    for (int64_t j = 0; j < places_; ++j) {
      const int64_t place = first_[l] + j;
      Source source;
      if (task_.domain->holds(place)) source.point = place;
      else source = task_.domain->source(place);
      typename E::Value value;
      for (int k = 0; k < kComponents; ++k) value.item[k] = from[k * n + source.point];
      if (source.mirrored) value = equation_.mirrored(value);
      for (int k = 0; k < kComponents; ++k) row[j * kStride + k * kLanes] = value.item[k];
    }
  }

  bool obeys(int l, int64_t j, bool* frozen) const {
    const Source source = task_.domain->source(first_[l] + j);
    *frozen = source.frozen;
    return !source.frozen && !source.follows;
  }
  void find_runs(const R* row) {
    if (task_.domain->only_images()) return;
    for (int l = 0; l < kLanes; ++l) {
      left_[l] = {-1, false};
      right_[l] = {-1, false};
      bool frozen = false;
      for (int64_t j = 0; j < places_ && !obeys(l, j, &frozen); ++j) left_[l] = {j, frozen};
      for (int64_t j = places_ - 1; j >= 0 && !obeys(l, j, &frozen); --j) right_[l] = {j, frozen};
      has_runs_ = has_runs_ || left_[l].boundary >= 0 || right_[l].boundary >= 0;
      for (int k = 0; k < kComponents; ++k) {
        const R* const lane = row + k * kLanes + l;
        frozen_left_[l].item[k] = left_[l].boundary < 0 ? R(0) : lane[left_[l].boundary * kStride];
        frozen_right_[l].item[k] = right_[l].boundary < 0 ? R(0) : lane[right_[l].boundary * kStride];
      }
    }
  }
  void fix_run(R* lane, const RunOfLane& run, int outwards, const typename E::Value& frozen) const {
    if (run.boundary < 0) return;
    for (int k = 0; k < kComponents; ++k, lane += kLanes) {
      const R value = run.frozen ? frozen.item[k] : lane[(run.boundary - outwards) * kStride];
      int64_t j = run.boundary;
      for (int i = 0; i < kReach && j >= 0 && j < places_; ++i, j += outwards) lane[j * kStride] = value;
    }
  }

  E equation_;
  TileTask<R> task_;
  int64_t halo_, places_;
  int64_t problem_[kLanes], first_[kLanes], count_[kLanes];
  bool has_runs_ = false;
  RunOfLane left_[kLanes], right_[kLanes];
  typename E::Value frozen_left_[kLanes], frozen_right_[kLanes];
};

}  // namespace warploom::cpu::WARPLOOM_ISA
