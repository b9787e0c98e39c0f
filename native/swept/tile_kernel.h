// Many steps of a group of tiles in the cache. With every sub-step the valid part of a row shrinks by the reach at both
// ends; values written outside it are never read again.
#pragma once
#include "native/swept/tile_rows.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Steps of the heat equation that pass() takes at once, with their values in registers.
inline constexpr int kHeatSteps = 4;

template <class E> class TileSteps;

template <class R>
class TileSteps<Heat<R>> {
 public:
  using V = Vector<R>;
  using Group = TileGroup<Heat<R>>;
  static constexpr int kRows = 1;
  WARPLOOM_INLINE TileSteps(const Heat<R>& equation) : equation_(With<Heat<R>, V>::make(equation)) {}

  /// Before: points begin…end-1 of row 0 are valid. After: the tile's own points are.
  WARPLOOM_INLINE void run(const Group& group, R* const (&rows)[kRows], int64_t steps) const {
    int64_t begin = 0, end = group.places();
    while (steps > 0) {
      const bool many = steps >= kHeatSteps && !group.has_runs();
      if (many) pass<kHeatSteps>(rows[0], begin, end);
      else pass<1>(rows[0], begin, end);
      if (group.has_runs()) group.fix(rows[0]);
      const int taken = many ? kHeatSteps : 1;
      begin += taken;
      end -= taken;
      steps -= taken;
    }
  }

 private:
  template <int kSteps>
  WARPLOOM_INLINE void pass(R* row, int64_t begin, int64_t end) const {
    constexpr int kLanes = kWidth<R>;
    V before[kSteps], here[kSteps];  // of the state after each number of steps
    for (int s = 0; s < kSteps; ++s) before[s] = here[s] = V(R(0));
#pragma GCC unroll 2
    for (int64_t j = begin; j < end; ++j) {
      V value = V::load(row + j * kLanes);
#pragma GCC unroll 8
      for (int s = 0; s < kSteps; ++s) {
        const V next = equation_.step(before[s], here[s], value);
        before[s] = here[s];
        here[s] = value;
        value = next;
      }
      value.store(row + (j - kSteps) * kLanes);
    }
  }
  Heat<V> equation_;
};

template <class R>
class TileSteps<KuramotoSivashinsky<R>> {
 public:
  using V = Vector<R>;
  using E = KuramotoSivashinsky<R>;
  using Group = TileGroup<E>;
  static constexpr int kRows = 1;
  WARPLOOM_INLINE TileSteps(const E& equation) : equation_(With<E, V>::make(equation)) {}

  WARPLOOM_INLINE void run(const Group& group, R* const (&rows)[kRows], int64_t steps) const {
    int64_t begin = 0, end = group.places();
    for (; steps > 0; --steps, begin += 4, end -= 4) step(rows[0], begin, end);
  }

 private:
  /// Both sub-steps: the predicted state stays in registers.
  WARPLOOM_INLINE void step(R* row, int64_t begin, int64_t end) const {
    constexpr int kLanes = kWidth<R>;
    V u[5], h[5];
    for (int i = 0; i < 5; ++i) u[i] = h[i] = V(R(0));
#pragma GCC unroll 4
    for (int64_t j = begin; j < end; ++j) {
      u[4] = V::load(row + j * kLanes);
      h[4] = equation_.predict(u[0], u[1], u[2], u[3], u[4]);
      equation_.correct(h[0], h[1], h[2], h[3], h[4], u[0]).store(row + (j - 4) * kLanes);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        u[i] = u[i + 1];
        h[i] = h[i + 1];
      }
    }
  }
  KuramotoSivashinsky<V> equation_;
};

template <class R, int kLimiter>
class TileSteps<Euler<R, kLimiter>> {
 public:
  using V = Vector<R>;
  using E = Euler<R, kLimiter>;
  using Group = TileGroup<E>;
  static constexpr int kRows = 2;
  WARPLOOM_INLINE TileSteps(const E& equation) : equation_(With<E, V>::make(equation)) {}

  WARPLOOM_INLINE void run(const Group& group, R* const (&rows)[kRows], int64_t steps) const {
    int64_t begin = 0, end = group.places();
    for (; steps > 0; --steps, begin += 4, end -= 4) {
      substep<0>(rows[0], rows[0], rows[1], begin, end);
      if (group.has_runs()) group.fix(rows[1]);
      substep<1>(rows[1], rows[0], rows[0], begin + 2, end - 2);
      if (group.has_runs()) group.fix(rows[0]);
    }
  }

 private:
  using Value = typename Euler<V, kLimiter>::Value;
  static constexpr int kLanes = kWidth<R>, kStride = 3 * kLanes;

  /// Whether sides carry shares, and differences carry pressures: only for Limiter::paper.
  static constexpr bool kShares = kLimiter <= static_cast<int>(::warploom::swept::Limiter::paper);
  static_assert(::warploom::swept::kAnyLimiter < 0, "any limiter may be that of the paper");

  WARPLOOM_INLINE V pressure(const Value& value) const {
    if constexpr (kShares) return equation_.pressure(value);
    else return V(R(0));
  }

  using Side = typename Euler<V, kLimiter>::Side;
  using Difference = typename Euler<V, kLimiter>::Difference;

  /// Sides and differences of a block of cells, in memory: four vectors each, the last only for Limiter::paper.
  static constexpr int kBlock = 16;
  struct alignas(64) Block {
    R left[kBlock][4 * kLanes];        ///< the cell's side of its left face
    R shown[kBlock + 1][4 * kLanes];   ///< the previous cell's side of that face
    R behind[kBlock + 1][4 * kLanes];  ///< the difference between the two
    R means[kBlock][4 * kLanes];
    R speeds[kBlock][3 * kLanes];
  };
  static WARPLOOM_INLINE void put(R* to, const Value& value, const V& last) {
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) value.item[k].store(to + k * kLanes);
    if constexpr (kShares) last.store(to + 3 * kLanes);
  }
  static WARPLOOM_INLINE Value values(const R* from) {
    return {{V::load(from), V::load(from + kLanes), V::load(from + 2 * kLanes)}};
  }
  static WARPLOOM_INLINE V last(const R* from) {
    if constexpr (kShares) return V::load(from + 3 * kLanes);
    else return V(R(0));
  }

  /// Moves along the row, reconstructing each cell once and computing each flux once. Handles kBlock cells at a time,
  /// so that many of the long dependency chains of a flux overlap.
  template <int kSubstep>
  __attribute__((noinline)) void substep(const R* around, const R* base, R* result, int64_t begin, int64_t end) const {
    Block block;
    const Value first_value = values(around + begin * kStride), second = values(around + (begin + 1) * kStride);
    const Difference difference = equation_.difference(first_value, second, pressure(first_value), pressure(second));
    put(block.behind[0], difference.state, difference.pressure);
    put(block.shown[0], second, V(R(0)));
    Value flux = second;
    for (int64_t first = begin + 1; first < end - 1; first += kBlock) {
      const int count = static_cast<int>(end - 1 - first < kBlock ? end - 1 - first : kBlock);
      reconstruct(around + first * kStride, count, block);
      for (int i = 0; i < count; ++i) {
        const auto means = equation_.means(values(block.shown[i]), values(block.left[i]));
        means.mean.store(block.means[i]);
        means.scale.store(block.means[i] + kLanes);
        means.per_product.store(block.means[i] + 2 * kLanes);
        means.per_scale.store(block.means[i] + 3 * kLanes);
      }
      for (int i = 0; i < count; ++i) {
        const R* const m = block.means[i];
        const auto speeds = equation_.speeds(values(block.shown[i]), values(block.left[i]),
                                             {V::load(m), V::load(m + kLanes), V::load(m + 2 * kLanes), V::load(m + 3 * kLanes)});
        speeds.left.store(block.speeds[i]);
        speeds.right.store(block.speeds[i] + kLanes);
        speeds.radius.store(block.speeds[i] + 2 * kLanes);
      }
      for (int i = 0; i < count; ++i) {
        const R* const v = block.speeds[i];
        const int64_t at = (first + i - 1) * kStride;
        const Value through = equation_.twice_flux(
            {values(block.shown[i]), last(block.shown[i])}, {values(block.left[i]), last(block.left[i])},
            {values(block.behind[i]), last(block.behind[i])}, {V::load(v), V::load(v + kLanes), V::load(v + 2 * kLanes)});
        const Value next = equation_.template update<kSubstep>(values(base + at), flux, through);
#pragma GCC unroll 3
        for (int k = 0; k < 3; ++k) next.item[k].store(result + at + k * kLanes);
#pragma GCC unroll 3
        for (int k = 0; k < 3; ++k) flux.item[k] = through.item[k];
      }
      put(block.shown[0], values(block.shown[count]), last(block.shown[count]));
      put(block.behind[0], values(block.behind[count]), last(block.behind[count]));
    }
  }

  /// Reconstructs `count` cells starting at `row`; the difference behind the first one must be set.
  WARPLOOM_INLINE void reconstruct(const R* row, int count, Block& block) const {
    Value here = values(row);
    V p_here = pressure(here);
    Difference behind = {values(block.behind[0]), last(block.behind[0])};
    for (int i = 0; i < count; ++i) {
      const Value after = values(row + (i + 1) * kStride);
      const V p_after = pressure(after);
      const Difference ahead = equation_.difference(here, after, p_here, p_after);
      const auto faces = equation_.reconstruct(here, behind, ahead);
      put(block.left[i], faces.left.state, faces.left.share);
      put(block.shown[i + 1], faces.right.state, faces.right.share);
      if constexpr (kShares) put(block.behind[i + 1], ahead.state, ahead.pressure);
#pragma GCC unroll 3
      for (int k = 0; k < 3; ++k) {
        here.item[k] = after.item[k];
        behind.state.item[k] = ahead.state.item[k];
      }
      behind.pressure = ahead.pressure;
      p_here = p_after;
    }
    if constexpr (!kShares) put(block.behind[count], behind.state, behind.pressure);
  }
  Euler<V, kLimiter> equation_;
};

template <class E>
int64_t tile_row_numbers(int64_t length, int64_t steps) {
  using Group = TileGroup<E>;
  const int64_t places = length + 2 * steps * E::kSubsteps * E::kReach;
  return (places + 2 * kRowPad) * Group::kStride;
}
template <class E>
int64_t tile_bytes(int64_t length, int64_t steps) {
  return TileSteps<E>::kRows * tile_row_numbers<E>(length, steps) * static_cast<int64_t>(sizeof(typename E::Real));
}

template <class E>
void run_tiles(const void* equation, const TileTask<typename E::Real>& task, int64_t group_index, void* scratch) {
  using R = typename E::Real;
  using Steps = TileSteps<E>;
  const E e = equation_at<E>(equation);
  TileGroup<E> group(e, task, group_index);
  R* rows[Steps::kRows];
  for (int r = 0; r < Steps::kRows; ++r) {
    rows[r] = static_cast<R*>(scratch) + r * tile_row_numbers<E>(task.length, task.steps) + kRowPad * TileGroup<E>::kStride;
  }
  group.gather(rows[0]);
  Steps(e).run(group, rows, task.steps);
  group.scatter(rows[0]);
}

}  // namespace warploom::cpu::WARPLOOM_ISA
