// Test controls for fault injection in the simt and cuda backends.
#pragma once
#include "native/core/napi_setup.h"

namespace warploom {

/// Adds `faults: { calls(), arm(skip, error, persistent), disarm() }` for the simt backend, and the same as
/// `cudaFaults` for the cuda backend, to the exports. Each exists only in builds that have the backend.
void register_faults(napi_env env, napi_value exports);

}  // namespace warploom
