// One sub-step over a piece of a problem, reading from and writing to memory: each point does all its own work, as in
// the paper's Classic.
#pragma once
#include "native/swept/equations.h"
#include "native/swept/kernels.h"

namespace warploom::cpu::WARPLOOM_ISA {

template <class E>
class ClassicPiece {
 public:
  using R = typename E::Real;
  using V = Vector<R>;
  WARPLOOM_INLINE ClassicPiece(const E& equation, const SubstepTask<R>& task)
      : equation_(equation), vectors_(With<E, V>::make(equation)), task_(task), n_(task.domain->n) {}

  template <int kSubstep>
  WARPLOOM_INLINE void run() const {
    int64_t i = task_.begin;
    for (; i < task_.end && i < kReach + 1; ++i) point<kSubstep>(i);
    const int64_t last = task_.end < n_ - 1 - kReach ? task_.end : n_ - 1 - kReach;
    for (; i + kWidth<R> <= last; i += kWidth<R>) points<kSubstep>(i);
    for (; i < task_.end; ++i) point<kSubstep>(i);
  }

 private:
  static constexpr int kReach = E::kReach, kComponents = E::kComponents;

  WARPLOOM_INLINE typename E::Value value_at(int64_t place) const {
    Source source;
    if (task_.domain->holds(place)) source.point = place;
    else source = task_.domain->source(place);
    typename E::Value value;
    for (int k = 0; k < kComponents; ++k) value.item[k] = task_.around[k * n_ + source.point];
    return source.mirrored ? equation_.mirrored(value) : value;
  }

  template <int kSubstep>
  WARPLOOM_INLINE void point(int64_t i) const {
    typename E::Value around[2 * kReach + 1], base;
    for (int d = -kReach; d <= kReach; ++d) around[d + kReach] = value_at(i + d);
    for (int k = 0; k < kComponents; ++k) base.item[k] = task_.base[k * n_ + i];
    const typename E::Value next =
        task_.domain->frozen_point(i) ? base : equation_.template next<kSubstep>(around, base);
    for (int k = 0; k < kComponents; ++k) task_.result[k * n_ + i] = next.item[k];
  }

  template <int kSubstep>
  WARPLOOM_INLINE void points(int64_t i) const {
    typename With<E, V>::Type::Value around[2 * kReach + 1], base;
    for (int k = 0; k < kComponents; ++k) {
      for (int d = -kReach; d <= kReach; ++d) around[d + kReach].item[k] = V::load(task_.around + k * n_ + i + d);
      base.item[k] = V::load(task_.base + k * n_ + i);
    }
    const auto next = vectors_.template next<kSubstep>(around, base);
    for (int k = 0; k < kComponents; ++k) next.item[k].store(task_.result + k * n_ + i);
  }

  E equation_;
  typename With<E, V>::Type vectors_;
  SubstepTask<R> task_;
  int64_t n_;
};

template <class E, int kSubstep>
void classic_substep(const void* equation, const SubstepTask<typename E::Real>& task) {
  ClassicPiece<E>(equation_at<E>(equation), task).template run<kSubstep>();
}

template <class R>
bool all_finite(const R* values, int64_t count) {
  using V = Vector<R>;
  int64_t i = 0;
  V trouble(R(0));  // zero while all are finite
  for (; i + kWidth<R> <= count; i += kWidth<R>) {
    const V value = V::load(values + i);
    trouble = trouble + (value - value);
  }
  R sum = 0;
  for (int l = 0; l < kWidth<R>; ++l) sum += trouble.v[l];
  for (; i < count; ++i) sum += values[i] - values[i];
  return sum == R(0);
}

}  // namespace warploom::cpu::WARPLOOM_ISA
