#include "native/core/describe.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "native/core/element_type.h"
#include "native/core/parameters.h"
#include "native/core/report_tables.h"

namespace warploom {
namespace {

constexpr const char* kRoleNames[] = {"input", "output", "inOut"};

/// Names of fields and choices: nothing in them needs escaping.
std::string quoted(const char* text) { return std::string(1, '"') + text + '"'; }
std::string written(double value) {
  char text[40];
  for (int digits = 15; digits <= 17; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}
template <size_t kCount>
std::string written(const char* const (&texts)[kCount]) {
  std::string list;
  for (const char* const text : texts) list += (list.empty() ? "[" : ",") + quoted(text);
  return list + "]";
}

/// A list of described fields.
class FieldList {
 public:
  std::string list() const { return "[" + list_ + (list_.empty() ? "]" : "}]"); }
  void add(const char* name, const char* kind) {
    list_ += list_.empty() ? "{" : "},{";
    list_ += "\"name\":" + quoted(name) + ",\"kind\":" + quoted(kind);
  }
  /// Of the field that was added last; `value` is JSON.
  void set(const char* name, const std::string& value) { list_ += "," + quoted(name) + ":" + value; }

 private:
  std::string list_;
};

/// visit()'s visitor for a table's row: only doubles, named in the order in which they are stored.
template <class Row>
class Columns {
 public:
  static_assert(sizeof(Row) % sizeof(double) == 0 && std::is_trivially_copyable_v<Row>, "a row is a struct of doubles");
  Columns() {
    visit(*this, row_);
    if (count_ * sizeof(double) != sizeof(Row)) std::abort();  // visit() of a row names another number of fields
  }
  std::string names() const { return "[" + names_ + "]"; }
  void real(const char* name, double& value) {
    if (&value != reinterpret_cast<double*>(&row_) + count_) std::abort();  // out of order in its row
    names_ += (count_++ > 0 ? "," : "") + quoted(name);
  }

 private:
  std::string names_;
  size_t count_ = 0;
  Row row_ = {};
};

/// visit()'s visitor that lists the fields of a report.
class ReportDescriber {
 public:
  std::string fields() const { return fields_.list(); }

  template <class E, size_t kCount>
  void choice(const char* name, E&, const char* const (&names)[kCount]) {
    fields_.add(name, "choice");
    fields_.set("choices", written(names));
  }
  template <class T>
  void integer(const char* name, T&) {
    fields_.add(name, "integer");
  }
  void real(const char* name, double&) { fields_.add(name, "real"); }
  void boolean(const char* name, bool&) { fields_.add(name, "boolean"); }
  template <class Row>
  void record(const char* name, Table<Row>&, bool wanted, Where) {
    add_table<Row>(name, "record", !wanted);
  }
  template <class Row>
  void rows(const char* name, Table<Row>&, int64_t, Where) {
    add_table<Row>(name, "rows", false);
  }
  template <class... Rest>
  void noted(const char* name, Table<NotedWord>&, Rest&&...) {
    add_table<NotedWord>(name, "rows", true);
  }

 private:
  template <class Row>
  void add_table(const char* name, const char* kind, bool optional) {
    fields_.add(name, kind);
    fields_.set("columns", Columns<Row>().names());
    if (optional) fields_.set("optional", "true");
  }
  FieldList fields_;
};

/// visit()'s visitor that lists the fields of the parameters, and those of the report.
class Describer {
 public:
  std::string text() const { return "{\"fields\":" + fields_.list() + ",\"report\":" + report_.fields() + "}"; }

  template <class E, size_t kCount>
  void choice(const char* name, E& value, const char* const (&names)[kCount]) {
    fields_.add(name, "choice");
    fields_.set("choices", written(names));
    fields_.set("default", quoted(names[static_cast<size_t>(value)]));
  }
  void integer(const char* name, int32_t& value, Range range = {}) { add_integer(name, "int32", value, range); }
  void integer(const char* name, int64_t& value, Range range = {}) {
    add_integer(name, "int64", static_cast<double>(value), range);
  }
  void real(const char* name, double& value, Range range = {}) {
    fields_.add(name, "real");
    set_range(value, range);
  }
  void boolean(const char* name, bool& value) {
    fields_.add(name, "boolean");
    fields_.set("default", value ? "true" : "false");
  }
  template <class T>
  void array(const char* name, Array<T>&, Role role) {
    add_array<T>(name, role);
  }
  /// Words with a state in the low byte and flags above it.
  template <size_t kStates, size_t kFlags>
  void words(const char* name, Array<int32_t>&, Role role, const char* const (&states)[kStates], const char* const (&flags)[kFlags]) {
    add_array<int32_t>(name, role);
    fields_.set("states", written(states));
    fields_.set("flags", written(flags));
  }
  void view(const char* name, View&, Role role) {
    fields_.add(name, "view");
    fields_.set("role", quoted(kRoleNames[static_cast<int>(role)]));
  }
  template <class Fields, class Parameters>
  void report(Fields*&, const Parameters& parameters) {
    Fields fields;
    visit(report_, fields, parameters);
  }

 private:
  void add_integer(const char* name, const char* type, double value, const Range& range) {
    fields_.add(name, "integer");
    fields_.set("type", quoted(type));
    set_range(value, range);
  }
  void set_range(double value, const Range& range) {
    fields_.set("default", written(value));
    if (range.least > -kUnbounded) fields_.set(range.open ? "above" : "least", written(range.least));
    if (range.most < kUnbounded) fields_.set("most", written(range.most));
  }
  template <class T>
  void add_array(const char* name, Role role) {
    fields_.add(name, "array");
    fields_.set("role", quoted(kRoleNames[static_cast<int>(role)]));
    fields_.set("type", quoted(type_name(ElementTypeOf<std::remove_const_t<T>>::value)));
  }
  FieldList fields_;
  ReportDescriber report_;
};

template <class Parameters>
std::string description() {
  Parameters parameters;
  Describer describer;
  visit(describer, parameters);
  return describer.text();
}

}  // namespace

std::string describe_operations() {
  std::string all;
#define WARPLOOM_OPERATION(domain, name, Parameters) \
  all += (all.empty() ? "{" : ",") + quoted(#domain "." #name) + ":" + description<domain::Parameters>();
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION
  return all + "}";
}

}  // namespace warploom
