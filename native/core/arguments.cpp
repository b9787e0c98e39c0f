#include "native/core/arguments.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "native/core/environment.h"
#include "native/core/js.h"

namespace warploom {
namespace {

bool overlap(const Buffer& a, const Buffer& b) {
  return a.bytes > 0 && b.bytes > 0 && a.source < b.source + b.bytes && b.source < a.source + a.bytes;
}

}  // namespace

Status point_at_device_arrays(const std::vector<Pointer>& pointers, const std::vector<Buffer>& buffers, Device& device) {
  for (const Pointer& pointer : pointers) {
    const Buffer& buffer = buffers[pointer.buffer];
    if (!buffer.on_device()) continue;
    WARPLOOM_TRY(buffer.array->prepare(device));
    *pointer.target = buffer.array->memory();
  }
  return {};
}

void Binder::read_integer(const char* name, int64_t low, int64_t high, int64_t* value) {
  const double number = next_number();
  if (std::isnan(number)) return;
  if (number >= static_cast<double>(low) && number <= static_cast<double>(high) &&
      number == std::trunc(number)) {
    *value = static_cast<int64_t>(number);
    return;
  }
  fail(Failure::invalid(name, "an integer from " + std::to_string(low) + " to " + std::to_string(high),
                        std::to_string(number)));
}

void Binder::integer(const char* name, int32_t& value) {
  int64_t wide = value;
  read_integer(name, INT32_MIN, INT32_MAX, &wide);
  value = static_cast<int32_t>(wide);
}

void Binder::integer(const char* name, int64_t& value) {
  read_integer(name, -js::kLargestSafeInteger, js::kLargestSafeInteger, &value);
  const std::string_view field = name;
  if (field == "n") n_ = value;
  if (field == "batch") batch_ = value;
  if (field == "rhsCount") rhs_count_ = value;
}

void Binder::real(const char* name, double& value) {
  const double number = next_number();
  if (std::isnan(number)) return;
  if (std::isinf(number)) return fail(Failure::invalid(name, "a finite number", "an infinite one"));
  value = number;
}

void Binder::boolean(const char* name, bool& value) {
  int64_t truth = value ? 1 : 0;
  read_integer(name, 0, 1, &truth);
  value = truth == 1;
}

size_t Binder::add_buffer(std::string name, ElementType type, Role role, bool is_array, double id,
                         napi_value value) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.type = type;
  buffer.is_array = is_array;
  buffer.input = is_array || role != Role::output;  // small ones come back whole, written or not
  buffer.output = role != Role::input;
  buffer.report = role == Role::report;
  buffer.id = id;
  buffer.value = value;
  buffers_.push_back(std::move(buffer));
  return buffers_.size() - 1;
}

void Binder::read_array(const char* name, ElementType type, Role role, void** data, int64_t* length) {
  const double id = next_number();
  const napi_value value = next_value();
  if (std::isnan(id) && js::is_absent(env_, value)) {
    if (role != Role::report || report_ == nullptr) return;
    *data = report_;
    *length = report_words_;
    return;
  }
  arrays_.push_back({add_buffer(name, type, role, true, id, value), data, length});
}

void Binder::view(const char* name, View& view, Role role) {
  const double data_id = next_number(), imaginary_id = next_number();
  const napi_value data = next_value(), imaginary = next_value();
  for (int64_t* const field : {&view.offset, &view.system_stride, &view.row_stride, &view.rhs_stride}) {
    read_integer(name, -js::kLargestSafeInteger, js::kLargestSafeInteger, field);
  }
  if (std::isnan(data_id) && js::is_absent(env_, data)) return;
  const bool split = !std::isnan(imaginary_id) || !js::is_absent(env_, imaginary);
  if (split && !is_complex(scalar_)) {
    return fail(Failure::invalid(std::string(name) + ".imaginary", "nothing: the call's type is real", "an array"));
  }
  const ElementType type = split ? real_type(element_type(scalar_)) : element_type(scalar_);
  PendingView pending{name, &view, add_buffer(name, type, role, false, data_id, data), kNone};
  if (split) {
    pending.imaginary = add_buffer(std::string(name) + ".imaginary", type, role, false, imaginary_id, imaginary);
  }
  views_.push_back(pending);
}

Failure Binder::finish(const Environment& environment) {
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

void Binder::read_device_array(Buffer& buffer, const Environment& environment) {
  const DeviceArray* const array = environment.find_array(buffer.id);
  if (array == nullptr || array->memory() == nullptr) return fail(Failure::disposed("the device array", buffer.name));
  if (buffer.report) {
    return fail(Failure::invalid(buffer.name, std::string("a ") + typed_array_name(buffer.type) + " in host memory",
                                 array->description()));
  }
  const bool matches = array->type() == buffer.type || array->type() == real_type(buffer.type);
  if (!matches || (buffer.is_array && buffer.type == ElementType::int64)) {
    std::string expected = std::string("a ") + typed_array_name(buffer.type);
    if (!buffer.is_array) expected += std::string(" or a device array of ") + type_name(buffer.type);
    return fail(Failure::invalid(buffer.name, std::move(expected), array->description()));
  }
  if (array->memory()->session.get() != &session_) {
    return fail(Failure::invalid(buffer.name, "an array of the call's device", "an array of another device"));
  }
  buffer.array = array->memory();
  buffer.source = buffer.array->address;
  buffer.bytes = buffer.array->bytes;
}

void Binder::read_memory(Buffer& buffer, const Environment& environment) {
  if (!std::isnan(buffer.id)) return read_device_array(buffer, environment);
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
