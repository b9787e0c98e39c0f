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

/// What bounds steps of varying length: 1 / the CFL number and 1 / the diffusion number.
struct Limits {
  double time;  // of the state whose rate is wanted
  double h, g;
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
  const Limits* limits;  // null for steps of one length
  // Where passes are stages: which one, the fields at the beginning of the step, and the sum of rk4.
  int stage;
  const void *start, *sum;
  void* sum_to;
};

struct Program {
  int fields, parameters, coefficients, real_bytes;
  /// Cells beyond a tile that every stage needs, along each axis, and whether coefficients are periodic along it.
  int reach[3], margin[3], stages;
  bool periodic[3];
  /// Whether a pass is one stage; tiles are whole planes then.
  bool staged;
  /// Memory of a thread.
  size_t (*scratch_bytes)(const Shape&);
  /// Takes the steps of a pass on a tile; false if a state is not finite or not admissible. `rate`: that of the new state, if wanted.
  bool (*advance)(const Pass&, const Tile&, void* scratch, double& rate);
  /// The largest rate of the cells of a tile of `from`: 1 / the longest step that they allow.
  double (*rate)(const Pass&, const Tile&, void* scratch);
};

extern const Program program;

}  // namespace wl_stencil
