// Results of a call. Arrays that nobody else sees are written while the device works; the caller's own when the call
// settles.
#include "native/core/call.h"
#include "native/core/moments.h"
#include "native/core/traffic.h"

namespace warploom {

/// Populates the pages of arrays that nobody else sees before the call settles, while the device works.
void Call::populate_results() {
  for (const Buffer& buffer : buffers_) {
    if (buffer.owned && buffer.output && buffer.on_host()) use_large_pages(buffer.source, buffer.bytes);
  }
  if (session_->host_memory()) return;
  std::vector<HostRange> ranges;
  for (const Buffer& buffer : buffers_) {
    if (!owned_whole(buffer)) continue;
    borrows_ = true;
    if (!buffer.input) ranges.push_back({buffer.source, buffer.bytes});
  }
  populating_ = Populating::begin(ranges);
}

/// On the device's thread, so that the event loop has nothing left to copy.
void Call::write_own_results() {
  populating_.reset();
  std::vector<HostCopy> copies;
  for (const Buffer& buffer : buffers_) {
    if (!owned_whole(buffer)) continue;
    parts_[static_cast<size_t>(buffer.part)].block->copy_back({buffer.source, buffer.offset, buffer.bytes}, &copies);
    Traffic::get().returned += buffer.bytes;
  }
  copy_all(copies);
  wrote_own_ = true;
}

/// All results or none: every array is checked before the first is written.
Failure Call::finish(napi_env env, napi_value kept, napi_value* result) {
  Moments::note(Moment::delivered);
  std::vector<HostCopy> copies;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    if (!buffer.output || buffer.table || !buffer.staged()) continue;
    if ((buffer.sliced && results_at_once_) || (wrote_own_ && owned_whole(buffer))) continue;
    napi_value target = nullptr;
    napi_get_element(env, kept, static_cast<uint32_t>(buffer.kept), &target);
    char* const memory = same_memory(env, target, buffer.source, buffer.bytes);
    if (memory == nullptr) {
      return Failure::invalid(buffer.name, "the array as it was given",
                              "an array that was detached or resized during the call");
    }
    if (buffer.sliced) {
      copy_slices(i, memory, &copies);
      continue;
    }
    parts_[static_cast<size_t>(buffer.part)].block->copy_back({memory, buffer.offset, buffer.bytes}, &copies);
    Traffic::get().returned += buffer.bytes;
    Traffic::get().settling += buffer.bytes;
  }
  Failure failure = write_report(env, &copies, result);
  if (failure) return failure;
  copy_all(copies);
  return {};
}

}  // namespace warploom
