// The step of imaging.registration along the rows of both images, as every backend takes it.
#pragma once
#include <cstdint>

#include "cuda/imaging/cosine_plan.h"

namespace warploom::imaging {

struct ImageSums;
struct RegistrationState;

/// Rows 2p and 2p + 1 of the grid (row = y + height * z) are pair p. For each pair: the displacement, from coefficients along x or from
/// memory; the force on it; the sums of registration_sums.h; and the displacement, moved or not, or its coefficients along x.
template <class T>
struct RowsTask {
  CosinePlan plan;
  const T* table = nullptr;
  int32_t extent[3] = {1, 1, 1};
  int32_t axes = 2;
  int64_t points = 1, rows = 1, pairs = 1;
  const T *reference = nullptr, *image = nullptr;
  const T* coefficients = nullptr;  ///< where the displacement comes from, or, where this is null,
  const T* displacement = nullptr;  ///< from here; null: zero
  const T* laplacian = nullptr;     ///< of the displacement, for the explicit step
  T* trail = nullptr;               ///< the displacement before, replaced by the present one: for the extrapolation; may be null
  T* new_coefficients = nullptr;    ///< of the moved displacement; may be `coefficients`
  T* result = nullptr;              ///< the displacement, moved if there is a laplacian; may be `displacement`
  T inverse_factor = 1;             ///< 1 / 2n
  double alpha = 0;
  RegistrationState* state = nullptr;
  double* sums = nullptr;
  bool all_sums = false;

  bool moves() const { return new_coefficients != nullptr || laplacian != nullptr; }
};

}  // namespace warploom::imaging
