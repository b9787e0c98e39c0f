// Calls of the cuda backend that are under way while their thread goes on.
#ifndef WARPLOOM_SIMT
#include "cuda/core/cuda_device_class.h"

namespace warploom::cuda {

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
  if (status.ok()) {
    status = report(call([&] {
                      return cudaEventCreateWithFlags(&events.reached, cudaEventBlockingSync | cudaEventDisableTiming);
                    }),
                    "cudaEventCreateWithFlags");
  }
  if (!status.ok()) {
    destroy(events);
    return status;
  }
  *out = static_cast<Mark>(marks_.size());
  marks_.push_back(events);
  return {};
}

void CudaDevice::destroy(const MarkEvents& events) {
  for (const cudaEvent_t event : {events.begin, events.end, events.reached}) {
    if (event != nullptr && !lost_) call_always([&] { return cudaEventDestroy(event); });
  }
}

Status CudaDevice::begin(Mark* out) {
  WARPLOOM_TRY(take_mark(out));
  current_ = *out;
  marks_[static_cast<size_t>(current_)].timed = false;
  return {};
}

Status CudaDevice::upload_later(void* device, const void* host, int64_t bytes) {
  if (bytes == 0) return {};
  WARPLOOM_TRY(use());
  CUDA_TRY(cudaMemcpyAsync, device, host, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream_);
  return {};
}

Status CudaDevice::download_later(void* host, const void* device, int64_t bytes) {
  if (bytes == 0) return {};
  WARPLOOM_TRY(use());
  CUDA_TRY(cudaMemcpyAsync, host, device, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, stream_);
  return {};
}

Status CudaDevice::end(Mark mark) {
  WARPLOOM_TRY(use());
  MarkEvents& events = marks_[static_cast<size_t>(mark)];
  CUDA_TRY(cudaEventRecord, events.reached, stream_);
  current_ = kNone;
  events.call = true;
  fault_seam().enter();
  return {};
}

void CudaDevice::abandon(Mark mark) {
  current_ = kNone;
  if (!lost_ && use().ok()) call_always([&] { return cudaStreamSynchronize(stream_); });
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
  if (!status.ok() && !lost_) call_always([&] { return cudaStreamSynchronize(stream_); });
  events.timed = events.call = false;
  free_marks_.push_back(mark);
  return status;
}

}  // namespace warploom::cuda
#endif
