#include "native/core/arguments.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cuda/core/view.h"
#include "native/core/environment.h"
#include "native/core/js.h"

namespace warploom {
namespace {

bool overlap(const Buffer& a, const Buffer& b) {
  if (a.bytes == 0 || b.bytes == 0 || a.held || b.held) return false;
  return a.source < b.source + b.bytes && b.source < a.source + a.bytes;
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
      number == static_cast<double>(static_cast<int64_t>(number))) {
    *value = static_cast<int64_t>(number);
    return;
  }
  fail(Failure::invalid(name, "an integer from " + std::to_string(low) + " to " + std::to_string(high),
                        std::to_string(number)));
}

void Binder::integer(const char* name, int32_t& value, Range) {
  int64_t wide = value;
  read_integer(name, INT32_MIN, INT32_MAX, &wide);
  value = static_cast<int32_t>(wide);
}

void Binder::integer(const char* name, int64_t& value, Range) {
  read_integer(name, -js::kLargestSafeInteger, js::kLargestSafeInteger, &value);
}

void Binder::real(const char* name, double& value, Range) {
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
  buffer.input = true;  // until settle_contents()
  buffer.output = role != Role::input;
  buffer.owned = id == PackedParameters::kOwned;
  buffer.fixed = buffer.owned || id == PackedParameters::kFixed;
  buffer.id = buffer.fixed ? NAN : id;
  buffer.value = value;
  buffers_.push_back(std::move(buffer));
  return buffers_.size() - 1;
}

void Binder::read_array(const char* name, ElementType type, Role role, void** data, int64_t* length) {
  const double id = next_number();
  const napi_value value = next_value();
  if (std::isnan(id) && js::is_absent(env_, value)) return;
  arrays_.push_back({add_buffer(name, type, role, true, id, value), data, length, role});
  if (id <= PackedParameters::kHeld) hold(buffers_.size() - 1, id);
}

void Binder::hold(size_t index, double id) {
  Buffer& buffer = buffers_[index];
  const double count = PackedParameters::kHeld - id;
  if (!buffer.output || buffer.type != ElementType::int32 || count > static_cast<double>(js::kLargestSafeInteger / 8)) {
    return fail(Failure::invalid(buffer.name, "an array", "room for words"));
  }
  buffer.held = buffer.table = true;
  buffer.bytes = static_cast<int64_t>(count) * element_bytes(buffer.type);
}

void Binder::view(const char* name, View& view, Role role) {
  const double data_id = next_number(), imaginary_id = next_number();
  const napi_value data = next_value(), imaginary = next_value();
  PendingView pending{name, &view, kNone, kNone, role};
  read_integer(name, -js::kLargestSafeInteger, js::kLargestSafeInteger, &view.offset);
  read_dimensions(name, &pending);
  if (std::isnan(data_id) && js::is_absent(env_, data)) return;
  const bool split = !std::isnan(imaginary_id) || !js::is_absent(env_, imaginary);
  if (split && !is_complex(scalar_)) {
    return fail(Failure::invalid(std::string(name) + ".imaginary", "nothing: the call's type is real", "an array"));
  }
  const ElementType type = split ? real_type(element_type(scalar_)) : element_type(scalar_);
  pending.data = add_buffer(name, type, role, false, data_id, data);
  if (split) {
    pending.imaginary = add_buffer(std::string(name) + ".imaginary", type, role, false, imaginary_id, imaginary);
  }
  views_.push_back(pending);
}

void Binder::read_dimensions(const char* name, PendingView* pending) {
  View& view = *pending->view;
  const double code = next_number();
  pending->whole = std::isnan(code);
  pending->dense = code < 0;
  const double rank = pending->whole ? 0 : pending->dense ? -1 - code : code;
  if (!(rank <= View::kMaxRank)) return fail(Failure::invalid(name, "at most 4 dimensions", std::to_string(rank)));
  view.rank = static_cast<int32_t>(rank);
  for (int d = 0; d < view.rank; ++d) {
    read_integer(name, -js::kLargestSafeInteger, js::kLargestSafeInteger, &view.extents[d]);
  }
  for (int d = 0; d < view.rank && !pending->dense; ++d) {
    read_integer(name, -js::kLargestSafeInteger, js::kLargestSafeInteger, &view.strides[d]);
  }
}

Failure Binder::finish(const Environment& environment, const std::function<void(Footprint&)>& describe) {
  for (Buffer& buffer : buffers_) {
    if (!failure_ && !buffer.held) read_memory(buffer, environment);
  }
  // Reading `resizable` of a buffer may have run the caller's code, so check that no array has changed.
  const bool asked = std::any_of(buffers_.begin(), buffers_.end(),
                                 [](const Buffer& each) { return std::isnan(each.id) && !each.fixed; });
  for (const Buffer& buffer : buffers_) {
    if (!asked || failure_ || buffer.on_device() || buffer.held || buffer.bytes == 0) continue;
    if (same_memory(env_, buffer.value, buffer.source, buffer.bytes) == nullptr) {
      fail(Failure::invalid(buffer.name, "an array with its memory", "a detached array"));
    }
  }
  for (const PendingArray& pending : arrays_) {
    if (!failure_) settle_array(pending);
  }
  for (const PendingView& pending : views_) {
    if (!failure_) settle_view(pending);
  }
  if (!failure_) {
    Footprint footprint;
    describe(footprint);
    settle_contents(footprint);
    check_outputs();
  }
  return std::move(failure_);
}

/// Old contents are transferred where the call reads them or leaves part of the memory unwritten. Pointers are set
/// afterwards, because an array given twice counts as one.
void Binder::settle_contents(const Footprint& footprint) {
  for (const PendingArray& pending : arrays_) {
    Buffer& buffer = buffers_[pending.buffer];
    if (buffer.held || (buffer.output && !footprint.needs(pending.data, pending.role))) buffer.input = false;
    if (buffer.bytes > 0) pointers_.push_back({pending.data, pending.buffer});
  }
  for (const PendingView& pending : views_) {
    const bool written_whole = pending.role != Role::input && !footprint.needs(pending.view, pending.role) && covers(*pending.view);
    for (const size_t index : {pending.data, pending.imaginary}) {
      if (index == kNone || buffers_[index].bytes == 0) continue;
      Buffer& buffer = buffers_[index];
      if (written_whole) buffer.input = false;
      void** const target = index == pending.data ? &pending.view->data : &pending.view->imaginary;
      pointers_.push_back({target, same_buffer(index)});
    }
  }
}

void Binder::read_device_array(Buffer& buffer, const Environment& environment) {
  const DeviceArray* const array = environment.find_array(buffer.id);
  if (array == nullptr || array->memory() == nullptr) return fail(Failure::disposed("the device array", buffer.name));
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
  Failure failure = read_typed_array(env_, buffer.name, buffer.value, buffer.type, &array, buffer.fixed);
  if (failure) return fail(std::move(failure));
  buffer.source = array.data;
  buffer.bytes = array.bytes;
  buffer.shared = array.shared;
  if (environment.in_flight(array.data, array.data + array.bytes)) {
    return fail(Failure::invalid(buffer.name, "an array that no pending call writes to",
                                 "an output of a pending call; await it first"));
  }
  buffer.in_place = buffer.owned && buffer.output && session_.host_memory();
  buffer.pinned = buffer.is_array ? nullptr : session_.find_pinned(array.data, array.bytes);
}

/// The first buffer over the same memory. An array given twice is copied once, and stays one array when the call works
/// in place.
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
  static char nothing[16];  // an empty array counts as passed, not as absent
  *pending.data = buffer.source != nullptr ? buffer.source : nothing;
  *pending.length = buffer.bytes / element_bytes(buffer.type);
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
  if (pending.whole) {
    view.rank = 1;
    view.extents[0] = std::max<int64_t>(view.length - std::max<int64_t>(view.offset, 0), 0);
    view.strides[0] = 1;
  } else if (pending.dense) {
    lay_out(&view);
  }
  if (pending.imaginary == kNone) return;
  const Buffer& imaginary = buffers_[pending.imaginary];
  if (imaginary.bytes != data.bytes) {
    return fail(Failure::invalid(imaginary.name, "the length of the real parts, " + std::to_string(view.length),
                                 std::to_string(imaginary.bytes / size)));
  }
  view.imaginary = imaginary.source != nullptr ? imaginary.source : nothing;
}

/// Result arrays must not share memory with anything; views are compared window by window in check().
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
