// What a compiled equation is to the runtime that advances it (main.cpp), and the other way round.
#pragma once
#include <cstddef>
#include <cstdint>

namespace wl_stencil {

/// A grid as the runtime sees it: planes, rows, columns. Equations in fewer dimensions have one cell along the first axes.
struct Grid {
  int n[3];
  int64_t cells, members;
  const void* parameters;    // [member][parameter]
  const void* coefficients;  // [coefficient][cell], with `pad` more cells at both sides of every axis
  int pad[3];
};

/// How a grid is cut: steps of a pass, and the largest tile.
struct Shape {
  int depth;
  int tile[3];
};

/// Cells of one member.
struct Tile {
  int64_t member;
  int low[3], high[3];
};

/// Steps that are taken in one pass over memory. Arrays are [member][field][cell].
struct Pass {
  const Grid* grid;
  const Shape* shape;
  const void* from;
  void* to;
  int steps;
  const double* times;  // the beginning of every step
  double dt;
};

struct Program {
  int fields, parameters, coefficients, real_bytes;
  /// Cells beyond a tile that every stage needs, along each axis, and whether the axis is periodic.
  int reach[3], margin[3], stages;
  bool periodic[3];
  /// Memory of a thread.
  size_t (*scratch_bytes)(const Shape&);
  /// Takes the steps of a pass on a tile; false if a state is not finite or not admissible.
  bool (*advance)(const Pass&, const Tile&, void* scratch);
};

extern const Program program;

}  // namespace wl_stencil
