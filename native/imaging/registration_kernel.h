// Kernels of imaging.registration on vectors, one pair of rows per lane: include only from native/imaging/isa_table.h.
#pragma once
#include "native/imaging/cosine_kernel.h"

#include "cuda/imaging/registration_point.h"
#include "cuda/imaging/registration_sums.h"
#include "native/imaging/registration_kernels.h"
#include "native/imaging/warp_kernel.h"

namespace warploom::cpu::WARPLOOM_ISA {

using ::warploom::imaging::Around;
using ::warploom::imaging::ForceFactors;
using ::warploom::imaging::ImageSums;
using ::warploom::imaging::kSumLanes;
using ::warploom::imaging::RowsTask;

/// Points in the lanes of vectors, for registration_point.h.
template <class R>
struct VectorLanes {
  using Real = R;
  using Value = Vector<R>;
  using Index = typename Vector<R>::Bits;
  static WARPLOOM_INLINE Index whole(const Value& value) { return __builtin_convertvector(value.v, Index); }
  static WARPLOOM_INLINE Value real(const Index& index) { return Value(__builtin_convertvector(index, typename Value::Lanes)); }
  static WARPLOOM_INLINE Index clamp(const Index& index, int32_t most) {
    const Index zero = {}, top = zero + most;
    const Index raised = index < zero ? zero : index;
    return raised > top ? top : raised;
  }
  static WARPLOOM_INLINE Value gather(const R* from, const Index& index) {
#if defined(__x86_64__) && WARPLOOM_VECTOR_BYTES == 64
    if constexpr (sizeof(R) == 4) return (typename Value::Lanes)_mm512_mask_i32gather_ps(__m512{}, 0xffff, (__m512i)index, from, 4);
    else return (typename Value::Lanes)_mm512_mask_i64gather_pd(__m512d{}, 0xff, (__m512i)index, from, 8);
#else
    Value result;
    for (int l = 0; l < kWidth<R>; ++l) result.v[l] = from[index[l]];
    return result;
#endif
  }
};

/// The rows of a group.
template <class R, int kAxes>
struct RowGroup {
  using V = Vector<R>;
  using Index = typename VectorLanes<R>::Index;
  int64_t first, left;  ///< pair of the first lane, and rows that remain from its first row on
  Index offset[2];      ///< element at x = 0 of each lane's rows; 0 where there is no row
  V y[2], z[2];

  RowGroup(const RowsTask<R>& task, int64_t first_pair) : first(first_pair), left(task.rows - 2 * first_pair) {
    for (int half = 0; half < 2; ++half) {
      for (int l = 0; l < kWidth<R>; ++l) {
        const int64_t row = 2 * l + half < left ? 2 * (first + l) + half : 0;
        offset[half][l] = static_cast<typename RegisterOf<R>::Integer>(row * task.plan.n);
        y[half].v[l] = static_cast<R>(row % task.extent[1]);
        z[half].v[l] = static_cast<R>(row / task.extent[1]);
      }
    }
  }
  bool has(int l, int half) const { return 2 * l + half < left; }
};

/// The buffers of a group's components (which share the second buffer of a transform), and its sums.
template <class R, int kAxes>
struct RowBuffers {
  Pair<Vector<R>>*data[kAxes], *other;
  ImageSums* sums;  ///< kSumLanes for each lane

  RowBuffers(void* scratch, int m) {
    Pair<Vector<R>>* next = static_cast<Pair<Vector<R>>*>(scratch);
    for (int a = 0; a < kAxes; ++a, next += m) data[a] = next;
    other = next;
    sums = reinterpret_cast<ImageSums*>(next + m);
    for (int i = 0; i < kWidth<R> * kSumLanes; ++i) sums[i] = ::warploom::imaging::no_sums();
  }
  void transform(const RowsTask<R>& task, int axis) {
    GroupBuffers<R> buffers = {data[axis], other};
    complex_transform<R>(task.plan, task.table, buffers);
    data[axis] = buffers.data;
    other = buffers.other;
  }
};

template <class R>
int64_t row_bytes(int m, int axes) {
  return (axes + 1) * int64_t{m} * static_cast<int64_t>(sizeof(Pair<Vector<R>>)) +
         kWidth<R> * kSumLanes * static_cast<int64_t>(sizeof(ImageSums));
}

template <class R, int kAxes>
void load_rows(const RowsTask<R>& task, const RowGroup<R, kAxes>& group, RowBuffers<R, kAxes>& buffers) {
  const bool spectral = task.coefficients != nullptr;
  const R* const from = spectral ? task.coefficients : task.displacement;
  const int n = task.plan.n;
  for (int a = 0; a < kAxes; ++a) {
    for (int k = 0; k < n; ++k) {
      R words[2][kWidth<R>];
      for (int l = 0; l < kWidth<R>; ++l) {
        for (int half = 0; half < 2; ++half) {
          words[half][l] = from != nullptr && group.has(l, half) ? from[a * task.points + group.offset[half][l] + k] : R(0);
        }
      }
      buffers.data[a][spectral ? k : place_of(k, n)] = {Vector<R>::load(words[0]), Vector<R>::load(words[1])};
    }
    if (!spectral) continue;
    join_lines<R>(task.plan, task.table, buffers.data[a]);
    buffers.transform(task, a);
    const Vector<R> scale(task.inverse_factor);
    for (int k = 0; k < n; ++k) {
      Pair<Vector<R>>& entry = buffers.data[a][k];
      entry = {entry.re * scale, entry.im * -scale};
    }
  }
}

/// The starting point of an iteration; the first iteration has no predecessor.
template <class R, int kAxes>
WARPLOOM_INLINE void extrapolate(const RowsTask<R>& task, const RowGroup<R, kAxes>& group, int half, R* before, Vector<R>& u) {
  const Vector<R> trail = VectorLanes<R>::gather(before, group.offset[half]), present = u;
  if (task.coefficients != nullptr) u = fma(Vector<R>(static_cast<R>(task.state->momentum)), present - trail, present);
  for (int l = 0; l < kWidth<R>; ++l) {
    if (group.has(l, half)) before[group.offset[half][l]] = present.v[l];
  }
}

/// The explicit step of the operator, lane by lane.
template <class R, int kAxes>
void smooth_lanes(const RowsTask<R>& task, const RowGroup<R, kAxes>& group, int half, int x, Vector<R> (&u)[kAxes]) {
  const R weight = -static_cast<R>(task.state->weight);
  for (int l = 0; l < kWidth<R>; ++l) {
    if (!group.has(l, half)) continue;
    const int32_t at[3] = {x, static_cast<int32_t>(group.y[half].v[l]), static_cast<int32_t>(group.z[half].v[l])};
    const int64_t point = group.offset[half][l] + x;
    for (int a = 0; a < kAxes; ++a) {
      const R slope = ::warploom::imaging::laplacian<R, kAxes>(task.laplacian + a * task.points, at, task.extent, point, task.factors);
      u[a].v[l] = portable::fma(weight, slope, R(u[a].v[l]));
    }
  }
}

/// One point in every row of one half: displaced, stored and counted.
template <class R, int kAxes>
WARPLOOM_INLINE void move_lanes(const RowsTask<R>& task, const RowGroup<R, kAxes>& group, RowBuffers<R, kAxes>& buffers,
                                const ForceFactors<Vector<R>>& factors, int half, int x) {
  using V = Vector<R>;
  using L = VectorLanes<R>;
  const int place = place_of(x, task.plan.n);
  V u[kAxes], moved[kAxes];
  Around<L> places[kAxes];
  int32_t pitch = 1;
  for (int a = 0; a < kAxes; ++a) {
    const Pair<V>& entry = buffers.data[a][place];
    u[a] = half == 0 ? entry.re : entry.im;
    if (task.trail != nullptr) extrapolate<R, kAxes>(task, group, half, task.trail + a * task.points + x, u[a]);
    moved[a] = u[a];
    const V at = a == 0 ? V(static_cast<R>(x)) : a == 1 ? group.y[half] : group.z[half];
    places[a] = ::warploom::imaging::around<L>(at + u[a], task.extent[a], pitch);
    pitch *= task.extent[a];
  }
  for (int32_t c = 0; c < task.channels; ++c) {
    const V reference = L::gather(task.reference + c * task.points + x, group.offset[half]);
    V warped;
    const auto sample = ::warploom::imaging::sample<L>(task.image + c * task.points, places);
    ::warploom::imaging::move_point<L, kAxes>(sample, reference, factors, moved, warped);
    for (int l = 0; l < kWidth<R>; ++l) {
      if (!group.has(l, half)) continue;
      ::warploom::imaging::add_point<R>(buffers.sums[l * kSumLanes + x % kSumLanes], warped.v[l], reference.v[l], task.all_sums);
    }
  }
  if (task.laplacian != nullptr) smooth_lanes<R, kAxes>(task, group, half, x, moved);
  for (int a = 0; a < kAxes; ++a) {
    V value = u[a];
    if (task.moves()) value = moved[a];
    if (group.left < 2 * kWidth<R>) {  // fills the lane beside the last row of an odd count with zeros
      for (int l = 0; l < kWidth<R>; ++l) {
        if (!group.has(l, half)) value.v[l] = R(0);
      }
    }
    if (task.new_coefficients != nullptr) (half == 0 ? buffers.data[a][place].re : buffers.data[a][place].im) = value;
    if (task.result == nullptr) continue;
    for (int l = 0; l < kWidth<R>; ++l) {
      if (group.has(l, half)) task.result[a * task.points + group.offset[half][l] + x] = value.v[l];
    }
  }
}

template <class R, int kAxes>
void store_rows(const RowsTask<R>& task, const RowGroup<R, kAxes>& group, RowBuffers<R, kAxes>& buffers) {
  for (int a = 0; a < kAxes; ++a) {
    buffers.transform(task, a);
    separate_lines<R>(task.plan, task.table, buffers.data[a]);
    R* const to = task.new_coefficients + a * task.points;
    for (int k = 0; k < task.plan.n; ++k) {
      R words[2][kWidth<R>];
      buffers.data[a][k].re.store(words[0]);
      buffers.data[a][k].im.store(words[1]);
      for (int l = 0; l < kWidth<R>; ++l) {
        for (int half = 0; half < 2; ++half) {
          if (group.has(l, half)) to[group.offset[half][l] + k] = words[half][l];
        }
      }
    }
  }
}

template <class R, int kAxes>
void rows(const RowsTask<R>& task, int64_t first, void* scratch) {
  using V = Vector<R>;
  RowBuffers<R, kAxes> buffers(scratch, task.plan.m);
  const RowGroup<R, kAxes> group(task, first);
  const auto& state = *task.state;
  const R pace = static_cast<R>(state.step) * task.share, *const squares = task.factors.square;
  const ForceFactors<V> factors = {V(static_cast<R>(state.reference)), V(static_cast<R>(state.warped)), V(static_cast<R>(state.constant)),
                                   {V(pace * squares[0]), V(pace * squares[1]), V(pace * squares[2])}};
  load_rows<R, kAxes>(task, group, buffers);
  for (int x = 0; x < task.plan.n; ++x) {
    for (int half = 0; half < 2; ++half) move_lanes<R, kAxes>(task, group, buffers, factors, half, x);
  }
  for (int l = 0; l < kWidth<R> && group.has(l, 0); ++l) {
    ImageSums* const sums = buffers.sums + l * kSumLanes;
    for (int distance = kSumLanes / 2; distance > 0; distance /= 2) {
      for (int i = 0; i < distance; ++i) sums[i] = ::warploom::imaging::combined(sums[i], sums[i + distance]);
    }
    ::warploom::imaging::store_sums(sums[0], task.all_sums, task.sums + first + l, task.pairs);
  }
  if (task.new_coefficients != nullptr) store_rows<R, kAxes>(task, group, buffers);
}

template <class R, int kAxes>
double gradient_rows(const RowsTask<R>& task, int64_t begin, int64_t end) {
  double most = 0;
  for (int64_t row = begin; row < end; ++row) {
    for (int32_t x = 0; x < task.extent[0]; ++x) {
      const int32_t at[3] = {x, static_cast<int32_t>(row % task.extent[1]), static_cast<int32_t>(row / task.extent[1])};
      const double value =
          ::warploom::imaging::gradient_square_of<R, kAxes>(task.image, task.channels, task.points, at, task.extent, task.factors);
      if (value > most) most = value;
    }
  }
  return most;
}

template <class R>
double gradient(const RowsTask<R>& task, int64_t begin, int64_t end) {
  return task.axes == 3 ? gradient_rows<R, 3>(task, begin, end) : gradient_rows<R, 2>(task, begin, end);
}

template <class R>
void laplacian_rows(const RowsTask<R>& task, R* to, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    for (int32_t x = 0; x < task.extent[0]; ++x) {
      const int32_t at[3] = {x, static_cast<int32_t>(row % task.extent[1]), static_cast<int32_t>(row / task.extent[1])};
      const int64_t point = row * task.extent[0] + x;
      for (int a = 0; a < task.axes; ++a) {
        const R* const from = task.displacement + a * task.points;
        to[a * task.points + point] = task.axes == 3 ? ::warploom::imaging::laplacian<R, 3>(from, at, task.extent, point, task.factors)
                                                     : ::warploom::imaging::laplacian<R, 2>(from, at, task.extent, point, task.factors);
      }
    }
  }
}

template <class R>
RegistrationKernels<R> registration_kernels_of() {
  return {kWidth<R>, &line_bytes<R>, &row_bytes<R>, &lines<R>, {&rows<R, 2>, &rows<R, 3>}, &warp_points<R>, &resample_points<R>,
          &jacobian_points<R>, &gradient<R>, &laplacian_rows<R>};
}

}  // namespace warploom::cpu::WARPLOOM_ISA
