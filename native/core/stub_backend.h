// The table of a backend that this build has no code for: every entry answers "not compiled".
#pragma once
#include "cuda/core/backend.h"

namespace warploom::stub {

/// Defines the functions of one stub in the including file: its name and why it is absent.
struct Absence {
  const char* backend;
  const char* reason;
};

template <const Absence& kAbsence>
Status refuse() {
  return Status(Code::not_compiled, std::string(kAbsence.backend) + ": " + kAbsence.reason, "backend");
}

template <const Absence& kAbsence>
Backend make_backend() {
  Backend backend{};
  backend.name = kAbsence.backend;
  backend.count = [] { return int32_t{0}; };
  backend.describe = [](int32_t) {
    DeviceDescription description;
    description.reason = kAbsence.reason;
    return description;
  };
  backend.open = [](int32_t, const OpenOptions&, std::unique_ptr<Device>*) { return refuse<kAbsence>(); };
#define WARPLOOM_OPERATION(domain, name, Parameters)                                                  \
  backend.operations.domain##_##name = [](Device&, const domain::Parameters&, Control&) {             \
    return refuse<kAbsence>();                                                                        \
  };                                                                                                  \
  backend.operations.domain##_##name##_workspace = [](const Device&, const domain::Parameters&) {     \
    return int64_t{0};                                                                                \
  };
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION
  return backend;
}

}  // namespace warploom::stub
