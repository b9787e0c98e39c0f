#include "native/core/call.h"

#include <cstring>
#include <utility>

#include "native/core/js.h"

namespace warploom {
namespace {

constexpr int64_t kAlignment = 256;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Device memory for the length of one call.
class DeviceBlock {
 public:
  explicit DeviceBlock(Session& session) : session_(session) {}
  ~DeviceBlock() {
    if (memory_ != nullptr) session_.release(memory_);
  }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;
  Status reserve(int64_t bytes) { return session_.allocate(bytes, &memory_); }
  char* memory() const { return static_cast<char*>(memory_); }

 private:
  Session& session_;
  void* memory_ = nullptr;
};

}  // namespace

Failure Call::read(napi_env env, const PackedParameters& packed) {
  Binder binder(env, packed, *session_);
  invocation_->bind(binder);
  Failure failure = binder.finish(*Environment::of(env));
  if (failure) return failure;
  buffers_ = std::move(binder.buffers());
  pointers_ = std::move(binder.pointers());
  failure = place_buffers();
  if (failure) return failure;
  copy_arrays();
  const Status status = invocation_->validate();
  return status.ok() ? Failure() : Failure::from(status);
}

/// Lays the buffers out so that what goes up and what comes down are one range each.
Failure Call::place_buffers() {
  int64_t at = 0, end = 0;
  const auto place = [&](bool input, bool output, bool report = false) {
    for (Buffer& buffer : buffers_) {
      if (!buffer.staged() || buffer.input != input || buffer.output != output || buffer.report != report) continue;
      buffer.offset = at;
      end = at + buffer.bytes;
      at += aligned(buffer.bytes);
    }
  };
  place(true, false);
  download_begin_ = at;
  place(true, true);
  upload_bytes_ = at;
  place(false, true);
  moved_bytes_ = end;  // what pads the last one is nobody's
  const int64_t reports = at;
  place(true, true, true);
  staged_bytes_ = at;
  at = reports;
  for (Buffer& buffer : buffers_) {
    if (!buffer.stays()) continue;
    borrows_ = borrows_ || buffer.shared;
    buffer.offset = at;
    at += aligned(buffer.bytes);
  }
  device_bytes_ = at;
  if (staged_bytes_ == 0) return {};
  block_ = HostBlock::take(session_, staged_bytes_);
  if (block_ == nullptr) return Failure::from(Status(Code::out_of_memory, "not enough host memory"));
  return {};
}

/// Index arrays steer addresses: check() must see the very copy that the operation will read.
void Call::copy_arrays() {
  for (const Buffer& buffer : buffers_) {
    if (!buffer.is_array || !buffer.staged()) continue;
    std::memcpy(block_->memory() + buffer.offset, buffer.source, static_cast<size_t>(buffer.bytes));
  }
  if (block_ != nullptr) point(block_->memory(), true);
}

std::vector<HostCopy> Call::staged_inputs() const {
  std::vector<HostCopy> copies;
  for (int pass = 0; pass < 2; ++pass) {  // ascending: inputs, then those that are outputs too
    for (const Buffer& buffer : buffers_) {
      const bool wanted = buffer.staged() && buffer.input && !buffer.is_array;
      if (wanted && buffer.output == (pass == 1)) copies.push_back({buffer.source, buffer.offset, buffer.bytes});
    }
  }
  return copies;
}

void Call::point(char* block, bool arrays_only) {
  for (const Pointer& pointer : pointers_) {
    const Buffer& buffer = buffers_[pointer.buffer];
    if (buffer.on_device() || buffer.offset < 0) continue;
    if (arrays_only ? !buffer.is_array : buffer.report) continue;
    *pointer.target = block + buffer.offset;
  }
}

/// [progress, outputs and shared inputs…]: what JavaScript must keep for the call.
napi_value Call::keep_values(napi_env env, napi_value progress) {
  const bool reports = js::type_of(env, progress) == napi_function;
  napi_value kept = nullptr;
  uint32_t count = 1;
  for (Buffer& buffer : buffers_) {
    if (!buffer.on_host() || !(buffer.output || buffer.shared)) continue;
    if (kept == nullptr) napi_create_array(env, &kept);
    buffer.kept = static_cast<int32_t>(count);
    napi_set_element(env, kept, count++, buffer.value);
  }
  if (reports) {
    if (kept == nullptr) napi_create_array(env, &kept);
    napi_set_element(env, kept, 0, progress);
    set_progress();
  }
  return kept;
}

napi_value Call::launch(napi_env env, std::unique_ptr<Call> call, napi_value progress) {
  const napi_value promise = call->begin(env, call->keep_values(env, progress));
  Environment* const environment = Environment::of(env);
  for (Buffer& buffer : call->buffers_) {
    if (buffer.on_host() && buffer.output) environment->add_output({buffer.source, buffer.source + buffer.bytes});
    buffer.value = nullptr;
  }
  const std::shared_ptr<HostBlock> block = call->block_;
  Session& session = *call->session_;
  if (block == nullptr) {
    session.post(std::move(call));
    return promise;
  }
  const std::vector<HostCopy> copies = call->staged_inputs();
  const bool overlap = block->worth_overlapping();
  if (!overlap) block->fill(copies);
  session.post(std::move(call));
  if (overlap) block->fill(copies);
  return promise;
}

int64_t Call::workspace_bytes() const {
  return invocation_->workspace_bytes(session_->backend().operations, session_->device());
}

Status Call::work(Session& session, Device& device) {
  WARPLOOM_TRY(point_at_device_arrays(pointers_, buffers_, device));
  return session.host_memory() ? run_on_host(device) : run_apart(session, device);
}

Status Call::run_on_host(Device& device) {
  for (const Pointer& pointer : pointers_) {
    const Buffer& buffer = buffers_[pointer.buffer];
    if (buffer.staged()) *pointer.target = block_->memory() + buffer.offset;
  }
  return invocation_->perform(session_->backend().operations, device, *this);
}

Status Call::run_apart(Session& session, Device& device) {
  DeviceBlock memory(session);
  if (device_bytes_ > 0) {
    WARPLOOM_TRY(memory.reserve(device_bytes_));
    point(memory.memory(), false);
    if (upload_bytes_ > 0) WARPLOOM_TRY(block_->upload(device, memory.memory(), upload_bytes_));
    for (const Buffer& buffer : buffers_) {
      if (!buffer.stays() || !buffer.input) continue;
      WARPLOOM_TRY(device.upload(memory.memory() + buffer.offset, buffer.source, buffer.bytes));
    }
  }
  WARPLOOM_TRY(invocation_->perform(session.backend().operations, device, *this));
  for (const Buffer& buffer : buffers_) {
    if (!buffer.stays() || !buffer.output) continue;
    WARPLOOM_TRY(device.download(buffer.source, memory.memory() + buffer.offset, buffer.bytes));
  }
  if (moved_bytes_ > download_begin_) {
    WARPLOOM_TRY(device.download(block_->memory() + download_begin_, memory.memory() + download_begin_,
                                 moved_bytes_ - download_begin_));
  }
  WARPLOOM_TRY(device.synchronize());
  if (block_ != nullptr) block_->learn();
  return {};
}

Failure Call::finish(napi_env env, napi_value kept, napi_value* result) {
  for (const Buffer& buffer : buffers_) {
    if (!buffer.output || !buffer.staged()) continue;
    napi_value target = nullptr;
    napi_get_element(env, kept, static_cast<uint32_t>(buffer.kept), &target);
    char* const memory = same_memory(env, target, buffer.source, buffer.bytes);
    if (memory == nullptr) {
      return Failure::invalid(buffer.name, "the array as it was given",
                              "an array that was detached or resized during the call");
    }
    std::memcpy(memory, block_->memory() + buffer.offset, static_cast<size_t>(buffer.bytes));
  }
  *result = js::number(env, device_seconds);
  return {};
}

void Call::forget(Environment& environment) {
  for (const Buffer& buffer : buffers_) {
    if (buffer.on_host() && buffer.output) environment.remove_output({buffer.source, buffer.source + buffer.bytes});
  }
}

}  // namespace warploom
