// Calls of the cuda backend that are under way while their thread goes on.
#ifndef WARPLOOM_SIMT
#include "cuda/core/cuda_device_class.h"

namespace warploom::cuda {
namespace {
// Two calls of the runtime more pay from about here on.
constexpr int64_t kOwnStream = int64_t{1} << 20;
}  // namespace

/// A mark's events, from the pool.
Status CudaDevice::take_mark(Mark* out) {
  WARPLOOM_TRY(use());
  if (!free_marks_.empty()) {
    *out = free_marks_.back();
    free_marks_.pop_back();
    return {};
  }
  MarkEvents events;
  Status status = report(call([&] { return cudaEventCreate(&events.begin); }), "cudaEventCreate");
  if (status.ok()) status = report(call([&] { return cudaEventCreate(&events.end); }), "cudaEventCreate");
  const auto make_plain = [&](cudaEvent_t* event, unsigned int flags) {
    return report(call([&] { return cudaEventCreateWithFlags(event, flags | cudaEventDisableTiming); }),
                  "cudaEventCreateWithFlags");
  };
  if (status.ok()) status = make_plain(&events.computed, cudaEventDefault);
  if (status.ok()) status = make_plain(&events.reached, cudaEventBlockingSync);
  if (!status.ok()) {
    destroy(events);
    return status;
  }
  *out = static_cast<Mark>(marks_.size());
  marks_.push_back(events);
  return {};
}

void CudaDevice::destroy(const MarkEvents& events) {
  for (const cudaEvent_t event : {events.begin, events.end, events.computed, events.reached}) {
    if (event != nullptr && !lost_) call_always([&] { return cudaEventDestroy(event); });
  }
}

Status CudaDevice::begin(Mark* out) {
  WARPLOOM_TRY(take_mark(out));
  current_ = *out;
  MarkEvents& events = marks_[static_cast<size_t>(current_)];
  events.timed = events.downloading = false;
  return {};
}

Status CudaDevice::upload_later(void* device, const void* host, int64_t bytes) {
  if (bytes == 0) return {};
  WARPLOOM_TRY(use());
  CUDA_TRY(cudaMemcpyAsync, device, host, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream_);
  return {};
}

/// Large ones on a stream of their own, behind the call's work: they do not keep the next call from the device.
Status CudaDevice::download_later(void* host, const void* device, int64_t bytes) {
  if (bytes == 0) return {};
  WARPLOOM_TRY(use());
  MarkEvents* const events = current_ != kNone ? &marks_[static_cast<size_t>(current_)] : nullptr;
  if (events != nullptr && !events->downloading && bytes >= kOwnStream) {
    CUDA_TRY(cudaEventRecord, events->computed, stream_);
    CUDA_TRY(cudaStreamWaitEvent, down_, events->computed, 0);
    events->downloading = true;
  }
  const cudaStream_t stream = events != nullptr && events->downloading ? down_ : stream_;
  CUDA_TRY(cudaMemcpyAsync, host, device, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, stream);
  return {};
}

Status CudaDevice::end(Mark mark) {
  WARPLOOM_TRY(use());
  MarkEvents& events = marks_[static_cast<size_t>(mark)];
  // From the first download on its own stream, the call submitted nothing to the other.
  CUDA_TRY(cudaEventRecord, events.reached, events.downloading ? down_ : stream_);
  current_ = kNone;
  events.call = true;
  fault_seam().enter();
  return {};
}

void CudaDevice::wait_all() {
  if (lost_ || !use().ok()) return;
  call_always([&] { return cudaStreamSynchronize(stream_); });
  call_always([&] { return cudaStreamSynchronize(down_); });
}

void CudaDevice::abandon(Mark mark) {
  current_ = kNone;
  wait_all();
  if (mark != kNone) free_marks_.push_back(mark);
}

Status CudaDevice::set(Mark* out) {
  WARPLOOM_TRY(take_mark(out));
  MarkEvents& events = marks_[static_cast<size_t>(*out)];
  events.timed = events.call = false;
  const Status status =
      report(call([&] { return cudaEventRecord(events.reached, stream_); }), "cudaEventRecord");
  if (!status.ok()) free_marks_.push_back(*out);
  return status;
}

/// A question, asked again and again: not numbered. What it finds wrong, finish() reports.
bool CudaDevice::reached(Mark mark) {
  if (lost_ || exiting) return true;
  return cudaEventQuery(marks_[static_cast<size_t>(mark)].reached) != cudaErrorNotReady;
}

Status CudaDevice::finish(Mark mark, double* seconds) {
  MarkEvents& events = marks_[static_cast<size_t>(mark)];
  if (events.call) fault_seam().leave();
  Status status = use();
  if (status.ok()) status = wait(events.reached);
  if (status.ok() && seconds != nullptr && events.timed) {
    float milliseconds = 0;
    status = report(call([&] { return cudaEventElapsedTime(&milliseconds, events.begin, events.end); }),
                    "cudaEventElapsedTime");
    *seconds = static_cast<double>(milliseconds) * 1e-3;
  }
  if (!status.ok()) wait_all();
  events.timed = events.call = false;
  free_marks_.push_back(mark);
  return status;
}

}  // namespace warploom::cuda
#endif
