#include "native/core/arguments.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "native/core/environment.h"
#include "native/core/js.h"

namespace warploom {
namespace {

constexpr const char* kViewFields[] = {"data", "imaginary", "offset", "systemStride", "rowStride", "rhsStride"};

bool overlap(const Buffer& a, const Buffer& b) {
  return a.bytes > 0 && b.bytes > 0 && a.source < b.source + b.bytes && b.source < a.source + a.bytes;
}

}  // namespace

napi_value Binder::field(const char* name) {
  if (failure_) return nullptr;
  known_.push_back(name);
  const napi_value value = js::property(env_, parameters_, name);
  if (value == nullptr) {
    fail(Failure::invalid(name, "a readable property", "one that throws"));
    return nullptr;
  }
  const napi_valuetype type = js::type_of(env_, value);
  if (type == napi_undefined) return nullptr;
  ++seen_;
  return value;
}

void Binder::read_choice(const char* name, const char* const* names, size_t count, int32_t* index) {
  const napi_value value = field(name);
  if (value == nullptr) return;
  const bool is_string = js::type_of(env_, value) == napi_string;
  const std::string text = is_string ? js::short_text(env_, value) : std::string();
  std::string expected = "one of";
  for (size_t i = 0; i < count; ++i) {
    if (is_string && text == names[i]) {
      *index = static_cast<int32_t>(i);
      return;
    }
    expected.append(i == 0 ? " '" : ", '").append(names[i]).append("'");
  }
  fail(Failure::invalid(name, std::move(expected), js::describe(env_, value)));
}

void Binder::integer(const char* name, int32_t& value) {
  const napi_value given = field(name);
  if (given == nullptr) return;
  int64_t wide = 0;
  fail(js::read_integer(env_, name, given, INT32_MIN, INT32_MAX, &wide));
  value = static_cast<int32_t>(wide);
}

void Binder::integer(const char* name, int64_t& value) {
  const napi_value given = field(name);
  if (given == nullptr) return;
  fail(js::read_integer(env_, name, given, -js::kLargestSafeInteger, js::kLargestSafeInteger, &value));
  const std::string_view field = name;
  if (field == "n") n_ = value;
  if (field == "batch") batch_ = value;
  if (field == "rhsCount") rhs_count_ = value;
}

void Binder::real(const char* name, double& value) {
  const napi_value given = field(name);
  if (given != nullptr) fail(js::read_real(env_, name, given, &value));
}

void Binder::boolean(const char* name, bool& value) {
  const napi_value given = field(name);
  if (given != nullptr && napi_get_value_bool(env_, given, &value) != napi_ok) {
    fail(Failure::invalid(name, "true or false", js::describe(env_, given)));
  }
}

size_t Binder::add_buffer(std::string name, ElementType type, Role role, bool is_array, napi_value value) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.type = type;
  buffer.is_array = is_array;
  buffer.input = is_array || role != Role::output;  // small ones come back whole, written or not
  buffer.output = role != Role::input;
  buffer.value = value;
  buffers_.push_back(std::move(buffer));
  return buffers_.size() - 1;
}

void Binder::read_array(const char* name, ElementType type, Role role, void** data, int64_t* length) {
  const napi_value value = field(name);
  if (value == nullptr) return;
  arrays_.push_back({add_buffer(name, type, role, true, value), data, length});
}

void Binder::read_stride(napi_value object, const char* name, const char* field, int64_t* value, int* seen) {
  if (failure_) return;
  const napi_value given = js::property(env_, object, field);
  const std::string path = std::string(name) + "." + field;
  if (given == nullptr) return fail(Failure::invalid(path, "a readable property", "one that throws"));
  if (js::type_of(env_, given) == napi_undefined) return;
  ++*seen;
  // Most strides are plain numbers: keep the message's string off this path.
  double real = 0;
  if (napi_get_value_double(env_, given, &real) == napi_ok && real >= -9007199254740991.0 &&
      real <= 9007199254740991.0 && real == static_cast<double>(static_cast<int64_t>(real))) {
    *value = static_cast<int64_t>(real);
    return;
  }
  fail(js::read_integer(env_, path, given, -js::kLargestSafeInteger, js::kLargestSafeInteger, value));
}

void Binder::view(const char* name, View& value, Role role) {
  const napi_value object = field(name);
  if (object == nullptr) return;
  if (js::type_of(env_, object) != napi_object) {
    return fail(Failure::invalid(name, "a view { data, offset, systemStride, rowStride, rhsStride }",
                                 js::describe(env_, object)));
  }
  int seen = 0;
  const napi_value data = js::property(env_, object, "data");
  const napi_value imaginary = js::property(env_, object, "imaginary");
  if (data == nullptr || js::is_absent(env_, data)) {
    return fail(Failure::invalid(std::string(name) + ".data", "a typed array or a device array",
                                 data == nullptr ? "one that throws" : js::describe(env_, data)));
  }
  ++seen;
  const bool split = imaginary != nullptr && js::type_of(env_, imaginary) != napi_undefined;
  if (split) ++seen;
  read_stride(object, name, "offset", &value.offset, &seen);
  read_stride(object, name, "systemStride", &value.system_stride, &seen);
  read_stride(object, name, "rowStride", &value.row_stride, &seen);
  read_stride(object, name, "rhsStride", &value.rhs_stride, &seen);
  check_known(object, seen, name);
  if (failure_) return;
  if (split && !is_complex(scalar_)) {
    return fail(Failure::invalid(std::string(name) + ".imaginary", "nothing: the call's type is real",
                                 js::describe(env_, imaginary)));
  }
  const ElementType type = split ? real_type(element_type(scalar_)) : element_type(scalar_);
  PendingView pending{name, &value, add_buffer(name, type, role, false, data), kNone};
  if (split) pending.imaginary = add_buffer(std::string(name) + ".imaginary", type, role, false, imaginary);
  views_.push_back(pending);
}

/// Counts the object's own fields; only when there are more than were read are their names looked at.
void Binder::check_known(napi_value object, int seen, const std::string& prefix) {
  if (failure_) return;
  napi_value keys = nullptr;
  uint32_t count = 0;
  napi_get_all_property_names(env_, object, napi_key_own_only, napi_key_enumerable, napi_key_numbers_to_strings,
                              &keys);
  if (keys == nullptr || napi_get_array_length(env_, keys, &count) != napi_ok) {
    return fail(Failure::invalid(prefix.empty() ? "parameters" : prefix, "a plain object", "an unreadable one"));
  }
  if (static_cast<int>(count) == seen) return;
  for (uint32_t i = 0; i < count; ++i) {
    napi_value key = nullptr;
    napi_get_element(env_, keys, i, &key);
    const std::string name = js::type_of(env_, key) == napi_string ? js::short_text(env_, key) : "a symbol";
    const bool known = prefix.empty()
        ? std::find(known_.begin(), known_.end(), name) != known_.end()
        : std::find(std::begin(kViewFields), std::end(kViewFields), name) != std::end(kViewFields);
    if (known) continue;
    return fail(Failure::invalid(prefix.empty() ? name : prefix + "." + name, "no such field", "a value"));
  }
}

Failure Binder::finish(const Environment& environment) {
  check_known(parameters_, seen_, "");
  // Reading `resizable` of a buffer may run the caller's code: first all checks, then all addresses.
  for (int pass = 0; pass < 2; ++pass) {
    for (Buffer& buffer : buffers_) {
      if (!failure_ && !buffer.on_device()) read_memory(buffer, environment);
    }
  }
  for (const PendingArray& pending : arrays_) {
    if (!failure_) settle_array(pending);
  }
  for (const PendingView& pending : views_) {
    if (!failure_) settle_view(pending);
  }
  if (!failure_) check_outputs();
  return std::move(failure_);
}

void Binder::read_memory(Buffer& buffer, const Environment& environment) {
  bool is_typed_array = false;
  napi_is_typedarray(env_, buffer.value, &is_typed_array);
  if (DeviceArray* const array = is_typed_array ? nullptr : DeviceArray::of(env_, buffer.value)) {
    const bool matches = array->type() == buffer.type || array->type() == real_type(buffer.type);
    if (!matches || (buffer.is_array && buffer.type == ElementType::int64)) {
      std::string expected = std::string("a ") + typed_array_name(buffer.type);
      if (!buffer.is_array) {
        expected += std::string(" or a device array of ") + kElementTypeNames[static_cast<int>(buffer.type)];
      }
      return fail(Failure::invalid(buffer.name, std::move(expected), js::describe(env_, buffer.value)));
    }
    if (array->memory() == nullptr) return fail(Failure::disposed(buffer.name + ": the device array"));
    if (array->memory()->session.get() != &session_) {
      return fail(Failure::invalid(buffer.name, "an array of the call's device", "an array of another device"));
    }
    buffer.array = array->memory();
    buffer.source = buffer.array->memory;
    buffer.bytes = buffer.array->bytes;
    return;
  }
  TypedArray array;
  Failure failure = read_typed_array(env_, buffer.name, buffer.value, buffer.type, &array);
  if (failure) return fail(std::move(failure));
  buffer.source = array.data;
  buffer.bytes = array.bytes;
  buffer.shared = array.shared;
  if (environment.in_flight(array.data, array.data + array.bytes)) {
    return fail(Failure::invalid(buffer.name, "an array that no pending call writes to",
                                 "an output of a pending call; await it first"));
  }
  buffer.pinned = buffer.is_array ? nullptr : session_.find_pinned(array.data, array.bytes);
}

/// True when the operation writes every element of the view's buffer, so that its old contents need
/// not travel: the dimensions nest without gaps. Views of operations without strides have all zero.
bool Binder::written_whole(const View& view) const {
  std::pair<int64_t, int64_t> dimensions[] = {
      {view.row_stride, n_}, {view.system_stride, batch_}, {view.rhs_stride, rhs_count_}};
  if (view.offset != 0 || view.length == 0) return false;
  if (view.row_stride == 0 && view.system_stride == 0 && view.rhs_stride == 0) {
    return n_ > 0 && batch_ > 0 && view.length % n_ == 0 && view.length / n_ == batch_;
  }
  std::sort(std::begin(dimensions), std::end(dimensions));
  int64_t span = 1;
  for (const auto& [stride, count] : dimensions) {
    if (count <= 1) continue;
    if (stride != span || count > view.length / span) return false;
    span *= count;
  }
  return span == view.length;
}

/// The first buffer over the same memory: arrays given twice are copied once, and stay one array in place.
size_t Binder::same_buffer(size_t index) {
  Buffer& buffer = buffers_[index];
  for (size_t i = 0; i < index; ++i) {
    Buffer& other = buffers_[i];
    if (other.merged || other.is_array || other.source != buffer.source || other.bytes != buffer.bytes) continue;
    buffer.merged = true;
    other.input = other.input || buffer.input;
    other.output = other.output || buffer.output;
    return i;
  }
  return index;
}

void Binder::settle_array(const PendingArray& pending) {
  const Buffer& buffer = buffers_[pending.buffer];
  static char nothing[16];  // an empty array is given, not absent
  *pending.data = buffer.source != nullptr ? buffer.source : nothing;
  *pending.length = buffer.bytes / element_bytes(buffer.type);
  if (buffer.name == "offsets") ragged_ = true;
  if (buffer.bytes > 0) pointers_.push_back({pending.data, pending.buffer});
}

void Binder::settle_view(const PendingView& pending) {
  static char nothing[16];
  const Buffer& data = buffers_[pending.data];
  const int64_t size = element_bytes(data.type);
  if (data.bytes % size != 0) {
    return fail(Failure::invalid(data.name, "pairs of real and imaginary parts", "an odd length"));
  }
  View& view = *pending.view;
  view.data = data.source != nullptr ? data.source : nothing;
  view.length = data.bytes / size;
  if (data.output && !data.input && (ragged_ || !written_whole(view))) {
    buffers_[pending.data].input = true;
    if (pending.imaginary != kNone) buffers_[pending.imaginary].input = true;
  }
  if (data.bytes > 0) pointers_.push_back({&view.data, same_buffer(pending.data)});
  if (pending.imaginary == kNone) return;
  const Buffer& imaginary = buffers_[pending.imaginary];
  if (imaginary.bytes != data.bytes) {
    return fail(Failure::invalid(imaginary.name, "the length of the real parts, " + std::to_string(view.length),
                                 std::to_string(imaginary.bytes / size)));
  }
  view.imaginary = imaginary.source != nullptr ? imaginary.source : nothing;
  if (imaginary.bytes > 0) pointers_.push_back({&view.imaginary, same_buffer(pending.imaginary)});
}

/// Result arrays may share memory with nothing; views are compared window by window in check().
void Binder::check_outputs() {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (!buffers_[i].output) continue;
    for (size_t j = 0; j < buffers_.size(); ++j) {
      const Buffer &a = buffers_[i], &b = buffers_[j];
      if (i == j || !(a.is_array || b.is_array) || !overlap(a, b)) continue;
      const Buffer& at_fault = a.is_array ? a : b;
      return fail(Failure::invalid(at_fault.name, "memory of its own",
                                   "memory that overlaps " + (a.is_array ? b.name : a.name)));
    }
  }
}

}  // namespace warploom
