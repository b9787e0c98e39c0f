// Kernels of imaging.segment on vectors: include only from native/imaging/isa_table.h.
#pragma once
#include "cuda/imaging/chan_vese.h"
#include "cuda/imaging/reinitialize.h"
#include "cuda/imaging/segment_sums.h"
#include "native/cpu/vector.h"
#include "native/imaging/segment_kernels.h"

namespace warploom::cpu::WARPLOOM_ISA {

namespace segmentation = ::warploom::imaging::segmentation;

/// A number, or a vector of adjacent ones.
template <class T, class R>
WARPLOOM_INLINE T load_of(const R* from) {
  if constexpr (sizeof(T) == sizeof(R)) return *from;
  else return T::load(from);
}
template <class R>
WARPLOOM_INLINE void store_of(R* to, const R& value) { *to = value; }
template <class R>
WARPLOOM_INLINE void store_of(R* to, const Vector<R>& value) { value.store(to); }
WARPLOOM_INLINE bool both(bool a, bool b) { return a && b; }
template <class R>
WARPLOOM_INLINE Mask<R> both(const Mask<R>& a, const Mask<R>& b) { return a & b; }

/// Calls body.template at<T>(x) for whole vectors, then for the remaining points.
template <class R, class Body>
WARPLOOM_INLINE void along_row(int64_t nx, const Body& body) {
  int64_t x = 0;
  for (; x + kWidth<R> <= nx; x += kWidth<R>) body.template at<Vector<R>>(x);
  for (; x < nx; ++x) body.template at<R>(x);
}

/// Sums the rounded words of `count` terms, and subtracts the rounding constant.
template <class R>
WARPLOOM_INLINE int64_t sum_of_words(const R* terms, int64_t count, double scale) {
  using Lanes = typename RegisterOf<double>::Lanes;
  typedef uint64_t Words __attribute__((vector_size(WARPLOOM_VECTOR_BYTES)));
  typedef R Half __attribute__((vector_size(sizeof(R) * kWidth<double>)));
  constexpr int kLanes = kWidth<double>;
  Words sums = {};
  uint64_t sum = 0;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Half half;
    __builtin_memcpy(&half, terms + i, sizeof(half));
    const Lanes rounded = __builtin_convertvector(half, Lanes) * scale + segmentation::kRounding;
    sums += (Words)rounded;
  }
  for (; i < count; ++i) sum += segmentation::rounded_word(static_cast<double>(terms[i]), scale);
  for (int l = 0; l < kLanes; ++l) sum += sums[l];
  return static_cast<int64_t>(sum - static_cast<uint64_t>(count) * segmentation::kRoundingWord);
}

/// How many ones a row of 0 and 1 has.
template <class R>
WARPLOOM_INLINE int64_t count_of(const R* marks, int64_t count) { return sum_of_words(marks, count, 1.0); }

template <class R>
struct RowPoints {
  const SegmentRow<R>& p;

  template <class T>
  WARPLOOM_INLINE segmentation::Bend<T> bend(int64_t x) const {
    const auto around = [&](int dx, int dy, int dz) { return load_of<T>(p.from + x + dx + dy * p.row + dz * p.plane); };
    const T eta16 = T(p.flow->eta16);
    const auto along = [&](const auto& axes) {
      if (p.plane == 0) return segmentation::bend_in_plane<T>(around, eta16, axes);
      return segmentation::bend_in_space<T>(around, eta16, axes);
    };
    return p.flow->even != 0 ? along(::warploom::imaging::EvenAxes()) : along(p.flow->axes);
  }
  template <class T>
  WARPLOOM_INLINE T pixel(int64_t c, int64_t x) const { return load_of<T>(p.image + c * p.points + x); }
  template <class T>
  WARPLOOM_INLINE auto has_data(int64_t x) const {
    auto data = segmentation::has_data(*p.flow, pixel<T>(0, x));
    for (int64_t c = 1; c < p.channels; ++c) data = both(data, segmentation::has_data(*p.flow, pixel<T>(c, x)));
    return data;
  }
  /// The value of a pixel where the mask is set, else 0.
  template <class T, class M>
  WARPLOOM_INLINE T value(int64_t c, int64_t x, const M& mask) const {
    using portable::select;
    return select(mask, segmentation::value_of(*p.flow, pixel<T>(c, x)), T(R(0)));
  }
};

/// One step, and rows of the terms to sum: squared changes and points that count as inside.
template <class R>
struct StepBody {
  RowPoints<R> points;
  R* changes;
  R* marks;

  template <class T>
  WARPLOOM_INLINE T force(int64_t x) const {
    using portable::select;
    const SegmentRow<R>& p = points.p;
    if (p.channels == 1) return segmentation::force_of(*p.flow, points.template pixel<T>(0, x), T(p.centres[0]), T(p.centres[1]));
    T sum = T(R(0));
    for (int64_t c = 0; c < p.channels; ++c) {
      const R weight = p.weights[c];
      sum = sum + segmentation::misfit_of(segmentation::value_of(*p.flow, points.template pixel<T>(c, x)), T(p.centres[2 * c]),
                                          T(p.centres[2 * c + 1]), T(p.flow->lambda1 * weight), T(p.flow->lambda2 * weight));
    }
    return T(p.flow->nu) + select(points.template has_data<T>(x), sum, T(R(0)));
  }
  template <class T>
  WARPLOOM_INLINE void at(int64_t x) const {
    using portable::select;
    const SegmentRow<R>& p = points.p;
    const auto bend = points.template bend<T>(x);
    const T phi = load_of<T>(p.from + x), change = segmentation::increment(*p.flow, phi, bend.curvature, bend.weights, force<T>(x));
    const T level = phi + change, zero = T(R(0));
    store_of(p.to + x, level);
    store_of(changes + x, change * change);
    store_of(marks + x, T(select(both(points.template has_data<T>(x), level > zero), T(R(1)), zero)));
  }
};

/// Values of one channel where a row of marks is nonzero.
template <class R>
struct MarkedBody {
  RowPoints<R> points;
  const R* marks;
  int64_t channel;
  R* values;
  template <class T>
  WARPLOOM_INLINE void at(int64_t x) const {
    store_of(values + x, points.template value<T>(channel, x, load_of<T>(marks + x) > T(R(0))));
  }
};
template <class R>
WARPLOOM_INLINE void add_marked(const SegmentRow<R>& p, const R* marks, R* values, int64_t* sums) {
  for (int64_t c = 0; c < p.channels; ++c) {
    along_row<R>(p.nx, MarkedBody<R>{{p}, marks, c, values});
    sums[c] += sum_of_words(values, p.nx, p.scales->value);
  }
}

template <class R>
void segment_step(const SegmentRow<R>& p, int64_t* words) {
  R* const changes = p.scratch;
  R* const marks = p.scratch + p.nx;
  along_row<R>(p.nx, StepBody<R>{{p}, changes, marks});
  words[segmentation::kInside] += count_of(marks, p.nx);
  words[segmentation::kChange] += sum_of_words(changes, p.nx, p.scales->change);
  add_marked(p, marks, p.scratch + 2 * p.nx, words + segmentation::kSum);
}

template <class R>
struct MarkBody {
  RowPoints<R> points;
  bool inside;
  R* marks;
  template <class T>
  WARPLOOM_INLINE void at(int64_t x) const {
    using portable::select;
    const T zero = T(R(0)), one = T(R(1)), mark = select(points.template has_data<T>(x), one, zero);
    store_of(marks + x, inside ? T(select(load_of<T>(points.p.from + x) > zero, mark, zero)) : mark);
  }
};
template <class R>
void segment_sums(const SegmentRow<R>& p, bool inside, int64_t* words) {
  along_row<R>(p.nx, MarkBody<R>{{p}, inside, p.scratch});
  words[0] += count_of(p.scratch, p.nx);
  add_marked(p, p.scratch, p.scratch + p.nx, words + 1);
}

/// Rows of the terms of the energy.
template <class R>
struct EnergyBody {
  RowPoints<R> points;
  R *steps, *lengths, *data_steps, *inside, *outside;
  template <class T>
  WARPLOOM_INLINE void at(int64_t x) const {
    using portable::select;
    const SegmentRow<R>& p = points.p;
    const T phi = load_of<T>(p.from + x), zero = T(R(0));
    const auto terms = segmentation::energy_terms(*p.flow, phi, points.template bend<T>(x).norms);
    const auto data = points.template has_data<T>(x);
    T in = zero, out = zero;
    for (int64_t c = 0; c < p.channels; ++c) {
      const T u = segmentation::value_of(*p.flow, points.template pixel<T>(c, x));
      const R weight = p.weights != nullptr ? p.weights[c] : R(1);
      in = in + T(p.flow->lambda1 * weight) * (u * u);
      out = out + T(p.flow->lambda2 * weight) * (u * u);
    }
    store_of(steps + x, terms.step);
    store_of(lengths + x, terms.length);
    store_of(data_steps + x, T(select(data, terms.step, zero)));
    store_of(inside + x, T(terms.step * select(data, in, zero)));
    store_of(outside + x, T((T(R(1)) - terms.step) * select(data, out, zero)));
  }
};
/// The smoothed step times the value of one channel, where there is data.
template <class R>
struct SmoothBody {
  RowPoints<R> points;
  const R* steps;
  int64_t channel;
  R* values;
  template <class T>
  WARPLOOM_INLINE void at(int64_t x) const {
    store_of(values + x, T(load_of<T>(steps + x) * points.template value<T>(channel, x, points.template has_data<T>(x))));
  }
};
template <class R>
void segment_energy(const SegmentRow<R>& p, int64_t* words) {
  R* const rows[] = {p.scratch, p.scratch + p.nx, p.scratch + 2 * p.nx, p.scratch + 3 * p.nx, p.scratch + 4 * p.nx};
  along_row<R>(p.nx, EnergyBody<R>{{p}, rows[0], rows[1], rows[2], rows[3], rows[4]});
  words[segmentation::kArea] += sum_of_words(rows[0], p.nx, p.scales->area);
  words[segmentation::kLength] += sum_of_words(rows[1], p.nx, p.scales->length);
  words[segmentation::kDataArea] += sum_of_words(rows[2], p.nx, p.scales->area);
  words[segmentation::kPartInside] += sum_of_words(rows[3], p.nx, p.scales->part);
  words[segmentation::kPartOutside] += sum_of_words(rows[4], p.nx, p.scales->part);
  for (int64_t c = 0; c < p.channels; ++c) {
    along_row<R>(p.nx, SmoothBody<R>{{p}, rows[0], c, rows[1]});
    words[segmentation::kEnergyWords + c] += sum_of_words(rows[1], p.nx, p.scales->value);
  }
}

template <class R>
struct ReinitializeBody {
  const SegmentRow<R>& p;
  template <class T>
  WARPLOOM_INLINE void at(int64_t x) const {
    const auto fixed = [&](int dx, int dy, int dz) { return load_of<T>(p.fixed + x + dx + dy * p.row + dz * p.plane); };
    const auto moving = [&](int dx, int dy, int dz) { return load_of<T>(p.from + x + dx + dy * p.row + dz * p.plane); };
    const auto& axes = p.flow->axes;
    const T next = p.plane == 0 ? segmentation::reinitialized<T, 2>(fixed, moving, axes)
                                : segmentation::reinitialized<T, 3>(fixed, moving, axes);
    store_of(p.to + x, next);
  }
};
template <class R>
void segment_reinitialize(const SegmentRow<R>& p) {
  along_row<R>(p.nx, ReinitializeBody<R>{p});
}

template <class R>
SegmentKernels<R> segment_kernels_of() {
  return {kWidth<R>, &segment_step<R>, &segment_energy<R>, &segment_sums<R>, &segment_reinitialize<R>};
}

}  // namespace warploom::cpu::WARPLOOM_ISA
