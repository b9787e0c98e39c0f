// Expands operations.inc into the table of operations that every backend fills. Knows the parameter structs only by
// name, so that a change to one domain's header rebuilds only that domain; the addon's operation.cpp includes all of
// them.
#pragma once
#include <cstdint>

#include "cuda/core/status.h"

namespace warploom {

class Device;
class Control;

#define WARPLOOM_OPERATION(domain, name, Parameters) \
  namespace domain {                                 \
  struct Parameters;                                 \
  }
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION

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
