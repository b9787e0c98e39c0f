// Launch of `thomas`: one thread per problem.
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/thomas_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

namespace {

/// Shared memory of a block up to which c' and d' stay on chip: three such blocks share a multiprocessor.
constexpr int64_t kFactorBytes = 72 * 1024;

/// Workspace for c' and d' to stay under where several blocks allow it.
constexpr int64_t kWorkspaceBytes = int64_t{4} << 30;

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

/// Whether neighbouring rows of a problem lie nearer to each other than neighbouring problems do.
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

template <class T, bool kStaged>
Status solve_threads(GpuDevice& device, const Batch<T>& batch, Used* used) {
  using Agent = ThomasAgent<T, kStaged>;
  const int64_t limit = device.limits().shared_bytes_per_block;
  LaunchShape shape;
  shape.threads = 64;
  while (shape.threads > 32 && static_cast<int64_t>(Agent::tile_bytes(shape.threads)) > limit) shape.threads -= 32;
  shape.shared_bytes = Agent::tile_bytes(shape.threads);
  const int64_t on_chip =
      static_cast<int64_t>(shape.shared_bytes) + static_cast<int64_t>(Agent::factor_bytes(shape.threads, batch.n));
  const bool in_shared = on_chip <= limit && on_chip <= kFactorBytes;
  if (in_shared) shape.shared_bytes = static_cast<size_t>(on_chip);
  const int64_t blocks = (batch.problems() + shape.threads - 1) / shape.threads;
  const int64_t resident = int64_t{1} * device.limits().multiprocessors *
                           resident_blocks<Agent>(device, shape.threads, shape.shared_bytes);
  // Without workspace every problem may have its own thread; with it, as many slots as run at once and fit.
  const int64_t slot_bytes = batch.n * 2 * static_cast<int64_t>(sizeof(T));
  int64_t most = device.limits().max_blocks;
  if (!in_shared) {
    const int64_t fitting = kWorkspaceBytes / (slot_bytes * shape.threads);
    most = fitting < resident ? fitting : resident;
    if (most < 1) most = 1;
  }
  shape.blocks = blocks < most ? blocks : most;

  typename Agent::Parameters p;
  p.batch = batch;
  Workspace memory;
  if (!in_shared) {
    const int64_t threads = shape.blocks * shape.threads;
    p.slots = threads < batch.problems() ? threads : batch.problems();
    WARPLOOM_TRY(Workspace::make(device, p.slots * slot_bytes, &memory));
    p.factors = memory.as<T>();
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
