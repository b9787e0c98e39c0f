// Tuning table of `tiled`: the tile shapes of each equation, and the cost of a step with them.
#pragma once
#include "cuda/swept/tile_shape.h"

namespace warploom::swept::policy {

/// kUnroll: steps of a warp without a branch in between. kDepth: preferred steps between exchanges of resident tiles;
/// kPassDepth: steps of a pass over memory.
template <int kPoints, int kWarps, int kHaloLanes, int kMinBlocks, int kUnroll_, int kDepth_, int kPassDepth_>
struct TunedShape : TileShape<kPoints, kWarps, kHaloLanes, kMinBlocks> {
  static constexpr int kUnroll = kUnroll_, kDepth = kDepth_, kPassDepth = kPassDepth_;
};

template <class... Shapes>
struct ShapeList {};

/// Cycles of a time step: for each place of each warp of a quarter multiprocessor; for waiting within a warp; for an
/// exchange between resident tiles; for a pass of a block.
struct StepCost {
  double place, step, exchange, pass;
};

template <Equation kEquation>
struct TiledShapes;
template <>
struct TiledShapes<Equation::heat> {
  using List = ShapeList<TunedShape<5, 4, 8, 1, 4, 120, 64>, TunedShape<8, 8, 2, 1, 4, 128, 64>, TunedShape<12, 8, 2, 1, 2, 128, 128>,
                         TunedShape<18, 8, 1, 1, 1, 128, 128>, TunedShape<34, 8, 1, 1, 1, 102, 136>,
                         TunedShape<32, 4, 1, 3, 1, 96, 128>>;
  static constexpr StepCost kCost = {6, 60, 1500, 3000};
};
template <>
struct TiledShapes<Equation::kuramoto_sivashinsky> {
  using List = ShapeList<TunedShape<5, 4, 8, 1, 1, 30, 20>, TunedShape<8, 8, 2, 1, 1, 32, 16>, TunedShape<12, 8, 1, 1, 1, 32, 32>,
                         TunedShape<18, 8, 1, 1, 1, 32, 32>, TunedShape<36, 8, 1, 1, 1, 32, 32>, TunedShape<32, 4, 1, 3, 1, 32, 32>>;
  static constexpr StepCost kCost = {28, 200, 1500, 3000};
};
/// From the rates of the step alone (step_euler.cuh). float64: 1 or 2 points per lane and 4 warps per multiprocessor
/// for n = 2^11 to 2^14. From 2^17 on, 4 points and 8 to 12 warps (164 registers per thread or more), or 8 points and 8
/// warps (254 registers) where overlaps cost more. float32: the same small shapes, then 8 points and 16 warps.
template <>
struct TiledShapes<Equation::euler> {
  using List = ShapeList<TunedShape<2, 4, 4, 1, 1, 8, 8>, TunedShape<6, 4, 2, 3, 1, 6, 8>>;
  static constexpr StepCost kCost = {450, 700, 1500, 2300};
};

/// Factor for the time of a pass if nothing else computes while a block reads and writes.
inline constexpr double kLonely = 1.15;
/// A warp's overhead, expressed as a number of places.
inline constexpr double kWarpPlaces = 2;
/// Up to this many rounds of blocks finish together; more rounds even out.
inline constexpr double kFewRounds = 8;
/// In a tile that holds a whole problem: fewest steps between two renewals of its margins, unless no other mode works.
inline constexpr int kSingleDepth = 8;

}  // namespace warploom::swept::policy
