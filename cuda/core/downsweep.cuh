// Register packing of downsweep patterns (Davidson & Owens 2011, sections 2 to 4, Figs. 2b, 4, 8).
//
// A downsweep halves its active items at every stage, while the distance between them doubles. Each lane holds kDepth
// consecutive items in registers; stages whose partners lie inside a lane use only register names and run here. Each
// stage needs one item from another lane: the first item that leaves the sweep in the next lane (r_save: items 0, 1, 3,
// 7, … for radix 2) is combined with the last item of this lane (r_update: always item kDepth-1). The caller's `Items`
// decides how it gets there.
//
// At stride s and radix R, every run of R items s apart ends with the one that remains:
//
//   Items::prepare<R-1, s>()          once per stage, before any item leaves: work that the runs can share
//   Items::eliminate<R-1>(first, s)   items first, first+s, … leave the sweep together
//   Items::save<R-1>(first, s)        once per stage: the leaving run at the front of the lane (r_save)
//   Items::update(kept, left, right)  combines kept with the leaving items beside it; right is kOutside
//                                     for the lane's last item (r_update), whose right partner is
//                                     the next lane's saved item
//
// On the way back up, in reverse order, each run lies between two finished items:
//
//   Items::substitute<R-1>(first, s, left, right)   left is kOutside at the front of the lane; there the
//                                                   left partner is the previous lane's last item
//
// There are two uses. In cyclic reduction (cuda/tridiagonal), eliminate scales rows by their pivots, update eliminates
// them from the kept row on both sides, and substitute is back substitution. In the prefix scan (cuda/scan),
// eliminate<1> does nothing and eliminate<3> forms running sums of the run. update(k, l, r) sets v[k] = v[l] ∘ v[k] and
// ignores r; prepare and save do nothing (communication goes one way). Between down and up the caller scans the lanes'
// last items with shuffles. substitute sets v[i] = v[left] ∘ v[i] for each i of the run, with the previous lanes' total
// for kOutside.
#pragma once
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET {

/// The partner of an item is in a neighbouring lane.
inline constexpr int kOutside = -1;

/// Stages of a downsweep inside one lane of kDepth items. Radix 4 takes two levels in one stage; if kDepth is not a
/// power of four, the last stage has radix 2. Depths that are not powers of two use radix 2: items are counted from the
/// last one, which always remains, and the item at the front of the lane may remain at a stage too. Then nothing is
/// saved, and `left` of update is kOutside.
template <int kDepth, int kRadix = 2>
struct Downsweep {
  static_assert(kDepth > 0 && (kRadix == 2 || (kDepth & (kDepth - 1)) == 0), "radix 4: depth is a power of two");
  static_assert(kRadix == 2 || kRadix == 4, "radix 2 or 4");

  /// All stages, fine to coarse; item kDepth-1 remains.
  template <int kStride = 1, class Items>
  static WARPLOOM_DEVICE void down(Items& items) {
    if constexpr (kStride < kDepth) {
      constexpr int kFan = kStride * kRadix <= kDepth ? kRadix : 2;
      constexpr int kSpan = kFan * kStride;
      constexpr int kFirst = first_leaving(kStride, kSpan), kKept = (kDepth - 1) % kSpan;
      items.template prepare<kFan - 1, kStride>();
      WARPLOOM_UNROLL
      for (int first = kFirst; first + kStride < kDepth; first += kSpan) {
        items.template eliminate<kFan - 1>(first, kStride);
      }
      if constexpr (kFirst < kKept) items.template save<kFan - 1>(kFirst, kStride);
      WARPLOOM_UNROLL
      for (int kept = kKept; kept < kDepth; kept += kSpan) {
        items.update(kept, kept >= kStride ? kept - kStride : kOutside,
                     kept + kStride < kDepth ? kept + kStride : kOutside);
      }
      down<kSpan>(items);
    }
  }

  /// All stages, coarse to fine: computes items kDepth-2 … 0 from item kDepth-1 and the previous lane's last item.
  template <int kStride = 1, class Items>
  static WARPLOOM_DEVICE void up(Items& items) {
    if constexpr (kStride < kDepth) {
      constexpr int kFan = kStride * kRadix <= kDepth ? kRadix : 2;
      constexpr int kSpan = kFan * kStride;
      up<kSpan>(items);
      WARPLOOM_UNROLL
      for (int first = first_leaving(kStride, kSpan); first + kStride < kDepth; first += kSpan) {
        items.template substitute<kFan - 1>(first, kStride, first >= kStride ? first - kStride : kOutside,
                                            first + kSpan - kStride);
      }
    }
  }

 private:
  /// The first item of the first run that leaves at stride s.
  static constexpr WARPLOOM_HOST_DEVICE int first_leaving(int stride, int span) { return (kDepth - 1 + stride) % span; }
};

}  // namespace warploom::WARPLOOM_TARGET
