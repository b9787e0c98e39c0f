#include "native/core/faults.h"

#include "cuda/core/fault.h"
#include "native/core/js.h"

namespace warploom {

#if defined(WARPLOOM_HAS_SIMT) || defined(WARPLOOM_HAS_CUDA)
namespace {

using Seam = FaultSeam& (*)();

template <Seam kSeam>
napi_value calls(napi_env env, napi_callback_info) {
  return js::number(env, static_cast<double>(kSeam().calls()));
}

template <Seam kSeam>
napi_value most_in_flight(napi_env env, napi_callback_info) {
  return js::number(env, static_cast<double>(kSeam().most_in_flight()));
}

template <Seam kSeam>
napi_value arm(napi_env env, napi_callback_info info) {
  const js::Arguments<3> arguments(env, info);
  int64_t skip = 0, error = 0;
  bool persistent = false;
  Failure failure = js::read_integer(env, "skip", arguments.value[0], 0, js::kLargestSafeInteger, &skip);
  if (!failure) failure = js::read_integer(env, "error", arguments.value[1], 1, 10000, &error);
  napi_get_value_bool(env, arguments.value[2], &persistent);
  if (failure) {
    throw_error(env, failure);
  } else {
    kSeam().arm(skip, static_cast<int>(error), persistent);
  }
  return nullptr;
}

template <Seam kSeam>
napi_value disarm(napi_env, napi_callback_info) {
  kSeam().disarm();
  return nullptr;
}

template <Seam kSeam>
void add_seam(napi_env env, napi_value exports, const char* property) {
  napi_value faults = nullptr;
  napi_create_object(env, &faults);
  const auto add = [&](const char* name, napi_callback callback) {
    napi_value function = nullptr;
    napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function);
    js::set(env, faults, name, function);
  };
  add("calls", calls<kSeam>);
  add("mostInFlight", most_in_flight<kSeam>);
  add("arm", arm<kSeam>);
  add("disarm", disarm<kSeam>);
  js::set(env, exports, property, faults);
}

}  // namespace

void register_faults(napi_env env, napi_value exports) {
#ifdef WARPLOOM_HAS_SIMT
  add_seam<simt::fault_seam>(env, exports, "faults");
#endif
#ifdef WARPLOOM_HAS_CUDA
  add_seam<cuda::fault_seam>(env, exports, "cudaFaults");
#endif
}
#else
void register_faults(napi_env, napi_value) {}
#endif

}  // namespace warploom
