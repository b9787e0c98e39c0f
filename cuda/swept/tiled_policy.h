// Tuning table of `tiled`: tile shapes of each equation and precision, the smallest first. A march takes the first one of
// which one tile holds a problem, or all tiles of the problems stand on the GPU at once; else the last one, in passes.
#pragma once
#include "cuda/swept/tile_shape.h"

namespace warploom::swept::policy {

/// kUnroll: steps of a warp without a branch between. kDepth: wished steps between exchanges of resident tiles;
/// kPassDepth: steps of a pass over memory.
template <int kPoints, int kWarps, int kHaloLanes, int kMinBlocks, int kUnroll_, int kDepth_, int kPassDepth_>
struct TunedShape : TileShape<kPoints, kWarps, kHaloLanes, kMinBlocks> {
  static constexpr int kUnroll = kUnroll_, kDepth = kDepth_, kPassDepth = kPassDepth_;
};

template <class... Shapes>
struct ShapeList {};

template <class Done, class List>
struct Reverse;
template <class... Done>
struct Reverse<ShapeList<Done...>, ShapeList<>> {
  using List = ShapeList<Done...>;
};
template <class... Done, class First, class... Rest>
struct Reverse<ShapeList<Done...>, ShapeList<First, Rest...>> : Reverse<ShapeList<First, Done...>, ShapeList<Rest...>> {};
template <class List>
using Reversed = typename Reverse<ShapeList<>, List>::List;

/// Of Equation (a template of the number type) and the bytes of a number.
template <Equation kEquation, int kBytes>
struct TiledShapes;
template <int kBytes>
struct TiledShapes<Equation::heat, kBytes> {
  using List = ShapeList<TunedShape<4, 4, 4, 1, 4, 96, 64>, TunedShape<8, 8, 2, 1, 4, 96, 64>, TunedShape<17, 16, 1, 1, 2, 64, 128>>;
};
template <int kBytes>
struct TiledShapes<Equation::kuramoto_sivashinsky, kBytes> {
  using List = ShapeList<TunedShape<4, 4, 4, 1, 1, 16, 16>, TunedShape<8, 8, 2, 1, 1, 16, 16>, TunedShape<18, 16, 1, 1, 1, 16, 32>>;
};
template <int kBytes>
struct TiledShapes<Equation::euler, kBytes> {
  using List = ShapeList<TunedShape<4, 4, 2, 1, 1, 8, 8>, TunedShape<8, 8, 1, 1, 1, 8, 16>>;
};

/// In a tile that holds a whole problem: fewest steps between two renewals of its margins.
inline constexpr int kSingleDepth = 8;

}  // namespace warploom::swept::policy
