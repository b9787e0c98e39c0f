#include "native/core/operation.h"

#include <iterator>

#include "cuda/imaging/cosine.h"
#include "cuda/imaging/curvature.h"
#include "cuda/imaging/denoise.h"
#include "cuda/imaging/jacobian.h"
#include "cuda/imaging/registration.h"
#include "cuda/imaging/resample.h"
#include "cuda/imaging/segment.h"
#include "cuda/imaging/warp.h"
#include "cuda/scan/prefix.h"
#include "cuda/swept/advance.h"
#include "cuda/swept/measure.h"
#include "cuda/tridiagonal/condition.h"
#include "cuda/tridiagonal/factor.h"
#include "cuda/tridiagonal/multiply.h"
#include "cuda/tridiagonal/solve.h"
#include "cuda/tridiagonal/solve_factored.h"
#include "cuda/tridiagonal/vjp.h"
#include "native/core/js.h"

namespace warploom {
namespace {

constexpr const char* kRoleNames[] = {"input", "output", "inOut", "report"};

/// visit()'s visitor that lists the fields.
class Describer {
 public:
  explicit Describer(napi_env env) : env_(env) { napi_create_array(env, &fields_); }
  napi_value fields() const { return fields_; }

  template <class E, size_t kCount>
  void choice(const char* name, E&, const char* const (&names)[kCount]) {
    const napi_value field = add(name, "choice");
    napi_value choices = nullptr;
    napi_create_array(env_, &choices);
    for (size_t i = 0; i < kCount; ++i) {
      napi_set_element(env_, choices, static_cast<uint32_t>(i), js::string(env_, names[i]));
    }
    js::set(env_, field, "choices", choices);
  }
  void integer(const char* name, int32_t&) { set(add(name, "integer"), "type", "int32"); }
  void integer(const char* name, int64_t&) { set(add(name, "integer"), "type", "int64"); }
  void real(const char* name, double&) { add(name, "real"); }
  void boolean(const char* name, bool&) { add(name, "boolean"); }
  template <class T>
  void array(const char* name, Array<T>&, Role role) {
    const napi_value field = add(name, "array");
    const ElementType type = ElementTypeOf<std::remove_const_t<T>>::value;
    set(field, "role", kRoleNames[static_cast<int>(role)]);
    set(field, "type", kElementTypeNames[static_cast<int>(type)]);
  }
  void view(const char* name, View&, Role role) {
    set(add(name, "view"), "role", kRoleNames[static_cast<int>(role)]);
  }

 private:
  napi_value add(const char* name, const char* kind) {
    napi_value field = nullptr;
    napi_create_object(env_, &field);
    set(field, "name", name);
    set(field, "kind", kind);
    napi_set_element(env_, fields_, count_++, field);
    return field;
  }
  void set(napi_value field, const char* name, const char* value) {
    js::set(env_, field, name, js::string(env_, value));
  }
  napi_env env_;
  napi_value fields_ = nullptr;
  uint32_t count_ = 0;
};

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
    static napi_value describe(napi_env env) {                                                    \
      domain::Parameters parameters;                                                              \
      Describer describer(env);                                                                   \
      visit(describer, parameters);                                                               \
      return describer.fields();                                                                  \
    }                                                                                             \
                                                                                                  \
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
  {#domain "." #name, &make<domain##_##name##_invocation>, &domain##_##name##_invocation::describe},
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION
};

}  // namespace

const OperationEntry* find_operation(uint32_t number) {
  return number < std::size(kOperations) ? &kOperations[number] : nullptr;
}

napi_value describe_operations(napi_env env) {
  napi_value all = nullptr;
  napi_create_object(env, &all);
  for (const OperationEntry& entry : kOperations) {
    napi_value operation = nullptr;
    napi_create_object(env, &operation);
    js::set(env, operation, "fields", entry.describe(env));
    js::set(env, all, entry.name, operation);
  }
  return all;
}

}  // namespace warploom
