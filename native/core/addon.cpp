#include "native/core/addon.h"

#include "native/core/device_array.h"
#include "native/core/device_object.h"
#include "native/core/environment.h"
#include "native/core/faults.h"
#include "native/core/host_copy.h"
#include "native/core/js.h"
#include "native/core/lent_array.h"
#include "native/core/module_object.h"
#include "native/core/nvrtc.h"
#include "native/core/process_state.h"
#include "native/core/thread_pins.h"
#include "native/core/traffic.h"

namespace {

napi_value initialise(napi_env env, napi_value exports) {
  using namespace warploom;
  return js::guarded(env, [&]() -> napi_value {
    pin_library();
    Environment* const environment = Environment::create(env);
    if (environment == nullptr) {
      throw_error(env, Failure::internal("the JavaScript environment is ending"));
      return nullptr;
    }
    js::set(env, exports, "numbers", environment->share_numbers(env));
    register_devices(env, exports);
    register_arrays(env, exports);
    register_modules(env, exports);
    register_nvrtc(env, exports);
    register_copies(env, exports);
    register_lent(env, exports);
    register_pins(env, exports);
    register_faults(env, exports);
    register_traffic(env, exports);
    if (register_bench != nullptr) register_bench(Napi::Env(env), Napi::Object(env, exports));
    return exports;
  });
}

}  // namespace

NAPI_MODULE_INIT() { return initialise(env, exports); }
