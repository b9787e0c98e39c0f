// A march through the planes of a grid: threads hold patches of adjacent x values and rows in registers.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/imaging/grid.h"

namespace warploom::WARPLOOM_TARGET::imaging {

/// How the threads of a march are placed on the grid. An image is treated as planes of one row each (see
/// curvature_point.h). The groups of `lanes` threads in a block lie side by side in y; for an image, one after another
/// in z. Blocks run through x, y, z and then the components.
struct MarchShape {
  int32_t nx = 1, ny = 1, nz = 1;
  int32_t columns = 1, rows = 1, chunks = 1;  ///< blocks in x, y and z
  int32_t depth = 1;                          ///< planes that a thread visits
  int32_t lanes = 32;                         ///< threads of a group, side by side in x
  bool stacked = true;                        ///< groups side by side in y
  int64_t points = 1;                         ///< between components
};

WARPLOOM_DEVICE int held(int at, int count) { return at < 0 ? 0 : at >= count ? count - 1 : at; }

/// A thread's place: kWide adjacent values in x and kRows rows. kPacked: rows start at multiples of 16 bytes and hold
/// whole packs.
template <class T, int kRows, bool kPacked>
struct MarchPlace {
  static constexpr int kWide = 16 / static_cast<int>(sizeof(T));
  int x0, y0, z0, z1;  ///< first value and row; planes z0 … z1 - 1
  int64_t origin;      ///< of the component
  bool idle;           ///< nothing to do

  WARPLOOM_DEVICE MarchPlace(const device::Block& block, const MarchShape& s) {
    int64_t index = block.index();
    const auto next = [&](int32_t count) {
      const int64_t rest = index / count;
      const int at = static_cast<int>(index - rest * count);
      index = rest;
      return at;
    };
    const int column = next(s.columns), row = next(s.rows), chunk = next(s.chunks);
    const int group = block.thread() / s.lanes, groups = block.threads() / s.lanes;
    x0 = (column * s.lanes + block.thread() - group * s.lanes) * kWide;
    y0 = s.stacked ? (row * groups + group) * kRows : 0;
    z0 = (s.stacked ? chunk : chunk * groups + group) * s.depth;
    z1 = z0 + s.depth < s.nz ? z0 + s.depth : s.nz;
    idle = x0 >= s.nx || y0 >= s.ny || z0 >= s.nz;
    origin = index * s.points;
  }

  /// Positions of the thread's values in a plane, for the row that starts at `row`; beyond the grid the row's last
  /// position repeats.
  struct Places {
    int at[kPacked ? 1 : kWide];
  };
  WARPLOOM_DEVICE Places places(int row, int nx) const {
    Places p;
    WARPLOOM_UNROLL
    for (int k = 0; k < (kPacked ? 1 : kWide); ++k) p.at[k] = row + (kPacked ? x0 : held(x0 + k, nx));
    return p;
  }
  static WARPLOOM_DEVICE void load(const T* plane, const Places& p, T* v) {
    if constexpr (kPacked) {
      const auto pack = *reinterpret_cast<const device::Pack<T>*>(plane + p.at[0]);
      WARPLOOM_UNROLL
      for (int k = 0; k < kWide; ++k) v[k] = pack.item[k];
    } else {
      WARPLOOM_UNROLL
      for (int k = 0; k < kWide; ++k) v[k] = plane[p.at[k]];
    }
  }
  WARPLOOM_DEVICE void store(T* plane, const Places& p, int nx, const T (&v)[kWide]) const {
    if constexpr (kPacked) {
      device::Pack<T> pack;
      WARPLOOM_UNROLL
      for (int k = 0; k < kWide; ++k) pack.item[k] = v[k];
      *reinterpret_cast<device::Pack<T>*>(plane + p.at[0]) = pack;
    } else {
      WARPLOOM_UNROLL
      for (int k = 0; k < kWide; ++k) {
        if (x0 + k < nx) plane[p.at[k]] = v[k];
      }
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
