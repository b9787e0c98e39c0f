// Test controls of the fault seam, in builds with the SIMT shim.
#pragma once
#include "native/core/napi_setup.h"

namespace warploom {

/// Adds `faults: { calls(), arm(skip, error, persistent), disarm() }` of the simt backend to the
/// exports; nothing in builds without it.
void register_faults(napi_env env, napi_value exports);

}  // namespace warploom
