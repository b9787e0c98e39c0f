// One chunk of swept.measure: vectors hold the lanes of a segment.
#pragma once
#include "cuda/swept/measure_part.h"
#include "native/swept/kernels.h"
#include "native/cpu/vector.h"

namespace warploom::cpu::WARPLOOM_ISA {

using ::warploom::swept::combined;
using ::warploom::swept::kSegment;
using ::warploom::swept::kSegmentLanes;
using ::warploom::swept::Part;

/// Number of float64 vectors that hold the lanes of a segment.
inline constexpr int kSegmentVectors = kSegmentLanes / kWidth<double>;

/// kSegmentLanes values as float64, from register q on.
template <class R>
WARPLOOM_INLINE Vector<double> widened(const R* values, int q) {
  if constexpr (sizeof(R) == 8) {
    return Vector<double>::load(values + q * kWidth<double>);
  } else {
    typedef float Half __attribute__((vector_size(WARPLOOM_VECTOR_BYTES / 2)));
    Half half;
    __builtin_memcpy(&half, values + q * kWidth<double>, sizeof(half));
    return __builtin_convertvector(half, typename RegisterOf<double>::Lanes);
  }
}

struct SegmentLanes {
  Part lane[kSegmentLanes];

  WARPLOOM_INLINE Part tree() {
    for (int distance = kSegmentLanes / 2; distance > 0; distance /= 2) {
      for (int l = 0; l < distance; ++l) lane[l] = combined(lane[l], lane[l + distance]);
    }
    return lane[0];
  }
};

template <class R>
inline Part measure_whole_segment(const R* values) {
  using V = Vector<double>;
  V sum[kSegmentVectors], absolutes[kSegmentVectors], squares[kSegmentVectors], least[kSegmentVectors], most[kSegmentVectors];
  for (int q = 0; q < kSegmentVectors; ++q) {
    sum[q] = absolutes[q] = squares[q] = V(0.0);
    least[q] = V(__builtin_huge_val());
    most[q] = V(-__builtin_huge_val());
  }
  for (int i = 0; i < kSegment; i += kSegmentLanes) {
    for (int q = 0; q < kSegmentVectors; ++q) {
      const V value = widened(values + i, q);
      sum[q] = sum[q] + value;
      absolutes[q] = absolutes[q] + absolute(value);
      squares[q] = squares[q] + value * value;
      least[q] = select(value < least[q], value, least[q]);
      most[q] = select(value > most[q], value, most[q]);
    }
  }
  SegmentLanes lanes;
  for (int q = 0; q < kSegmentVectors; ++q) {
    for (int l = 0; l < kWidth<double>; ++l) {
      lanes.lane[q * kWidth<double> + l] = {sum[q].v[l], absolutes[q].v[l], squares[q].v[l], least[q].v[l], most[q].v[l]};
    }
  }
  return lanes.tree();
}

template <class R>
inline Part measure_part_segment(const R* values, int64_t count) {
  SegmentLanes lanes;
  for (int l = 0; l < kSegmentLanes; ++l) lanes.lane[l] = ::warploom::swept::no_points();
  for (int64_t i = 0; i < count; ++i) {
    ::warploom::swept::add_value(lanes.lane[i % kSegmentLanes], static_cast<double>(values[i]));
  }
  return lanes.tree();
}

template <class R>
Part measure_chunk(const R* values, int64_t count) {
  constexpr int kSegments = ::warploom::swept::kLanes / kSegmentLanes;
  Part parts[kSegments];
  for (int s = 0; s < kSegments; ++s) {
    const int64_t begin = int64_t{s} * kSegment, left = count - begin;
    parts[s] = left >= kSegment ? measure_whole_segment(values + begin) : measure_part_segment(values + begin, left);
  }
  for (int distance = 1; distance < kSegments; distance *= 2) {
    for (int s = 0; s < kSegments; s += 2 * distance) parts[s] = combined(parts[s], parts[s + distance]);
  }
  return parts[0];
}

}  // namespace warploom::cpu::WARPLOOM_ISA
