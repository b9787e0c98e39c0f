// Expands operations.inc into the table of operations every backend fills.
#pragma once
#include <cstdint>

#include "cuda/core/status.h"
#include "cuda/imaging/cosine.h"
#include "cuda/imaging/curvature.h"
#include "cuda/imaging/denoise.h"
#include "cuda/imaging/jacobian.h"
#include "cuda/imaging/registration.h"
#include "cuda/imaging/resample.h"
#include "cuda/imaging/segment.h"
#include "cuda/imaging/warp.h"
#include "cuda/scan/prefix.h"
#include "cuda/swept/advance.h"
#include "cuda/swept/measure.h"
#include "cuda/tridiagonal/condition.h"
#include "cuda/tridiagonal/factor.h"
#include "cuda/tridiagonal/multiply.h"
#include "cuda/tridiagonal/solve.h"
#include "cuda/tridiagonal/solve_factored.h"

namespace warploom {

class Device;
class Control;

struct Operations {
#define WARPLOOM_OPERATION(domain, name, Parameters)                         \
  Status (*domain##_##name)(Device&, const domain::Parameters&, Control&);   \
  int64_t (*domain##_##name##_workspace)(const Device&, const domain::Parameters&);
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION
};

// Declares the functions of one backend; expand inside namespace warploom::<backend>.
#define WARPLOOM_DECLARE_OPERATION(domain, name, Parameters)                           \
  Status domain##_##name(Device&, const ::warploom::domain::Parameters&, Control&);    \
  int64_t domain##_##name##_workspace(const Device&, const ::warploom::domain::Parameters&);

namespace cpu {
#define WARPLOOM_OPERATION WARPLOOM_DECLARE_OPERATION
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION
}  // namespace cpu
namespace cuda {
#define WARPLOOM_OPERATION WARPLOOM_DECLARE_OPERATION
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION
}  // namespace cuda
namespace simt {
#define WARPLOOM_OPERATION WARPLOOM_DECLARE_OPERATION
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION
}  // namespace simt

}  // namespace warploom
