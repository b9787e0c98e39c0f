// Condensation of periodic systems: workspace and launches.
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/periodic/periodic.cuh"

#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/periodic/periodic_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

namespace {

LaunchShape one_thread_each(int64_t count) {
  LaunchShape shape;
  shape.threads = 128;
  shape.blocks = (count + 127) / 128;
  return shape;
}

/// z has the layout of the solution: rows together or systems together.
template <class T>
Strided<T> like_solution(const Batch<T>& batch, int64_t systems, T* memory) {
  Strided<T> z;
  z.data = memory;
  const auto magnitude = [](int64_t stride) { return stride < 0 ? -stride : stride; };
  if (batch.offsets != nullptr) {
    z.row_stride = z.system_stride = 1;
  } else if (magnitude(batch.solution.row_stride) <= magnitude(batch.solution.system_stride)) {
    z.row_stride = 1;
    z.system_stride = batch.n - 1;
  } else {
    z.row_stride = systems;
    z.system_stride = 1;
  }
  return z;
}

int64_t padded(int64_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

template <class T>
Status gather_corners(GpuDevice& device, const Batch<T>& batch, const Bands<T>& bands, T* corners, Used* used) {
  ++used->launches;
  return launch<CornersAgent<T>>(device, one_thread_each(batch.systems), {batch, bands.first, bands.last, corners});
}

template <class T>
Status solve_periodic(GpuDevice& device, const Batch<T>& batch, const T* corners, int64_t rows,
                      const Solver<T>& solve, Used* used) {
  const bool shared = is_one_matrix(batch);
  const int64_t systems = shared ? 1 : batch.systems;
  const int64_t z_bytes = padded((shared ? batch.n : rows) * static_cast<int64_t>(sizeof(T)));
  Workspace memory;
  WARPLOOM_TRY(Workspace::make(device, z_bytes + 2 * padded(4 * systems), &memory));
  Strided<T> z = like_solution(batch, systems, memory.as<T>());
  int32_t* const z_status = memory.as<int32_t>(z_bytes);
  int32_t* const z_row = memory.as<int32_t>(z_bytes + padded(4 * systems));
  if (shared) z.system_stride = 0;

  Batch<T> inner = batch;
  inner.n = batch.n - 1;
  inner.trimmed = batch.trimmed + 1;
  if (batch.n > 1) {
    WARPLOOM_TRY(solve(inner, used));
    Batch<T> column = inner;
    column.systems = systems;
    if (shared) column.whole_systems = 0;
    column.rhs_count = 1;
    column.rhs = column.solution = z;
    column.status = z_status;
    column.row = z_row;
    const RowGrid grid = row_grid(column, z, rows);
    WARPLOOM_TRY(launch<BorderAgent<T>>(device, grid.shape(), {batch, corners, z, grid}));
    Used again;  // algorithms may overwrite `used` rather than add to it
    WARPLOOM_TRY(solve(column, &again));
    used->launches += 1 + again.launches;
  } else {
    used->algorithm = operation::Algorithm::thomas;  // one thread per system, nothing to eliminate
    used->threads = 1;
  }
  WARPLOOM_TRY(launch<ClosingAgent<T>>(device, one_thread_each(batch.problems()),
                                       {batch, corners, z, z_status, z_row, shared}));
  ++used->launches;
  if (batch.n > 1) {
    const RowGrid grid = row_grid(inner, inner.solution, rows);
    WARPLOOM_TRY(launch<SpreadAgent<T>>(device, grid.shape(), {batch, z, grid}));
    ++used->launches;
  }
  return {};
}

#define WARPLOOM_INSTANTIATE(T)                                                                      \
  template Status gather_corners(GpuDevice&, const Batch<T>&, const Bands<T>&, T*, Used*);           \
  template Status solve_periodic(GpuDevice&, const Batch<T>&, const T*, int64_t, const Solver<T>&, Used*);
WARPLOOM_INSTANTIATE(float)
WARPLOOM_INSTANTIATE(double)
WARPLOOM_INSTANTIATE(Complex<float>)
WARPLOOM_INSTANTIATE(Complex<double>)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
