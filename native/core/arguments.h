// From a JavaScript object to an operation's parameter struct, by the struct's own visit().
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

/// One buffer of a call: what the caller gave, and what the backend will be handed instead.
struct Buffer {
  std::string name;  ///< field, or field.imaginary
  ElementType type = ElementType::float64;
  bool is_array = false;  ///< an `array` field; otherwise part of a `view`
  bool input = false;     ///< its contents are needed on the device
  bool output = false;    ///< its contents come back
  bool table = false;     ///< of the report: no memory of the caller's
  bool held = false;      ///< words that only the call sees (PackedParameters::kHeld); a table too
  double id = 0;               ///< of the device array; NaN for memory of JavaScript
  napi_value value = nullptr;  ///< during reading only
  int32_t kept = -1;           ///< outputs in JavaScript's memory: index in the job's kept values
  char* source = nullptr;      ///< address the caller gave, on host or device
  int64_t bytes = 0;
  bool shared = false;
  bool fixed = false;     ///< a typed array whose memory only detaching takes away
  bool owned = false;     ///< made by the library for this call: nobody else sees it before the call settles
  bool in_place = false;  ///< written where it is although it is memory of JavaScript alone
  bool sliced = false;    ///< travels in slices (slice_plan.h)
  std::shared_ptr<ArrayMemory> array;   ///< a device array: used where it is
  std::shared_ptr<PinnedBlock> pinned;  ///< page-locked memory: transferred without a copy
  int32_t part = -1;                    ///< staged ones: the part of the call that contains it
  int64_t offset = -1;                  ///< place in that part; others that travel: place on the device

  bool merged = false;                  ///< the same memory as an earlier buffer, which stands for both

  bool on_device() const { return array != nullptr; }
  /// A buffer of its own in JavaScript's memory.
  bool on_host() const { return !merged && !on_device() && bytes > 0; }
  /// Host memory that outlives the call whatever JavaScript does: needs no copy.
  bool stays() const { return on_host() && (pinned != nullptr || in_place || (shared && !is_array)); }
  bool staged() const { return on_host() && !stays(); }
};

/// A pointer of the parameter struct and the buffer it shall point into.
struct Pointer {
  void** target;
  size_t buffer;
};

/// On the device's thread, before the operation: its device arrays get their memory, and their pointers the
/// addresses, which so far only told what overlaps.
Status point_at_device_arrays(const std::vector<Pointer>& pointers, const std::vector<Buffer>& buffers, Device& device);

/// A call's parameters as lib/core/pack.ts lays them out, in the order of visit(). Reading them runs
/// nothing of the caller's and, for device arrays, calls Node-API not at all. Per field:
///   choice (index), integer, real, boolean (0 or 1): one number, NaN when absent;
///   array: one number, the id of a device array, NaN, kOwned, kFixed or kHeld - count, and one value, a typed array or undefined;
///   view: ids of data and imaginary, offset, and its dimensions; two values. Dimensions: NaN for the whole buffer from the
///   offset on; a rank, so many extents and so many strides; or -1 - rank and extents alone, of elements one after another.
struct PackedParameters {
  static constexpr double kOwned = -1;  ///< a typed array that Buffer::owned is true of
  static constexpr double kFixed = -2;  ///< a typed array on an ArrayBuffer that can never be resized, as owned ones are
  /// No array: room for words in the call's own memory, of which the report brings those that are not zero.
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
  // Ranges are those of check().
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

  /// After visit(): kinds, lengths and memory of all arrays. `describe` says what the call writes whole.
  Failure finish(const Environment& environment, const std::function<void(Footprint&)>& describe);

  std::vector<Buffer>& buffers() { return buffers_; }
  std::vector<Pointer>& pointers() { return pointers_; }
  /// Null for operations that have none. It refers to the parameters.
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
    bool whole = false;  // of the buffer from its offset on
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
