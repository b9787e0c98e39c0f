// Sums over an image, in an order that is the same on every backend.
//
// Rows (all y of all z of all independent components) are taken in groups of kSumRows and cut into segments of
// kSumWidth points. Lane l of kSumLanes takes the points l, l + kSumLanes, … of a segment, first in the group's first
// row, then in its second, and so on. The lanes are combined in pairs at distances 16, 8, 4, 2 and 1. In the list of
// parts, segments vary faster than groups. Lane l of kListLanes takes the parts l, l + kListLanes, …, which are
// combined by the same tree, starting at distance 128.
#pragma once
#include <cstdint>

#include "cuda/core/portable.h"

namespace warploom::imaging {

inline constexpr int kSumRows = 4, kSumLanes = 32, kListLanes = 256;
inline constexpr int64_t kSumWidth = 1024;

struct SumShape {
  int64_t nx = 1, ny = 1, nz = 1;
  int64_t rows = 1;      ///< ny * nz * independent components
  int64_t segments = 1;  ///< of a row
  int64_t parts = 1;

  static SumShape make(int64_t nx, int64_t ny, int64_t nz, int64_t groups) {
    SumShape s{nx, ny, nz, ny * nz * groups, (nx + kSumWidth - 1) / kSumWidth, 1};
    s.parts = (s.rows + kSumRows - 1) / kSumRows * s.segments;
    return s;
  }
};

/// Sums over a state: norms of gradients, data term, dual energy without the weight of TV.
struct TvPart {
  double variation = 0, data = 0, dual = 0;
  WARPLOOM_PORTABLE void add(const TvPart& o) {
    variation += o.variation;
    data += o.data;
    dual += o.dual;
  }
};
/// Statistics of an image: how many pixels are finite, NaN and infinite; bounds and sum of the finite ones.
struct SurveyPart {
  double sum = 0, least = HUGE_VAL, most = -HUGE_VAL, finite = 0, missing = 0, infinite = 0;
  WARPLOOM_PORTABLE void add(const SurveyPart& o) {
    sum += o.sum;
    least = o.least < least ? o.least : least;
    most = o.most > most ? o.most : most;
    finite += o.finite;
    missing += o.missing;
    infinite += o.infinite;
  }
  WARPLOOM_PORTABLE void take(double value) {
    if (value - value == 0) add({value, value, value, 1, 0, 0});
    else if (value != value) missing += 1;
    else infinite += 1;
  }
};

/// Details of an image, for estimating its noise: those of a Haar transform along every axis with two or more points,
/// on disjoint blocks of two points per axis.
struct DetailShape {
  int64_t nx, ny, nz;     ///< of the grid
  int64_t bx, by, bz;     ///< blocks
  int64_t count;          ///< over all components
  double scale;

  static DetailShape make(int64_t nx, int64_t ny, int64_t nz, int64_t components) {
    const auto blocks = [](int64_t n) { return n > 1 ? n / 2 : 1; };
    const int axes = (nx > 1) + (ny > 1) + (nz > 1);
    constexpr double scales[] = {0, 0.70710678118654752, 0.5, 0.35355339059327376};
    DetailShape s{nx, ny, nz, blocks(nx), blocks(ny), blocks(nz), 0, scales[axes]};
    s.count = axes == 0 ? 0 : s.bx * s.by * s.bz * components;
    return s;
  }
};
/// The magnitude of one detail; NaN if one of its pixels is.
template <class T>
WARPLOOM_PORTABLE double detail_at(const T* image, const DetailShape& s, int64_t index) {
  const int64_t row = index / s.bx, plane = row / s.by, component = plane / s.bz;
  const int64_t x = index - row * s.bx, y = row - plane * s.by, z = plane - component * s.bz;
  const int wx = s.nx > 1 ? 2 : 1, wy = s.ny > 1 ? 2 : 1, wz = s.nz > 1 ? 2 : 1;
  const T* const at = image + ((component * s.nz + wz * z) * s.ny + wy * y) * s.nx + wx * x;
  double sum = 0;
  for (int k = 0; k < wz; ++k) {
    for (int j = 0; j < wy; ++j) {
      for (int i = 0; i < wx; ++i) {
        const double value = static_cast<double>(at[(k * s.ny + j) * s.nx + i]);
        sum += ((i + j + k) & 1) == 0 ? value : -value;
      }
    }
  }
  return portable::absolute(sum) * s.scale;
}

}  // namespace warploom::imaging
