// Test controls of the fault seams of the simt and cuda backends.
#pragma once
#include "native/core/napi_setup.h"

namespace warploom {

/// Adds `faults: { calls(), arm(skip, error, persistent), disarm() }` of the simt backend and `cudaFaults`, the same of
/// the cuda backend, to the exports; each only in builds that have the backend.
void register_faults(napi_env env, napi_value exports);

}  // namespace warploom
