// Sums over an image in the order of tv_sums.h: one warp per part, then one block for the list of parts.
#pragma once
#include "cuda/imaging/tv_task.cuh"

namespace warploom::WARPLOOM_TARGET::imaging {

/// What to sum. Energies are those of the state after the current chunk of iterations.
template <class T>
struct SumTask {
  operation::SumShape shape;
  int64_t points = 1, channels = 1;
  const T* f = nullptr;
  void* parts = nullptr;
  // Energies:
  const T* u[2] = {};  ///< after even and odd numbers of iterations
  const T* q[2] = {};
  int64_t total = 0;
  operation::TvBounds<double> bounds = {};
  double weight = 0;  ///< of TV, times the factor x of the differences
  operation::TvWeights<T> weights = {T(1), T(1), T(1), T(1), T(1)};
  bool impulse = false, flow = false;
  operation::DenoiseState* state = nullptr;
  operation::DenoiseEntry* history = nullptr;
  // The survey:
  operation::SurveyPart* survey = nullptr;
};

struct RowPlace {
  int64_t group, y, z, begin;  ///< begin: of the row in a component
};

/// The energies of denoising.
template <class T>
struct TvSum {
  using Part = operation::TvPart;
  const T *u, *q;
  WARPLOOM_DEVICE explicit TvSum(const SumTask<T>& p) {
    const int64_t next = p.state->iterations + p.state->check_every, count = next < p.state->limit ? next : p.state->limit;
    u = p.u[count & 1];
    q = p.q[count & 1];
  }
  static WARPLOOM_DEVICE bool idle(const SumTask<T>& p) { return p.state->stopped != 0; }
  WARPLOOM_DEVICE void add(const SumTask<T>& p, const RowPlace& row, int64_t x, Part& part) const {
    const operation::SumShape& s = p.shape;
    const int64_t plane = s.nx * s.ny;
    T square = 0;
    for (int64_t c = row.group * p.channels; c < (row.group + 1) * p.channels; ++c) {
      const int64_t at = c * p.points + row.begin + x;
      const T here = u[at];
      square = operation::add_square(square, p.weights.x * (x + 1 < s.nx ? u[at + 1] - here : T(0)),
                                     p.weights.y * (row.y + 1 < s.ny ? u[at + s.nx] - here : T(0)),
                                     p.weights.z * (row.z + 1 < s.nz ? u[at + plane] - here : T(0)));
      const double value = static_cast<double>(here), f = static_cast<double>(p.f[at]);
      part.data += p.impulse ? operation::data_energy<true>(value, f) : operation::data_energy<false>(value, f);
      if (p.flow) continue;
      const T* const v = q + at;
      const T dx = v[0] - (x > 0 ? v[-1] : T(0)), dy = v[p.total] - (row.y > 0 ? v[p.total - s.nx] : T(0));
      const T dz = s.nz == 1 ? T(0) : v[2 * p.total] - (row.z > 0 ? v[2 * p.total - plane] : T(0));
      const double e = p.weight * static_cast<double>(operation::divergence(dx, dy, dz, p.weights.yx, p.weights.zx));
      part.dual += p.impulse ? operation::dual_energy<true>(p.bounds, f, e) : operation::dual_energy<false>(p.bounds, f, e);
    }
    part.variation += static_cast<double>(operation::length_of(square, T(0)));
  }
  static WARPLOOM_DEVICE void finish(const SumTask<T>& p, const Part& part) { operation::judge(*p.state, part, p.history); }
};

/// Statistics of an image.
template <class T>
struct SurveySum {
  using Part = operation::SurveyPart;
  WARPLOOM_DEVICE explicit SurveySum(const SumTask<T>&) {}
  static WARPLOOM_DEVICE bool idle(const SumTask<T>&) { return false; }
  WARPLOOM_DEVICE void add(const SumTask<T>& p, const RowPlace& row, int64_t x, Part& part) const {
    part.take(static_cast<double>(p.f[row.group * p.points + row.begin + x]));
  }
  static WARPLOOM_DEVICE void finish(const SumTask<T>& p, const Part& part) { *p.survey = part; }
};

/// One warp per part.
template <class T, class Sum>
struct SumPartsAgent {
  static constexpr int kMaxThreads = 256, kMinBlocks = 2;
  static constexpr bool kOverlapped = true;
  using Parameters = SumTask<T>;
  using Part = typename Sum::Part;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    device::follow_previous_launch();
    if (Sum::idle(p)) return;
    const operation::SumShape& s = p.shape;
    const int64_t index = block.index() * (block.threads() / 32) + block.warp();
    if (index >= s.parts) return;
    const Sum sum(p);
    const int64_t rows = index / s.segments, first = (index - rows * s.segments) * operation::kSumWidth;
    const int64_t end = first + operation::kSumWidth < s.nx ? first + operation::kSumWidth : s.nx;
    Part part;
    for (int64_t r = rows * operation::kSumRows; r < (rows + 1) * operation::kSumRows && r < s.rows; ++r) {
      const int64_t of_group = s.ny * s.nz, group = r / of_group, row = r - group * of_group, z = row / s.ny;
      const RowPlace place = {group, row - z * s.ny, z, row * s.nx};
      for (int64_t x = first + block.lane(); x < end; x += operation::kSumLanes) sum.add(p, place, x, part);
    }
    WARPLOOM_UNROLL
    for (int distance = 16; distance > 0; distance /= 2) part.add(device::shuffle_down(block, part, distance));
    if (block.lane() == 0) static_cast<Part*>(p.parts)[index] = part;
  }
};

/// One block for the list of parts.
template <class T, class Sum>
struct SumListAgent {
  static constexpr int kMaxThreads = operation::kListLanes, kMinBlocks = 1;
  static constexpr bool kOverlapped = true;
  using Parameters = SumTask<T>;
  using Part = typename Sum::Part;
  static size_t shared_bytes() { return kMaxThreads * sizeof(Part); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    device::follow_previous_launch();
    if (Sum::idle(p)) return;
    Part* const lanes = block.shared<Part>();
    Part part;
    for (int64_t i = block.thread(); i < p.shape.parts; i += kMaxThreads) part.add(static_cast<const Part*>(p.parts)[i]);
    lanes[block.thread()] = part;
    for (int distance = kMaxThreads / 2; distance > 0; distance /= 2) {
      block.sync();
      if (block.thread() < distance) lanes[block.thread()].add(lanes[block.thread() + distance]);
    }
    if (block.thread() == 0) Sum::finish(p, lanes[0]);
  }
};

/// Counts the details, and those up to a given magnitude; counts[0] and counts[1] must be zero before.
template <class T>
struct DetailTask {
  operation::DetailShape shape;
  const T* image = nullptr;
  double limit = 0;
  int64_t* counts = nullptr;
};
template <class T>
struct DetailAgent {
  static constexpr int kMaxThreads = 256, kMinBlocks = 4;
  using Parameters = DetailTask<T>;
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    int all = 0, below = 0;
    for (int64_t i = block.index() * block.threads() + block.thread(); i < p.shape.count; i += block.count() * block.threads()) {
      const double magnitude = operation::detail_at(p.image, p.shape, i);
      all += magnitude == magnitude ? 1 : 0;
      below += magnitude <= p.limit ? 1 : 0;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
      all += device::shuffle_down(block, all, distance);
      below += device::shuffle_down(block, below, distance);
    }
    if (block.lane() != 0) return;
    device::atomic_add(p.counts, static_cast<int64_t>(all));
    device::atomic_add(p.counts + 1, static_cast<int64_t>(below));
  }
};

/// The image from which a solution starts.
template <class T>
struct StartTask {
  const T* f = nullptr;
  T* u = nullptr;
  T fill = 0;
  int64_t count = 0;
};
template <class T>
struct StartAgent {
  static constexpr int kMaxThreads = 256, kMinBlocks = 4;
  using Parameters = StartTask<T>;
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t i = block.index() * block.threads() + block.thread();
    if (i >= p.count) return;
    const T f = p.f[i];
    p.u[i] = f == f ? f : p.fill;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
