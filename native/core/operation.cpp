#include "native/core/operation.h"

#include <iterator>

#include "native/core/parameters.h"

namespace warploom {
namespace {

// One class and one table row per line of operations.inc.
#define WARPLOOM_OPERATION(domain, name, Parameters)                                              \
  class domain##_##name##_invocation final : public Invocation {                                  \
   public:                                                                                        \
    void bind(Binder& binder) override { visit(binder, parameters_); }                            \
    void footprint(Footprint& f) const override { domain::footprint(f, parameters_); }            \
    Status validate() const override { return check(parameters_); }                               \
    void cuts(Cuts& c) override { domain::cuts(c, parameters_); }                                 \
    Status perform(const Operations& table, Device& device, Control& control) const override {    \
      return table.domain##_##name(device, parameters_, control);                                 \
    }                                                                                             \
    int64_t workspace_bytes(const Operations& table, const Device& device) const override {       \
      return table.domain##_##name##_workspace(device, parameters_);                              \
    }                                                                                             \
   private:                                                                                       \
    domain::Parameters parameters_;                                                               \
  };
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION

template <class T>
std::unique_ptr<Invocation> make() {
  return std::make_unique<T>();
}

constexpr OperationEntry kOperations[] = {
#define WARPLOOM_OPERATION(domain, name, Parameters) \
  {#domain "." #name, &make<domain##_##name##_invocation>},
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION
};

}  // namespace

const OperationEntry* find_operation(uint32_t number) {
  return number < std::size(kOperations) ? &kOperations[number] : nullptr;
}

}  // namespace warploom
