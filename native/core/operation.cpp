#include "native/core/operation.h"

#include <iterator>
#include <stdexcept>
#include <type_traits>

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

constexpr const char* kRoleNames[] = {"input", "output", "inOut"};

/// A list of described fields.
class FieldList {
 public:
  explicit FieldList(napi_env env) : env_(env) { napi_create_array(env, &list_); }
  napi_env env() const { return env_; }
  napi_value list() const { return list_; }
  napi_value add(const char* name, const char* kind) {
    napi_value field = nullptr;
    napi_create_object(env_, &field);
    set(field, "name", name);
    set(field, "kind", kind);
    napi_set_element(env_, list_, count_++, field);
    return field;
  }
  void set(napi_value field, const char* name, const char* value) { js::set(env_, field, name, js::string(env_, value)); }
  void set(napi_value field, const char* name, double value) { js::set(env_, field, name, js::number(env_, value)); }
  template <size_t kCount>
  void set(napi_value field, const char* name, const char* const (&texts)[kCount]) {
    napi_value values = nullptr;
    napi_create_array(env_, &values);
    for (size_t i = 0; i < kCount; ++i) napi_set_element(env_, values, static_cast<uint32_t>(i), js::string(env_, texts[i]));
    js::set(env_, field, name, values);
  }

 private:
  napi_env env_;
  napi_value list_ = nullptr;
  uint32_t count_ = 0;
};

/// visit()'s visitor for a table's row: only doubles, named in the order in which they are stored.
template <class Row>
class Columns {
 public:
  static_assert(sizeof(Row) % sizeof(double) == 0 && std::is_trivially_copyable_v<Row>, "a row is a struct of doubles");
  explicit Columns(napi_env env) : env_(env) {
    napi_create_array(env, &names_);
    visit(*this, row_);
    if (count_ * sizeof(double) != sizeof(Row)) throw std::logic_error("visit() of a row names another number of fields");
  }
  napi_value names() const { return names_; }
  void real(const char* name, double& value) {
    if (&value != reinterpret_cast<double*>(&row_) + count_) throw std::logic_error(std::string(name) + " is out of order in its row");
    napi_set_element(env_, names_, count_++, js::string(env_, name));
  }

 private:
  napi_env env_;
  napi_value names_ = nullptr;
  uint32_t count_ = 0;
  Row row_ = {};
};

/// visit()'s visitor that lists the fields of a report.
class ReportDescriber {
 public:
  explicit ReportDescriber(napi_env env) : fields_(env) {}
  napi_value fields() const { return fields_.list(); }

  template <class E, size_t kCount>
  void choice(const char* name, E&, const char* const (&names)[kCount]) {
    fields_.set(fields_.add(name, "choice"), "choices", names);
  }
  template <class T>
  void integer(const char* name, T&) {
    fields_.add(name, "integer");
  }
  void real(const char* name, double&) { fields_.add(name, "real"); }
  void boolean(const char* name, bool&) { fields_.add(name, "boolean"); }
  template <class Row>
  void record(const char* name, Table<Row>&, bool wanted, Where) {
    const napi_value field = add_table<Row>(name, "record");
    if (!wanted) js::set(fields_.env(), field, "optional", js::boolean(fields_.env(), true));
  }
  template <class Row>
  void rows(const char* name, Table<Row>&, int64_t, Where) {
    add_table<Row>(name, "rows");
  }
  template <class... Rest>
  void noted(const char* name, Table<NotedWord>&, Rest&&...) {
    js::set(fields_.env(), add_table<NotedWord>(name, "rows"), "optional", js::boolean(fields_.env(), true));
  }

 private:
  template <class Row>
  napi_value add_table(const char* name, const char* kind) {
    const napi_value field = fields_.add(name, kind);
    js::set(fields_.env(), field, "columns", Columns<Row>(fields_.env()).names());
    return field;
  }
  FieldList fields_;
};

/// visit()'s visitor that lists the fields of the parameters, and those of the report.
class Describer {
 public:
  explicit Describer(napi_env env) : fields_(env), report_(env) {}
  napi_value fields() const { return fields_.list(); }
  napi_value report() const { return report_.fields(); }

  template <class E, size_t kCount>
  void choice(const char* name, E& value, const char* const (&names)[kCount]) {
    const napi_value field = fields_.add(name, "choice");
    fields_.set(field, "choices", names);
    fields_.set(field, "default", names[static_cast<size_t>(value)]);
  }
  void integer(const char* name, int32_t& value, Range range = {}) { add_integer(name, "int32", value, range); }
  void integer(const char* name, int64_t& value, Range range = {}) { add_integer(name, "int64", static_cast<double>(value), range); }
  void real(const char* name, double& value, Range range = {}) { add_number(fields_.add(name, "real"), value, range); }
  void boolean(const char* name, bool& value) {
    js::set(fields_.env(), fields_.add(name, "boolean"), "default", js::boolean(fields_.env(), value));
  }
  template <class T>
  void array(const char* name, Array<T>&, Role role) {
    add_array<T>(name, role);
  }
  /// Words with a state in the low byte and flags above it.
  template <size_t kStates, size_t kFlags>
  void words(const char* name, Array<int32_t>&, Role role, const char* const (&states)[kStates], const char* const (&flags)[kFlags]) {
    const napi_value field = add_array<int32_t>(name, role);
    fields_.set(field, "states", states);
    fields_.set(field, "flags", flags);
  }
  void view(const char* name, View&, Role role) { fields_.set(fields_.add(name, "view"), "role", kRoleNames[static_cast<int>(role)]); }
  template <class Fields, class Parameters>
  void report(Fields*&, const Parameters& parameters) {
    Fields fields;
    visit(report_, fields, parameters);
  }

 private:
  void add_integer(const char* name, const char* type, double value, const Range& range) {
    const napi_value field = fields_.add(name, "integer");
    fields_.set(field, "type", type);
    add_number(field, value, range);
  }
  void add_number(napi_value field, double value, const Range& range) {
    fields_.set(field, "default", value);
    if (range.least > -kUnbounded) fields_.set(field, range.open ? "above" : "least", range.least);
    if (range.most < kUnbounded) fields_.set(field, "most", range.most);
  }
  template <class T>
  napi_value add_array(const char* name, Role role) {
    const napi_value field = fields_.add(name, "array");
    const ElementType type = ElementTypeOf<std::remove_const_t<T>>::value;
    fields_.set(field, "role", kRoleNames[static_cast<int>(role)]);
    fields_.set(field, "type", kElementTypeNames[static_cast<int>(type)]);
    return field;
  }
  FieldList fields_;
  ReportDescriber report_;
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
      napi_value operation = nullptr;                                                             \
      napi_create_object(env, &operation);                                                        \
      js::set(env, operation, "fields", describer.fields());                                      \
      js::set(env, operation, "report", describer.report());                                      \
      return operation;                                                                           \
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
    js::set(env, all, entry.name, entry.describe(env));
  }
  return all;
}

}  // namespace warploom
