#include "native/core/traffic.h"

#include "native/core/js.h"

namespace warploom {

void register_traffic(napi_env env, napi_value exports) {
  const auto read = [](napi_env caller, napi_callback_info) {
    const Traffic& traffic = Traffic::get();
    napi_value counts = nullptr;
    napi_create_object(caller, &counts);
    js::set(caller, counts, "taken", js::number(caller, static_cast<double>(traffic.taken)));
    js::set(caller, counts, "returned", js::number(caller, static_cast<double>(traffic.returned)));
    js::set(caller, counts, "settling", js::number(caller, static_cast<double>(traffic.settling)));
    js::set(caller, counts, "fresh", js::number(caller, static_cast<double>(traffic.fresh)));
    js::set(caller, counts, "slices", js::number(caller, static_cast<double>(traffic.slices)));
    return counts;
  };
  napi_value function = nullptr;
  napi_create_function(env, "traffic", NAPI_AUTO_LENGTH, read, nullptr, &function);
  js::set(env, exports, "traffic", function);
}

}  // namespace warploom
