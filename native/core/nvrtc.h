// NVRTC, NVIDIA's run-time compiler: a library of the CUDA toolkit that is loaded when it is first needed.
#pragma once
#include "native/core/napi_setup.h"

namespace warploom {

/// Adds findNvrtc and compileNvrtc to the addon's exports.
void register_nvrtc(napi_env env, napi_value exports);

}  // namespace warploom
