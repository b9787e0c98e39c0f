#include "native/tridiagonal/partition.h"

#include <cmath>

namespace warploom::cpu {
namespace {

/// One problem of a batch as a batch of chunks.
template <class R>
Problem<R> chunks_of_problem(const Problem<R>& problem, int64_t index, int64_t rows, int64_t chunks) {
  const int64_t system = index / problem.rhs_count, rhs = index % problem.rhs_count;
  Problem<R> result = problem;
  result.systems = chunks;
  result.rhs_count = 1;
  result.n = rows - 1;
  result.last_rows = problem.n - (chunks - 1) * rows;
  Band<R>* const bands[] = {&result.lower, &result.diagonal, &result.upper, &result.rhs,
                            &result.solution};
  for (Band<R>* band : bands) {
    band->origin = problem.base(*band, system, rhs);
    band->system_stride = rows * band->row_stride;
    band->rhs_stride = 0;
  }
  return result;
}

template <class R>
Band<R> contiguous_band(R* data, bool complex) {
  Band<R> band;
  band.re = data;
  if (complex) band.im = data + 1;
  band.row_stride = complex ? 2 : 1;
  return band;
}

/// Memory of one partitioned problem.
template <class R>
struct Separators {
  R *reduced, *lower, *diagonal, *upper, *rhs, *solution;
  int32_t *status, *row, words[2];

  Separators(Workspace& workspace, int64_t chunks, int64_t reals) {
    R* memory = workspace.as<R>();
    const int64_t band = chunks * reals;
    reduced = memory;
    lower = memory + 6 * band;
    diagonal = memory + 7 * band;
    upper = memory + 8 * band;
    rhs = memory + 9 * band;
    solution = memory + 10 * band;
    status = reinterpret_cast<int32_t*>(memory + 11 * band);
    row = status + chunks;
  }
  Problem<R> problem(int64_t rows, bool complex) const {
    Problem<R> p;
    p.n = rows;
    p.systems = 1;
    p.lower = contiguous_band(lower, complex);
    p.diagonal = contiguous_band(diagonal, complex);
    p.upper = contiguous_band(upper, complex);
    p.rhs = contiguous_band(rhs, complex);
    p.solution = contiguous_band(solution, complex);
    return p;
  }
};

/// Writes the separators into the solution of the chunks' problem.
template <class R>
void store_separators(const Problem<R>& chunks, int64_t rows, const R* values, bool complex) {
  const Band<R>& band = chunks.solution;
  const int64_t reals = complex ? 2 : 1;
  for (int64_t k = 0; k + 1 < chunks.systems; ++k) {
    const int64_t at = chunks.base(band, k, 0) + (rows - 1) * band.row_stride;
    const_cast<R*>(band.re)[at] = values[k * reals];
    if (complex) const_cast<R*>(band.im)[at] = values[k * reals + 1];
  }
}

template <class R>
bool all_finite(const R* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) return false;
  }
  return true;
}

template <class R, class Kernel>
Status run_chunks(CpuDevice& device, const ChunkKernels<R>& kernels, Kernel kernel,
                  const Problem<R>& chunks, const ChunkJob& job, Control& control) {
  const int64_t lanes = kernels.lanes, tiles = (job.chunks + lanes - 1) / lanes;
  const auto task = [&](int64_t tile, int worker) {
    const int64_t first = tile * lanes;
    kernel(chunks, job, first, static_cast<int>(std::min(lanes, job.chunks - first)),
           device.scratch(worker));
    return Status();
  };
  return device.threads().run(tiles, task, control);
}

/// The whole method for one problem. *solved is false if Thomas elimination must solve it instead.
template <class R>
Status partition_problem(CpuDevice& device, const Problem<R>& problem, int64_t index,
                         const Options& options, bool complex, Control& control, bool* solved,
                         int32_t* status, int32_t* row) {
  const int64_t rows = chunk_rows(problem.n), reals = complex ? 2 : 1;
  const int64_t chunks = (problem.n + rows - 1) / rows;
  const ChunkKernels<R>& kernels = chunk_kernels_of<R>(cpu::kernels(), complex);
  Workspace workspace(device);
  WARPLOOM_TRY(workspace.reserve(partition_bytes(problem.n, reals * int64_t(sizeof(R)))));
  Separators<R> memory(workspace, chunks, reals);
  const Problem<R> parts = chunks_of_problem(problem, index, rows, chunks);
  ChunkJob job;
  job.chunks = chunks;
  job.reduced = memory.reduced;
  job.separators = memory.solution;
  job.status = memory.status;
  job.row = memory.row;
  job.stream = options.stream;
  WARPLOOM_TRY(run_chunks(device, kernels, kernels.reduce, parts, job, control));
  kernels.build(parts, job, rows, memory.lower, memory.diagonal, memory.upper, memory.rhs);
  const Problem<R> between = memory.problem(chunks - 1, complex);
  Options plain;
  plain.algorithm = operation::Algorithm::thomas;
  const Results words{&memory.words[0], &memory.words[1], nullptr};
  if (can_partition(between, plain)) {
    WARPLOOM_TRY(run_partition(device, between, plain, words, complex, control));
  } else {
    WARPLOOM_TRY(run_batch(device, between, plain, words, complex, control));
  }
  *solved = memory.words[0] == 0 && all_finite(memory.reduced, 6 * chunks * reals);
  if (!*solved) return {};
  WARPLOOM_TRY(device.reserve_scratch(2 * (rows + 1) * kernels.element_bytes));
  // Chunks read the separators' neighbours, never their rows, so these two can run in either order.
  WARPLOOM_TRY(run_chunks(device, kernels, kernels.solve, parts, job, control));
  store_separators(parts, rows, memory.solution, complex);
  for (int64_t k = chunks - 1; k >= 0; --k) {
    if (job.status[k] == 0) continue;
    *status = job.status[k];
    *row = job.row[k] < 0 ? -1 : static_cast<int32_t>(k * rows + job.row[k]);
  }
  return {};
}

}  // namespace

int64_t partition_bytes(int64_t n, int64_t element_bytes) {
  const int64_t rows = chunk_rows(n), chunks = (n + rows - 1) / rows;
  return chunks * (11 * element_bytes + 2 * int64_t{sizeof(int32_t)});
}

template <class R>
Status run_partition(CpuDevice& device, const Problem<R>& problem, const Options& options,
                     const Results& results, bool complex, Control& control) {
  const int64_t problems = problem.problems();
  for (int64_t index = 0; index < problems; ++index) {
    if (control.cancelled()) return Status(Code::cancelled, "cancelled by the caller");
    bool solved = false;
    int32_t status = 0, row = -1;
    WARPLOOM_TRY(partition_problem(device, problem, index, options, complex, control, &solved, &status,
                                   &row));
    if (!solved) {
      Options plain = options;
      plain.algorithm = operation::Algorithm::thomas;
      const Kernels<R>& single = kernels_of<R>(kernels_single(), complex);
      WARPLOOM_TRY(device.reserve_scratch(single.bytes(plain, false, problem.n)));
      single.solve(problem, plain, results, index, 1, device.scratch(0));
      continue;
    }
    if (results.status != nullptr) results.status[index] = status;
    if (results.row != nullptr) results.row[index] = row;
    control.progress(static_cast<double>(index + 1), static_cast<double>(problems));
  }
  return {};
}

template Status run_partition<float>(CpuDevice&, const Problem<float>&, const Options&,
                                     const Results&, bool, Control&);
template Status run_partition<double>(CpuDevice&, const Problem<double>&, const Options&,
                                      const Results&, bool, Control&);

}  // namespace warploom::cpu
