// Reads a JavaScript object into an operation's parameter struct, through the struct's own visit().
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda/core/footprint.h"
#include "native/core/device_array.h"
#include "native/core/error.h"
#include "native/core/host_block.h"
#include "native/core/napi_setup.h"
#include "native/core/report.h"
#include "native/core/typed_array.h"

namespace warploom {

class Environment;

/// One buffer of a call: what the caller passed, and what the backend gets instead.
struct Buffer {
  std::string name;  ///< field, or field.imaginary
  ElementType type = ElementType::float64;
  bool is_array = false;  ///< an `array` field; otherwise part of a `view`
  bool input = false;     ///< the device needs its contents
  bool output = false;    ///< its contents are copied back
  bool table = false;     ///< of the report: not the caller's memory
  bool held = false;      ///< words that only the call sees (PackedParameters::kHeld); `table` is set too
  double id = 0;               ///< of the device array; NaN for JavaScript's memory
  napi_value value = nullptr;  ///< while reading only
  int32_t kept = -1;           ///< outputs in JavaScript's memory: index in the job's kept values
  char* source = nullptr;      ///< address the caller passed, on the host or the device
  int64_t bytes = 0;
  bool shared = false;
  bool fixed = false;     ///< a typed array whose memory only detaching can take away
  bool owned = false;     ///< made by the library for this call: nobody else sees it before the call settles
  bool in_place = false;  ///< written directly, although only JavaScript owns the memory
  bool sliced = false;    ///< transferred in slices (slice_plan.h)
  std::shared_ptr<ArrayMemory> array;   ///< a device array: used in place
  std::shared_ptr<PinnedBlock> pinned;  ///< page-locked memory: transferred without a copy
  int32_t part = -1;                    ///< staged buffers: the part of the call that contains it
  int64_t offset = -1;                  ///< position in that part; of other transferred buffers: on the device

  bool merged = false;                  ///< the same memory as an earlier buffer, which represents both

  bool on_device() const { return array != nullptr; }
  /// True for a buffer of its own in JavaScript's memory.
  bool on_host() const { return !merged && !on_device() && bytes > 0; }
  /// True for host memory that outlives the call whatever JavaScript does, and so needs no copy.
  bool stays() const { return on_host() && (pinned != nullptr || in_place || (shared && !is_array)); }
  bool staged() const { return on_host() && !stays(); }
};

/// A pointer of the parameter struct, and the buffer it will point into.
struct Pointer {
  void** target;
  size_t buffer;
};

/// Runs on the device's thread, before the operation. Allocates the call's device arrays and replaces their stand-in
/// addresses, which so far only showed what overlaps, by the real ones.
Status point_at_device_arrays(const std::vector<Pointer>& pointers, const std::vector<Buffer>& buffers, Device& device);

/// A call's parameters as lib/core/pack.ts lays them out, in the order of visit(). Reading them runs none of the
/// caller's code and, for device arrays, makes no call to Node-API. Per field:
///   choice (index), integer, real, boolean (0 or 1): one number, NaN when absent;
///   array: one number (the id of a device array, NaN, kOwned, kFixed, or kHeld - count) and one value (a typed array
///   or
///   undefined);
///   view: the ids of data and imaginary, the offset, and the dimensions; two values. Dimensions are NaN for the whole
///   buffer from the offset on; or a rank and as many extents and strides; or -1 - rank and only extents, for
///   contiguous
///   elements.
struct PackedParameters {
  static constexpr double kOwned = -1;  ///< a typed array for which Buffer::owned holds
  /// A typed array on an ArrayBuffer that can never be resized, as owned ones are.
  static constexpr double kFixed = -2;
  /// No array: room for words in the call's own memory. The report brings back those that are not zero.
  static constexpr double kHeld = -3;
  const double* numbers;
  const napi_value* values;
  size_t value_count;
};

/// visit()'s visitor that fills a parameter struct. Fields the caller left out keep their defaults.
class Binder {
 public:
  Binder(napi_env env, const PackedParameters& packed, Session& session)
      : env_(env), packed_(packed), session_(session) {
    buffers_.reserve(16);
    pointers_.reserve(16);
  }

  template <class E, size_t kCount>
  void choice(const char* name, E& value, const char* const (&)[kCount]) {
    int64_t index = static_cast<int64_t>(value);
    read_integer(name, 0, kCount - 1, &index);
    value = static_cast<E>(index);
    if constexpr (std::is_same_v<E, ScalarType>) scalar_ = value;
  }
  // check() checks the ranges.
  void integer(const char* name, int32_t& value, Range = {});
  void integer(const char* name, int64_t& value, Range = {});
  void real(const char* name, double& value, Range = {});
  void boolean(const char* name, bool& value);
  template <class T>
  void array(const char* name, Array<T>& value, Role role) {
    read_array(name, ElementTypeOf<std::remove_const_t<T>>::value, role,
               reinterpret_cast<void**>(const_cast<std::remove_const_t<T>**>(&value.data)), &value.length);
  }
  template <class... Names>
  void words(const char* name, Array<int32_t>& value, Role role, const Names&...) {
    array(name, value, role);
  }
  void view(const char* name, View& value, Role role);
  template <class Fields, class Parameters>
  void report(Fields*& fields, const Parameters& parameters) {
    auto report = std::make_unique<TypedReport<Fields, Parameters>>(parameters);
    fields = report->fields();
    report_ = std::move(report);
  }

  /// After visit(): settles the kinds, lengths and memory of all arrays. `describe` says what the call writes
  /// completely.
  Failure finish(const Environment& environment, const std::function<void(Footprint&)>& describe);

  std::vector<Buffer>& buffers() { return buffers_; }
  std::vector<Pointer>& pointers() { return pointers_; }
  /// Null for operations that have no report. The report refers to the parameters.
  std::unique_ptr<Report> take_report() { return std::move(report_); }

 private:
  struct PendingArray {
    size_t buffer;
    void** data;  // the first field of its Array
    int64_t* length;
    Role role;
  };
  struct PendingView {
    const char* name;
    View* view;
    size_t data;
    size_t imaginary;  // kNone when not split
    Role role;
    bool whole = false;  // the whole buffer from its offset on
    bool dense = false;  // without strides of its own
  };
  static constexpr size_t kNone = SIZE_MAX;

  double next_number() { return *packed_.numbers++; }
  napi_value next_value() {
    return packed_.value_count > 0 ? (--packed_.value_count, *packed_.values++) : nullptr;
  }
  void fail(Failure failure) {
    if (!failure_) failure_ = std::move(failure);
  }
  void read_integer(const char* name, int64_t low, int64_t high, int64_t* value);
  void read_array(const char* name, ElementType type, Role role, void** data, int64_t* length);
  size_t add_buffer(std::string name, ElementType type, Role role, bool is_array, double id, napi_value value);
  void read_memory(Buffer& buffer, const Environment& environment);
  void read_device_array(Buffer& buffer, const Environment& environment);
  void hold(size_t buffer, double id);
  void read_dimensions(const char* name, PendingView* pending);
  void settle_view(const PendingView& pending);
  void settle_array(const PendingArray& pending);
  void check_outputs();
  void settle_contents(const Footprint& footprint);
  size_t same_buffer(size_t index);

  napi_env env_;
  PackedParameters packed_;
  Session& session_;
  Failure failure_;
  ScalarType scalar_ = ScalarType::float64;
  std::unique_ptr<Report> report_;
  std::vector<Buffer> buffers_;
  std::vector<Pointer> pointers_;
  std::vector<PendingArray> arrays_;
  std::vector<PendingView> views_;
};

}  // namespace warploom
