// Benchmark hooks of the addon: operations and their peers, run many times back to back on the device's
// thread. Compiled into builds of a clone only (WARPLOOM_BENCH), never into a released binary.
#pragma once
#include "native/core/napi_setup.h"

namespace warploom {

/// Adds to the addon's exports
///   benchmark(array, operation, sets, { calls, repeats, warmup }): Promise<{ seconds: number[] }>
/// `array` is any device array of the device to run on; `operation` a name of operations() or of peers();
/// `sets` parameter objects, used in turn, whose arrays are all device arrays. `seconds` is the time of one
/// call in each repeat, without transfers and without waiting for the device between calls.
///   peers(): { name, available, reason }[]
/// `reason` says which library a peer uses, or why it cannot run.
void register_bench(napi_env env, napi_value exports);

}  // namespace warploom
