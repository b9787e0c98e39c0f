// Layout of the factors of a tile in a plan's buffer. Include once per instruction set, after the
// standard headers.
#pragma once
#include "cuda/tridiagonal/factor/factor_layout.h"
#include "native/tridiagonal/sources.h"

namespace warploom::cpu::WARPLOOM_ISA {

using operation::FactorLayout;

template <class S>
constexpr ScalarType scalar_type_of() {
  if constexpr (sizeof(RealType<S>) == 4) {
    return kParts<S> == 2 ? ScalarType::complex64 : ScalarType::float32;
  } else {
    return kParts<S> == 2 ? ScalarType::complex128 : ScalarType::float64;
  }
}

/// The factors of one tile: arrays of tile rows, each row the lanes' real parts and then their imaginary parts. The
/// factors of a shared matrix are a tile of one lane, which every lane reads.
template <class S>
class FactorStore {
 public:
  using R = RealType<S>;
  using V = LanesType<S>;
  /// Arrays of the pivoted factorisation; only periodic systems have the last two.
  enum Pivoted { kMultiplier = 0, kPivot = 1, kFirst = 2, kSecond = 3, kLastMultiplier = 4, kLastColumn = 5 };

  FactorStore(const FactorJob& job, const TileLanes<S>& tile)
      : n_(tile.n), lanes_(job.shared ? 1 : tile.lanes) {
    const int64_t first = job.shared ? 0 : tile.first, systems = job.shared ? 1 : job.batch;
    const FactorLayout layout =
        FactorLayout::of(scalar_type_of<S>(), job.n, systems, job.periodic, job.kind);
    auto* const bytes = static_cast<uint8_t*>(job.memory);
    border_ = layout.border;
    data_ = reinterpret_cast<R*>(bytes) + first * job.n * layout.arrays * kParts<S>;
    closing_ = reinterpret_cast<One<S>*>(bytes + layout.closing_at) + 3 * first;
    states_ = reinterpret_cast<int32_t*>(bytes + layout.states_at) + first;
    choices_ = reinterpret_cast<int8_t*>(bytes + layout.choices_at) + first * job.n;
  }
  /// Index of the array that holds the border's solution in periodic systems.
  int64_t border() const { return border_; }

  WARPLOOM_INLINE void put(int64_t array, int64_t row, const S& value) const {
    const R* reals = reinterpret_cast<const R*>(&value);
    R* to = data_ + (array * n_ + row) * lanes_ * kParts<S>;
    for (int part = 0; part < kParts<S>; ++part) {
      if (kLanes<S> == 1 || lanes_ == kLanes<S>) {
        __builtin_memcpy(to + part * kLanes<S>, reals + part * kLanes<S>, sizeof(R) * kLanes<S>);
      } else {
        for (int l = 0; l < lanes_; ++l) to[part * lanes_ + l] = reals[part * kLanes<S> + l];
      }
    }
  }
  WARPLOOM_INLINE S get(int64_t array, int64_t row) const {
    S value;
    R* reals = reinterpret_cast<R*>(&value);
    const R* from = data_ + (array * n_ + row) * lanes_ * kParts<S>;
    for (int part = 0; part < kParts<S>; ++part) {
      if (kLanes<S> == 1 || lanes_ == kLanes<S>) {
        __builtin_memcpy(reals + part * kLanes<S>, from + part * kLanes<S>, sizeof(R) * kLanes<S>);
      } else if (lanes_ == 1) {
        const V all = broadcast<V>(from[part]);
        __builtin_memcpy(reals + part * kLanes<S>, &all, sizeof(V));
      } else {
        for (int l = 0; l < kLanes<S>; ++l) {
          reals[part * kLanes<S> + l] = from[part * lanes_ + (l < lanes_ ? l : lanes_ - 1)];
        }
      }
    }
    return value;
  }
  /// Prefetches a row of an array; rows that do not exist do no harm.
  WARPLOOM_INLINE void fetch(int64_t array, int64_t row) const {
    const R* from = data_ + (array * n_ + row) * lanes_ * kParts<S>;
    constexpr int kLine = 64 / static_cast<int>(sizeof(R));
    for (int at = 0; at < kLanes<S> * kParts<S>; at += kLine) __builtin_prefetch(from + at, 0, 3);
  }
  /// Records which row became the pivot row of a step, as a number in every lane.
  WARPLOOM_INLINE void put_choice(int64_t row, const V& value) const {
    const R* reals = reinterpret_cast<const R*>(&value);
    for (int l = 0; l < lanes_; ++l) choices_[row * lanes_ + l] = static_cast<int8_t>(reals[l]);
  }
  WARPLOOM_INLINE V choice(int64_t row) const {
    V value;
    R* reals = reinterpret_cast<R*>(&value);
    const int8_t* from = choices_ + row * lanes_;
    if (lanes_ == kLanes<S>) {
      for (int l = 0; l < kLanes<S>; ++l) reals[l] = static_cast<R>(from[l]);
    } else {
      for (int l = 0; l < kLanes<S>; ++l) reals[l] = static_cast<R>(from[l < lanes_ ? l : lanes_ - 1]);
    }
    return value;
  }
  /// Bottom corner, lower entry of the last row, Schur complement of a lane's border.
  One<S>& closing(int lane, int which) const { return closing_[3 * (lane < lanes_ ? lane : lanes_ - 1) + which]; }
  /// FactorLayout::state of a lane's system.
  int32_t& state(int lane) const { return states_[lane < lanes_ ? lane : lanes_ - 1]; }

  /// One number of one lane.
  One<S> get_one(int64_t array, int64_t row, int lane) const {
    const R* from = data_ + (array * n_ + row) * lanes_ * kParts<S> + (lane < lanes_ ? lane : lanes_ - 1);
    if constexpr (kParts<S> == 2) return {from[0], from[lanes_]};
    else return *from;
  }
  void put_one(int64_t array, int64_t row, int lane, const One<S>& value) const {
    if (lane >= lanes_) return;
    R* to = data_ + (array * n_ + row) * lanes_ * kParts<S> + lane;
    if constexpr (kParts<S> == 2) {
      to[0] = value.re;
      to[lanes_] = value.im;
    } else {
      *to = value;
    }
  }
  int8_t* choice_of(int64_t row, int lane) const {
    return lane < lanes_ ? &choices_[row * lanes_ + lane] : &choices_[row * lanes_ + lanes_ - 1];
  }

 private:
  int64_t n_;
  int lanes_;
  int64_t border_;
  R* data_;
  One<S>* closing_;
  int32_t* states_;
  int8_t* choices_;
};

/// One lane of a store, with FactorStore's interface for one system.
template <class S>
struct LaneStore {
  using T = One<S>;
  using R = RealType<S>;
  using Pivoted = typename FactorStore<S>::Pivoted;
  const FactorStore<S>* store;
  int lane;
  void put(int64_t array, int64_t row, const T& value) const { store->put_one(array, row, lane, value); }
  T get(int64_t array, int64_t row) const { return store->get_one(array, row, lane); }
  void put_choice(int64_t row, const R& value) const { *store->choice_of(row, lane) = static_cast<int8_t>(value); }
  R choice(int64_t row) const { return static_cast<R>(*store->choice_of(row, lane)); }
};

}  // namespace warploom::cpu::WARPLOOM_ISA
