// One call of an operation of the WebAssembly backend: its parameters, run and report.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/core/backend.h"
#include "cuda/core/footprint.h"
#include "native/core/element_type.h"
#include "native/core/report_tables.h"

namespace warploom::wasm {

/// What lib/core/wasm/call.ts says of an array: two of a view (the second: its imaginary parts), one of an array. As
/// doubles in memory.
struct Slot {
  static constexpr double kAbsent = 0, kGiven = 1, kHeld = 2;
  double state;
  double type;     ///< ElementType: of a typed array, or of a device array
  double address;  ///< in memory
  double bytes;
  double needed;   ///< written by bind(): whether the operation needs the old contents
};

/// An error that names an argument.
struct Refusal {
  std::string argument, expected, received;
  int slot = -1;  ///< of the array that was received; -1: `received` says it
  explicit operator bool() const { return !argument.empty(); }
};

/// visit()'s visitor that fills a parameter struct from numbers as lib/core/pack.ts packs them.
class Binder {
 public:
  Binder(const double* numbers, Slot* slots) : numbers_(numbers), slots_(slots), first_slot_(slots) {}

  template <class E, size_t kCount>
  void choice(const char*, E& value, const char* const (&)[kCount]) {
    if (const double index = *numbers_++; index == index) value = static_cast<E>(static_cast<int32_t>(index));
    if constexpr (std::is_same_v<E, ScalarType>) scalar_ = value;
  }
  template <class T>
  void integer(const char*, T& value, Range = {}) {
    if (const double number = *numbers_++; number == number) value = static_cast<T>(number);
  }
  void real(const char*, double& value, Range = {}) {
    if (const double number = *numbers_++; number == number) value = number;
  }
  void boolean(const char*, bool& value) {
    if (const double number = *numbers_++; number == number) value = number != 0;
  }
  template <class T>
  void array(const char* name, Array<T>& value, Role role) {
    using Plain = std::remove_const_t<T>;
    const ElementType type = ElementTypeOf<Plain>::value;
    ++numbers_;
    const Slot* const slot = next(name, type, role, &value);
    if (slot == nullptr) return;
    value.data = static_cast<Plain*>(memory_of(*slot));
    value.length = static_cast<int64_t>(slot->bytes) / element_bytes(type);
  }
  template <class... Names>
  void words(const char* name, Array<int32_t>& value, Role role, const Names&...) {
    array(name, value, role);
  }
  void view(const char* name, View& value, Role role);
  template <class Fields, class Parameters>
  void report(Fields*& fields, const Parameters& parameters);

  const Refusal& refusal() const { return refusal_; }
  /// After visit(): which arrays need their contents; results that overlap.
  void finish(const Footprint& footprint);
  std::unique_ptr<class Report> take_report() { return std::move(report_); }
  std::vector<std::unique_ptr<char[]>> take_held() { return std::move(held_); }

 private:
  struct Use {
    const char* name;
    Slot* slot;
    Role role;
    bool is_array;
    const void* field;
    bool whole;  ///< an output's window covers its buffer
  };
  Slot* next(const char* name, ElementType type, Role role, const void* array);
  void* memory_of(const Slot& slot);
  void refuse(std::string argument, std::string expected, std::string received, const Slot* slot = nullptr);

  const double* numbers_;
  Slot *slots_, *const first_slot_;
  ScalarType scalar_ = ScalarType::float64;
  Refusal refusal_;
  std::unique_ptr<Report> report_;
  std::vector<Use> uses_;
  std::vector<std::unique_ptr<char[]>> held_;
};

/// visit()'s visitor that lists a report's numbers: one for each field; of a table, the number of its numbers (-1: there
/// is none), then those.
class NumberWriter {
 public:
  std::vector<double> list;

  template <class E, size_t kCount>
  void choice(const char*, E& value, const char* const (&)[kCount]) {
    list.push_back(static_cast<double>(static_cast<int64_t>(value)));
  }
  template <class T>
  void integer(const char*, T& value) {
    list.push_back(static_cast<double>(value));
  }
  void real(const char*, double& value) { list.push_back(value); }
  void boolean(const char*, bool& value) { list.push_back(value ? 1 : 0); }
  template <class Row>
  void record(const char*, Table<Row>& table, bool, Where) {
    add(table, table.count == 0);
  }
  template <class Row>
  void rows(const char*, Table<Row>& table, int64_t, Where) {
    add(table, false);
  }
  template <class... Rest>
  void noted(const char*, Table<NotedWord>& table, Rest&&...) {
    add(table, table.count == 0);
  }

 private:
  template <class Row>
  void add(const Table<Row>& table, bool absent) {
    const auto count = table.count * static_cast<int64_t>(sizeof(Row) / sizeof(double));
    list.push_back(absent ? -1 : static_cast<double>(count));
    const double* const numbers = reinterpret_cast<const double*>(table.data);
    if (!absent && numbers != nullptr) list.insert(list.end(), numbers, numbers + count);
  }
};

class Report {
 public:
  virtual ~Report() = default;
  virtual void request(TableRequests& requests) = 0;
  virtual void write(NumberWriter& writer) = 0;
  virtual void find(WordsOfCall& words) = 0;
};

template <class Fields, class Parameters>
class TypedReport final : public Report {
 public:
  explicit TypedReport(const Parameters& parameters) : parameters_(parameters) {}
  Fields* fields() { return &fields_; }
  void request(TableRequests& requests) override { visit(requests, fields_, parameters_); }
  void write(NumberWriter& writer) override { visit(writer, fields_, parameters_); }
  void find(WordsOfCall& words) override { visit(words, fields_, parameters_); }

 private:
  const Parameters& parameters_;
  Fields fields_;
};

template <class Fields, class Parameters>
void Binder::report(Fields*& fields, const Parameters& parameters) {
  auto made = std::make_unique<TypedReport<Fields, Parameters>>(parameters);
  fields = made->fields();
  report_ = std::move(made);
}

/// One call's parameter struct with its type erased.
class Invocation {
 public:
  virtual ~Invocation() = default;
  virtual void bind(Binder& binder) = 0;
  virtual void footprint(Footprint& footprint) const = 0;
  virtual Status validate() const = 0;
  virtual Status perform(Device& device, Control& control) const = 0;
  virtual int64_t workspace_bytes(const Device& device) const = 0;
};

/// The operation with this number, which is its position in operations.inc; null when there is none.
std::unique_ptr<Invocation> make_invocation(int32_t number);

class Call {
 public:
  Call(Device& device, std::unique_ptr<Invocation> invocation) : device_(device), invocation_(std::move(invocation)) {}
  Refusal bind(const double* numbers, Slot* slots);
  /// Once the inputs are in memory.
  Status check();
  Status run(Control& control);
  int64_t workspace_bytes() const { return invocation_->workspace_bytes(device_); }
  /// After run(): the seconds, then the report's numbers.
  std::vector<double>& results() { return results_; }

 private:
  Status make_tables();
  void note_words();

  Device& device_;
  std::unique_ptr<Invocation> invocation_;
  std::unique_ptr<Report> report_;
  std::vector<std::unique_ptr<char[]>> held_;
  std::vector<std::unique_ptr<void, void (*)(void*)>> tables_;
  std::vector<NotedWord> noted_;
  std::vector<double> results_;
};

}  // namespace warploom::wasm
