// Launch of `thomas`: one thread per problem.
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/classic/thomas_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

namespace {

/// c' and d' stay on chip if at least kFewestOnChip warps then fit a multiprocessor. Otherwise kWarpsWithWorkspace
/// warps keep them in a workspace: more would not hide more latency, and their values would leave the caches before
/// they are read again.
constexpr int64_t kFewestOnChip = 3, kWarpsWithWorkspace = 4;

/// Limit for the workspace for c' and d'.
constexpr int64_t kWorkspaceBytes = int64_t{4} << 30;

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

/// Whether neighbouring rows of a problem are closer in memory than neighbouring problems.
template <class T>
bool rows_are_near(const Batch<T>& batch) {
  const Strided<T>& d = batch.diagonal;
  const Strided<T>& x = batch.solution;
  const int64_t across = batch.rhs_count > 1 ? magnitude(x.rhs_stride)
                         : batch.offsets != nullptr ? batch.n * magnitude(x.row_stride)
                                                    : magnitude(x.system_stride);
  if (magnitude(x.row_stride) != across) return magnitude(x.row_stride) < across;
  return magnitude(d.row_stride) < magnitude(d.system_stride);
}

/// Whether all inputs can be copied element by element, without inspecting them.
template <class T>
bool holds_elements(const Batch<T>& batch) {
  for (const Strided<T>* array : {&batch.lower, &batch.diagonal, &batch.upper, &batch.rhs}) {
    if (array->imaginary != nullptr || array->conjugate) return false;
    if (reinterpret_cast<uintptr_t>(array->data) % sizeof(T) != 0) return false;
  }
  return true;
}

template <class T, bool kStaged>
Status solve_threads(GpuDevice& device, const Batch<T>& batch, Used* used) {
  using Agent = ThomasAgent<T, kStaged>;
  const GpuLimits& limits = device.limits();
  const int64_t blocks = (batch.problems() + 31) / 32, planned = (batch.planned_problems() + 31) / 32;
  const int64_t on_chip = static_cast<int64_t>(Agent::kRingBytes) + 32 * Agent::factor_bytes(batch.n);
  const int64_t together = limits.shared_bytes_per_multiprocessor / (on_chip + 1024);
  const bool in_shared = on_chip <= limits.shared_bytes_per_block &&
                         (together >= kFewestOnChip || planned <= together * limits.multiprocessors);
  LaunchShape shape;
  shape.threads = 32;
  shape.shared_bytes = in_shared ? static_cast<size_t>(on_chip) : Agent::kRingBytes;
  // Without a workspace every problem may have its own thread; with one, there are as many slots as run at once and
  // fit.
  int64_t most = limits.max_blocks;
  if (!in_shared) {
    const int64_t fitting = kWorkspaceBytes / (32 * Agent::factor_bytes(batch.n));
    most = kWarpsWithWorkspace * limits.multiprocessors;
    if (fitting < most) most = fitting < 1 ? 1 : fitting;
  }
  shape.blocks = blocks < most ? blocks : most;

  typename Agent::Parameters p;
  p.batch = batch;
  p.chunks = is_uniform(batch, inputs_of(batch, true));
  p.copies = holds_elements(batch);
  Workspace memory;
  if (!in_shared) {
    p.slots = shape.blocks * 32 < batch.problems() ? shape.blocks * 32 : batch.problems();
    WARPLOOM_TRY(Workspace::make(device, p.slots * Agent::factor_bytes(batch.n), &memory));
    p.factors = memory.as<typename Agent::Pack>();
  }
  used->algorithm = operation::Algorithm::thomas;
  used->threads = 1;
  ++used->launches;
  return launch<Agent>(device, shape, p);
}

}  // namespace

template <class T>
Status solve_thomas(GpuDevice& device, const Batch<T>& batch, Used* used) {
  return rows_are_near(batch) ? solve_threads<T, true>(device, batch, used)
                              : solve_threads<T, false>(device, batch, used);
}

template Status solve_thomas(GpuDevice&, const Batch<float>&, Used*);
template Status solve_thomas(GpuDevice&, const Batch<double>&, Used*);
template Status solve_thomas(GpuDevice&, const Batch<Complex<float>>&, Used*);
template Status solve_thomas(GpuDevice&, const Batch<Complex<double>>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
