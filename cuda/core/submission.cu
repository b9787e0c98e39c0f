// Calls of the cuda backend that are in flight while their thread continues.
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
  const auto make_plain = [&](cudaEvent_t* event) {
    return report(call([&] { return cudaEventCreateWithFlags(event, cudaEventDisableTiming); }), "cudaEventCreateWithFlags");
  };
  if (status.ok()) status = make_plain(&events.computed);
  if (status.ok()) status = make_plain(&events.reached);
  if (!status.ok()) {
    destroy(events);
    return status;
  }
  *out = static_cast<Mark>(marks_.size());
  marks_.push_back(events);
  return {};
}

void CudaDevice::destroy(const MarkEvents& events) {
  for (const EventPair& pair : events.slices) {
    for (const cudaEvent_t event : {pair.begin, pair.end}) {
      if (event != nullptr && !lost_) call_always([&] { return cudaEventDestroy(event); });
    }
  }
  for (const cudaEvent_t event : {events.begin, events.end, events.computed, events.reached}) {
    if (event != nullptr && !lost_) call_always([&] { return cudaEventDestroy(event); });
  }
}

Status CudaDevice::begin(Mark* out) {
  WARPLOOM_TRY(take_mark(out));
  current_ = *out;
  MarkEvents& events = marks_[static_cast<size_t>(current_)];
  events.timed = events.downloading = events.sliced = false;
  events.timed_slices = 0;
  return {};
}

// --- slices ---

cudaStream_t CudaDevice::stream_of(Stage stage) const {
  return stage == Stage::upload ? up_ : stage == Stage::download ? down_ : stream_;
}

Status CudaDevice::prepare_uploads() {
  if (up_ == nullptr) CUDA_TRY(cudaStreamCreateWithFlags, &up_, cudaStreamNonBlocking);
  if (passed_ == nullptr) CUDA_TRY(cudaEventCreateWithFlags, &passed_, cudaEventDisableTiming);
  return {};
}

Status CudaDevice::prepare_slices() {
  WARPLOOM_TRY(prepare_uploads());
  const auto make = [&](cudaEvent_t* event) {
    if (*event != nullptr) return Status();
    return report(call([&] { return cudaEventCreateWithFlags(event, cudaEventDisableTiming); }), "cudaEventCreateWithFlags");
  };
  WARPLOOM_TRY(make(&began_));
  for (auto& turn : stage_ended_) {
    for (cudaEvent_t& event : turn) WARPLOOM_TRY(make(&event));
  }
  return {};
}

Status CudaDevice::leave_stage() {
  CUDA_TRY(cudaEventRecord, stage_ended_[turn_][static_cast<int>(stage_)], stream_of(stage_));
  return {};
}

/// Memory for the slices is allocated in the order of the work stream.
Status CudaDevice::stage(Stage stage, int turn) {
  WARPLOOM_TRY(use());
  if (!staged_) {
    WARPLOOM_TRY(prepare_slices());
    CUDA_TRY(cudaEventRecord, began_, stream_);
    for (bool& used : turn_used_) used = false;
    MarkEvents& events = marks_[static_cast<size_t>(current_)];
    events.sliced = events.downloading = true;
  } else {
    WARPLOOM_TRY(leave_stage());
  }
  staged_ = true;
  stage_ = stage;
  turn_ = turn;
  cudaEvent_t* const ended = stage_ended_[turn];
  switch (stage) {
    case Stage::upload: {
      const cudaEvent_t before = turn_used_[turn] ? ended[static_cast<int>(Stage::download)] : began_;
      turn_used_[turn] = true;
      CUDA_TRY(cudaStreamWaitEvent, up_, before, 0);
      break;
    }
    case Stage::work: CUDA_TRY(cudaStreamWaitEvent, stream_, ended[static_cast<int>(Stage::upload)], 0); break;
    case Stage::download: CUDA_TRY(cudaStreamWaitEvent, down_, ended[static_cast<int>(Stage::work)], 0); break;
  }
  return {};
}

/// The events of the next slice's operation.
Status CudaDevice::time_slice(MarkEvents& events) {
  if (events.timed_slices < events.slices.size()) return {};
  events.slices.emplace_back();
  EventPair& pair = events.slices.back();
  CUDA_TRY(cudaEventCreate, &pair.begin);
  CUDA_TRY(cudaEventCreate, &pair.end);
  return {};
}

Status CudaDevice::upload_later(void* device, const void* host, int64_t bytes) {
  if (bytes == 0) return {};
  WARPLOOM_TRY(use());
  CUDA_TRY(cudaMemcpyAsync, device, host, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, lane());
  return {};
}

/// Large downloads use their own stream, after the call's work, so that they do not delay the next call.
Status CudaDevice::download_later(void* host, const void* device, int64_t bytes) {
  if (bytes == 0) return {};
  WARPLOOM_TRY(use());
  MarkEvents* const events = current_ != kNone ? &marks_[static_cast<size_t>(current_)] : nullptr;
  if (events != nullptr && !staged_ && !events->downloading && bytes >= kOwnStream) {
    CUDA_TRY(cudaEventRecord, events->computed, stream_);
    CUDA_TRY(cudaStreamWaitEvent, down_, events->computed, 0);
    events->downloading = true;
  }
  const cudaStream_t stream = !staged_ && events != nullptr && events->downloading ? down_ : lane();
  CUDA_TRY(cudaMemcpyAsync, host, device, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, stream);
  return {};
}

/// What `later` is given from here on waits for what `earlier` has been given so far.
Status CudaDevice::follow(cudaStream_t later, cudaStream_t earlier) {
  WARPLOOM_TRY(prepare_uploads());
  CUDA_TRY(cudaEventRecord, passed_, earlier);
  CUDA_TRY(cudaStreamWaitEvent, later, passed_, 0);
  return {};
}

Status CudaDevice::upload_aside(bool after_allocation, bool after_work, bool after_downloads) {
  WARPLOOM_TRY(use());
  WARPLOOM_TRY(prepare_uploads());
  if (after_allocation && memory_stream_ != nullptr) WARPLOOM_TRY(follow(up_, memory_stream_));
  else after_work = after_work || after_allocation;
  if (after_work) WARPLOOM_TRY(follow(up_, stream_));
  if (after_downloads) WARPLOOM_TRY(follow(up_, down_));
  uploading_ = true;
  return {};
}

Status CudaDevice::await_downloads() {
  WARPLOOM_TRY(use());
  return follow(stream_, down_);
}

Status CudaDevice::end(Mark mark) {
  WARPLOOM_TRY(use());
  MarkEvents& events = marks_[static_cast<size_t>(mark)];
  // After its first download on the separate stream, the call submits nothing more to the other one.
  CUDA_TRY(cudaEventRecord, events.reached, events.downloading ? down_ : lane());
  if (uploading_) CUDA_TRY(cudaStreamWaitEvent, stream_, events.reached, 0);
  staged_ = uploading_ = false;
  current_ = kNone;
  events.call = true;
  fault_seam().enter();
  return {};
}

void CudaDevice::wait_all() {
  if (lost_ || !use().ok()) return;
  if (up_ != nullptr) call_always([&] { return cudaStreamSynchronize(up_); });
  call_always([&] { return cudaStreamSynchronize(stream_); });
  call_always([&] { return cudaStreamSynchronize(down_); });
}

void CudaDevice::abandon(Mark mark) {
  staged_ = uploading_ = false;
  current_ = kNone;
  wait_all();
  if (mark != kNone) free_marks_.push_back(mark);
}

Status CudaDevice::set(Mark* out) {
  WARPLOOM_TRY(take_mark(out));
  MarkEvents& events = marks_[static_cast<size_t>(*out)];
  events.timed = events.call = events.sliced = false;
  events.timed_slices = 0;
  const Status status =
      report(call([&] { return cudaEventRecord(events.reached, lane()); }), "cudaEventRecord");
  if (!status.ok()) free_marks_.push_back(*out);
  return status;
}

/// A query, repeated often, so not numbered. finish() reports any error.
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
  if (seconds != nullptr && events.sliced) *seconds = 0;
  for (size_t i = 0; i < events.timed_slices && seconds != nullptr && status.ok(); ++i) {
    float milliseconds = 0;
    status = report(call([&] { return cudaEventElapsedTime(&milliseconds, events.slices[i].begin, events.slices[i].end); }),
                    "cudaEventElapsedTime");
    *seconds += static_cast<double>(milliseconds) * 1e-3;
  }
  if (!status.ok()) wait_all();
  events.timed = events.call = events.sliced = false;
  events.timed_slices = 0;
  free_marks_.push_back(mark);
  return status;
}

}  // namespace warploom::cuda
#endif
