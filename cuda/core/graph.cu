// CUDA graphs: repeated launches without the host's overhead for each.
#ifndef WARPLOOM_SIMT
#include "cuda/core/cuda_device_class.h"

namespace warploom::cuda {

/// Captures the launches of `body` into one graph. Null if that is not possible, for example because `body` waits for
/// the device or a call failed; the caller then makes the calls directly and sees their errors.
Status CudaDevice::capture(const std::function<Status()>& body, cudaGraphExec_t* out) {
  *out = nullptr;
  cudaError_t failed = call([&] { return cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal); });
  if (failed != cudaSuccess) {
    const Status status = report(failed, "cudaStreamBeginCapture");
    return status.code() == Code::device_lost ? status : Status();
  }
  const Status status = body();
  cudaGraph_t graph = nullptr;
  failed = call([&] { return cudaStreamEndCapture(stream_, &graph); });
  if (failed != cudaSuccess) call_always([&] { return cudaStreamEndCapture(stream_, &graph); });  // never left open
  if (status.ok() && failed == cudaSuccess && graph != nullptr) {
    failed = call([&] { return cudaGraphInstantiate(out, graph, 0); });
    if (failed != cudaSuccess) *out = nullptr;
  }
  (void)cudaGetLastError();
  if (graph != nullptr) call_always([&] { return cudaGraphDestroy(graph); });
  if (status.code() == Code::device_lost) return status;
  return is_sticky(failed) ? report(failed, "capture of a graph") : Status();
}

Status CudaDevice::replay(int64_t times, const std::function<Status()>& body) {
  if (times <= 0) return {};
  WARPLOOM_TRY(use());
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  CUDA_TRY(cudaStreamIsCapturing, stream_, &capturing);
  cudaGraphExec_t graph = nullptr;
  if (times > 1 && capturing == cudaStreamCaptureStatusNone) WARPLOOM_TRY(capture(body, &graph));
  Status status;
  for (int64_t i = 0; i < times && status.ok(); ++i) {
    status = graph == nullptr ? body() : report(call([&] { return cudaGraphLaunch(graph, stream_); }), "cudaGraphLaunch");
  }
  // A launch that is still running keeps the graph alive until it is done.
  if (graph != nullptr) call_always([&] { return cudaGraphExecDestroy(graph); });
  return status;
}

}  // namespace warploom::cuda
#endif
