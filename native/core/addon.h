// Entry point of the addon.
#pragma once
#include "native/core/napi_setup.h"

namespace warploom {

/// native/bench/: adds benchmark hooks to the addon's exports. Weak: absent where no benchmark source is linked.
__attribute__((weak)) void register_bench(Napi::Env env, Napi::Object exports);

}  // namespace warploom
