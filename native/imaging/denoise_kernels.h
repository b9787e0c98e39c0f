// Entry points of the per-instruction-set kernels of imaging.curvature and imaging.denoise. Includes no header of
// cuda/imaging/ that has templates over number types (kernels.h says why).
#pragma once
#include <cstdint>

namespace warploom::imaging {
template <class T>
struct TvStep;
template <class T>
struct TvWeights;
struct SurveyPart;
}  // namespace warploom::imaging

namespace warploom::cpu {

/// A plane of a grid and its neighbours, for the curvature; beyond the grid, the nearest rows and planes repeat. Fluxes
/// are quarters.
template <class R>
struct CurvaturePlane {
  const R *below, *here, *above;
  int64_t nx, ny;
  R eps16;
  R* low_z;   ///< nx * ny fluxes from `below`; on return those to `above`
  R* rows;    ///< scratch of 4 (nx + 1)
  R* result;
  // Only for the flow:
  const R* f;
  R weight4, dt;
};

/// A row of the image's step. Rows of q may be rows of zeros.
template <class R>
struct PrimalRow {
  int64_t nx;
  const ::warploom::imaging::TvStep<R>* step;
  R yx, zx;  ///< factors of the differences along the second and the third axis in the divergence
  const R *f, *x, *y, *y_before, *z, *z_before;
  R *u, *bar;
};

/// A row of the dual variable's step, for `channels` components that share a norm. A neighbour beyond the grid is the
/// row itself.
template <class R>
struct DualRow {
  int64_t nx, channels;
  int64_t q_stride, y_stride, bar_stride;  ///< between components; y may be a row of zeros
  R s[3];  ///< the step of the components of q: x, y and z
  const R *bar, *after, *above;
  R *x, *y, *z;
};

/// Points begin … end - 1 of a row, for the energies; begin is a multiple of 32. lanes: 3 x 32 sums.
template <class R>
struct EnergyRow {
  int64_t nx, begin, end, channels, points;  ///< points: between components
  bool impulse, flow;
  double weight, least, most;  ///< weight: of TV, times the factor x of the differences
  const ::warploom::imaging::TvWeights<R>* weights;
  const R *u, *after, *above, *f, *x, *y, *y_before, *z, *z_before;  ///< z: null in images
  int64_t y_stride, z_stride;  ///< of y_before and z_before, between components; zero for rows of zeros
  double* lanes;
};

/// Kernels of one element type.
template <class R>
struct DenoiseKernels {
  int lanes;  ///< of a vector
  /// Fluxes from plane `below` to plane `here`, into task.low_z: the start of a march.
  void (*flux_between)(const CurvaturePlane<R>&);
  void (*curvature_plane)(const CurvaturePlane<R>&, bool flow);
  void (*primal_row)(const PrimalRow<R>&, bool impulse);
  void (*dual_row)(const DualRow<R>&);
  void (*energy_row)(const EnergyRow<R>&);
};

}  // namespace warploom::cpu
