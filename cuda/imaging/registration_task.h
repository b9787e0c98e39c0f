// The step of imaging.registration along the rows of both images, in the form every backend accepts.
#pragma once
#include <cstdint>

#include "cuda/imaging/axis_factors.h"
#include "cuda/imaging/cosine_plan.h"

namespace warploom::imaging {

struct ImageSums;
struct RegistrationState;

/// Rows 2p and 2p + 1 of the grid (row = y + height * z) are pair p. For each pair the step reads the displacement,
/// from coefficients along x or from memory, and computes the force on it and the sums of registration_sums.h. It
/// writes the displacement (moved or not), or its coefficients along x.
template <class T>
struct RowsTask {
  CosinePlan plan;
  const T* table = nullptr;
  int32_t extent[3] = {1, 1, 1};
  int32_t axes = 2, channels = 1;
  int64_t points = 1, rows = 1, pairs = 1;
  const T *reference = nullptr, *image = nullptr;  ///< channel after channel
  const T* coefficients = nullptr;  ///< source of the displacement or, if null,
  const T* displacement = nullptr;  ///< this is; if that is null too, zero
  const T* laplacian = nullptr;     ///< of the displacement, for the explicit step
  /// The previous displacement, which is replaced by the current one, for the extrapolation; may be null.
  T* trail = nullptr;
  T* new_coefficients = nullptr;    ///< of the moved displacement; may be `coefficients`
  T* result = nullptr;              ///< the displacement, moved if there is a laplacian; may be `displacement`
  T inverse_factor = 1;             ///< 1 / 2n
  T share = 1;                      ///< 1 / channels: of one channel in the force
  double alpha = 0;
  AxisFactors<T> factors;
  RegistrationState* state = nullptr;
  double* sums = nullptr;
  bool all_sums = false;

  bool moves() const { return new_coefficients != nullptr || laplacian != nullptr; }
};

}  // namespace warploom::imaging
