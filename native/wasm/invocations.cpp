// One class and one table row per line of operations.inc.
#include <iterator>

#include "native/core/parameters.h"
#include "native/wasm/call.h"

namespace warploom::wasm {
namespace {

#define WARPLOOM_OPERATION(domain, name, Parameters)                                    \
  class domain##_##name##_invocation final : public Invocation {                        \
   public:                                                                              \
    void bind(Binder& binder) override { visit(binder, parameters_); }                  \
    void footprint(Footprint& f) const override { domain::footprint(f, parameters_); }  \
    Status validate() const override { return check(parameters_); }                     \
    Status perform(Device& device, Control& control) const override {                   \
      return cpu::domain##_##name(device, parameters_, control);                        \
    }                                                                                   \
    int64_t workspace_bytes(const Device& device) const override {                      \
      return cpu::domain##_##name##_workspace(device, parameters_);                     \
    }                                                                                   \
                                                                                        \
   private:                                                                             \
    domain::Parameters parameters_;                                                     \
  };
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION

template <class T>
std::unique_ptr<Invocation> make() {
  return std::make_unique<T>();
}

using Make = std::unique_ptr<Invocation> (*)();
constexpr Make kMakers[] = {
#define WARPLOOM_OPERATION(domain, name, Parameters) &make<domain##_##name##_invocation>,
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION
};

}  // namespace

std::unique_ptr<Invocation> make_invocation(int32_t number) {
  return number >= 0 && number < static_cast<int32_t>(std::size(kMakers)) ? kMakers[number]() : nullptr;
}

}  // namespace warploom::wasm
