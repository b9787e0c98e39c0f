// The variant `tile` of imaging.curvature: a block's points and their neighbours in shared memory, one thread per
// point.
#pragma once
#include "cuda/imaging/curvature_agent.cuh"

namespace warploom::WARPLOOM_TARGET::imaging {

template <class T>
struct CurvatureTileAgent {
  static constexpr int kTileX = operation::curvature_policy::kTileX;
  static constexpr int kMaxThreads = operation::curvature_policy::kTileThreads, kMinBlocks = 2;
  using Parameters = CurvatureTask<T>;

  /// Points of a tile along z and y; an image has no neighbours in z to share.
  static WARPLOOM_HOST_DEVICE int tile_z(int32_t nz) { return nz == 1 ? 1 : operation::curvature_policy::kTileZ; }
  static WARPLOOM_HOST_DEVICE int tile_y(int32_t nz) { return kMaxThreads / kTileX / tile_z(nz); }
  static WARPLOOM_HOST_DEVICE size_t shared_bytes(int32_t nz) { return sizeof(T) * (kTileX + 2) * (tile_y(nz) + 2) * (tile_z(nz) + 2); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const MarchShape& s = p.shape;
    const int ty = tile_y(s.nz), tz = tile_z(s.nz), wide = kTileX + 2, high = ty + 2, all = wide * high * (tz + 2);
    int64_t index = block.index();
    const auto next = [&](int32_t count) {
      const int64_t rest = index / count;
      const int64_t at = index - rest * count;
      index = rest;
      return at;
    };
    const int64_t x0 = next(s.columns) * kTileX, y0 = next(s.rows) * ty, z0 = next(s.chunks) * tz;
    const T* const image = p.u + index * s.points;
    T* const tile = block.shared<T>();
    for (int k = block.thread(); k < all; k += block.threads()) {
      const int row = k / wide, plane = row / high;
      const int64_t x = x0 + k - row * wide - 1, y = y0 + row - plane * high - 1, z = z0 + plane - 1;
      tile[k] = image[(static_cast<int64_t>(held(static_cast<int>(z), s.nz)) * s.ny + held(static_cast<int>(y), s.ny)) * s.nx +
                      held(static_cast<int>(x), s.nx)];
    }
    block.sync();
    const int row = block.thread() / kTileX, x = block.thread() - row * kTileX, z = row / ty, y = row - z * ty;
    if (x0 + x >= s.nx || y0 + y >= s.ny || z0 + z >= s.nz) return;
    const int64_t here[3] = {x + 1, y + 1, z + 1}, extent[3] = {wide, high, tz + 2};
    const auto around = operation::Surroundings<T>::at(tile, 0, here, extent);
    const T quarter = operation::quarter_curvature(around, 0, operation::face_squares(around, 1, p.eps16, operation::EvenAxes()),
                                                   operation::EvenAxes());
    p.result[index * s.points + ((z0 + z) * s.ny + y0 + y) * s.nx + x0 + x] = T(4) * quarter;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
