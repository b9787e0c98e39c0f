// Timing of back-to-back calls, for benchmarks.
#ifndef WARPLOOM_SIMT
#include "cuda/core/cuda_device_class.h"

namespace warploom::cuda {

/// Launches one graph of all calls `repeats` times. If they cannot be captured, makes plain calls one after another,
/// between two events.
Status CudaDevice::measure(int calls, int repeats, const std::function<Status(int, Control&)>& body,
                           double* seconds) {
  WARPLOOM_TRY(synchronize());
  struct Guard {
    bool& flag;
    explicit Guard(bool& value) : flag(value) { flag = true; }
    ~Guard() { flag = false; }
  } guard(measuring_);
  cudaGraphExec_t graph = nullptr;
  const auto all = [&]() -> Status {
    Control control;
    for (int i = 0; i < calls; ++i) WARPLOOM_TRY(body(i, control));
    return {};
  };
  WARPLOOM_TRY(capture(all, &graph));
  const auto run = [&]() -> Status {
    if (graph == nullptr) return all();
    return report(call([&] { return cudaGraphLaunch(graph, stream_); }), "cudaGraphLaunch");
  };
  Status status = run();  // the first launch of a graph uploads it
  for (int repeat = 0; repeat < repeats && status.ok(); ++repeat) {
    status = [&]() -> Status {
      CUDA_TRY(cudaEventRecord, begin_, stream_);
      WARPLOOM_TRY(run());
      WARPLOOM_TRY(synchronize());
      float milliseconds = 0;
      CUDA_TRY(cudaEventElapsedTime, &milliseconds, begin_, end_);
      seconds[repeat] = static_cast<double>(milliseconds) * 1e-3 / calls;
      return {};
    }();
  }
  if (graph != nullptr) call_always([&] { return cudaGraphExecDestroy(graph); });
  return status;
}

}  // namespace warploom::cuda
#endif
