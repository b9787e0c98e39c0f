// The tile shapes of `tiled`, as its tuning table has them.
#pragma once
#include <algorithm>

#include "test/device/swept_case.h"

#include "cuda/swept/tiled_policy.h"

namespace warploom::test {

/// As a caller asks for it, and what it holds.
struct TileOf {
  int32_t points, threads;
  int64_t places;
  int64_t step_reach;
};

template <class... Shapes>
std::vector<TileOf> tiles_of(swept::policy::ShapeList<Shapes...>, int64_t step_reach) {
  std::vector<TileOf> tiles = {TileOf{Shapes::kPoints, Shapes::kThreads, Shapes::kPlaces, step_reach}...};
  std::sort(tiles.begin(), tiles.end(), [](const TileOf& a, const TileOf& b) { return a.places < b.places; });
  return tiles;
}
/// The smallest first.
inline std::vector<TileOf> tiles_of(Equation equation) {
  using swept::policy::TiledShapes;
  if (equation == Equation::heat) return tiles_of(TiledShapes<Equation::heat>::List(), 1);
  if (equation == Equation::euler) return tiles_of(TiledShapes<Equation::euler>::List(), 4);
  return tiles_of(TiledShapes<Equation::kuramoto_sivashinsky>::List(), 4);
}

}  // namespace warploom::test
