#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/pivoting/gtsv_launch.cuh"

#include <algorithm>
#include <cmath>

#include "cuda/tridiagonal/pivoting/gtsv_agent.cuh"
#include "cuda/tridiagonal/verify/verify.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {
namespace {

/// Workspace that may be allocated before it is known to be needed.
constexpr int64_t kSpeculativeBytes = int64_t{64} << 20;
/// Preferred workspace if it is needed.
constexpr int64_t kWorkingBytes = int64_t{512} << 20;
constexpr int kThreads = 64;

/// Threads working at once: whole warps if there are many.
int64_t slots_for(int64_t problems, int64_t slot_bytes, int64_t bytes) {
  const int64_t slots = std::max<int64_t>(1, std::min<int64_t>(problems, bytes / slot_bytes));
  return slots > kThreads ? slots - slots % 32 : slots;
}

/// Workspace for a useful number of threads; none if the list turns out to be empty. The host counts a list only if its
/// threads need much memory, or more than there is.
Status take_slots(GpuDevice& device, int64_t problems, int64_t slot_bytes, const ProblemList& list,
                  Workspace* memory, int64_t* slots) {
  const bool listed = list.count != nullptr;
  const int64_t few = std::min<int64_t>(problems, kThreads) * slot_bytes;
  if (!listed || few <= kSpeculativeBytes) {
    *slots = slots_for(problems, slot_bytes, listed ? kSpeculativeBytes : kWorkingBytes);
    const Status made = Workspace::make(device, *slots * slot_bytes, memory);
    if (made.ok() || !listed || made.code() != Code::out_of_memory) return made;
  }
  int32_t count = 0;
  WARPLOOM_TRY(device.download(&count, list.count, sizeof(count)));
  *slots = count == 0 ? 0 : slots_for(count, slot_bytes, few <= kSpeculativeBytes ? few : kWorkingBytes);
  return count == 0 ? Status() : Workspace::make(device, *slots * slot_bytes, memory);
}

template <class T, bool kPeriodic>
Status launch_gtsv(GpuDevice& device, const Batch<T>& batch, const T* corners, const ProblemList& list,
                   const GtsvOptions& options, Used* used) {
  using Agent = GtsvAgent<T, kPeriodic>;
  const int64_t row_bytes = (Agent::kArrays + 2) * static_cast<int64_t>(sizeof(T)) + 1;
  const int64_t slot_bytes = std::max<int64_t>(batch.n, 1) * row_bytes;
  Workspace memory;
  int64_t slots = 0;
  WARPLOOM_TRY(take_slots(device, batch.problems(), slot_bytes, list, &memory, &slots));
  if (slots == 0) return {};
  typename Agent::Parameters p;
  p.batch = batch;
  p.corners = corners;
  p.list = list.indices;
  p.count = list.count;
  p.rows = std::max<int64_t>(batch.n, 1);
  p.slots = slots;
  p.workspace = memory.as<T>();
  p.choices = memory.as<int8_t>(slots * p.rows * (Agent::kArrays + 2) * static_cast<int64_t>(sizeof(T)));
  p.tolerance = options.tolerance;
  p.backward_error = options.backward_error;
  p.flag = options.flag;
  LaunchShape shape;
  shape.threads = kThreads;
  shape.blocks = (slots + kThreads - 1) / kThreads;
  WARPLOOM_TRY(launch<Agent>(device, shape, p));
  if (used != nullptr) ++used->launches;
  return {};
}

}  // namespace

template <class T>
Status solve_gtsv(GpuDevice& device, const Batch<T>& batch, const T* corners, const ProblemList& list,
                  const GtsvOptions& options, Used* used) {
  if (batch.problems() == 0) return {};
  return corners != nullptr ? launch_gtsv<T, true>(device, batch, corners, list, options, used)
                            : launch_gtsv<T, false>(device, batch, corners, list, options, used);
}

template <class T>
Status solve_pivoting_periodic(GpuDevice& device, const Batch<T>& batch, const T* corners, Used* used) {
  if (used != nullptr) {
    used->algorithm = operation::Algorithm::pivoting;
    used->depth = static_cast<int>(std::min<int64_t>(batch.n, 2147483647));
    used->threads = 1;
  }
  return solve_gtsv<T>(device, batch, corners, {}, {}, used);
}

#define WARPLOOM_INSTANTIATE(T)                                                                            \
  template Status solve_gtsv<T>(GpuDevice&, const Batch<T>&, const T*, const ProblemList&, const GtsvOptions&, Used*); \
  template Status solve_pivoting_periodic<T>(GpuDevice&, const Batch<T>&, const T*, Used*);
WARPLOOM_INSTANTIATE(float)
WARPLOOM_INSTANTIATE(double)
WARPLOOM_INSTANTIATE(Complex<float>)
WARPLOOM_INSTANTIATE(Complex<double>)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
