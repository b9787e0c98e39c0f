// Cosine transforms of pairs of lines, one pair per vector lane: include only from native/imaging/isa_table.h.
#pragma once
#include <utility>

#include "native/cpu/vector.h"

#include "cuda/imaging/cosine_lines.h"
#include "cuda/imaging/cosine_point.h"

namespace warploom::cpu::WARPLOOM_ISA {

using ::warploom::imaging::Butterfly;
using ::warploom::imaging::CosinePlan;
using ::warploom::imaging::CosineStage;
using ::warploom::imaging::LinesMode;
using ::warploom::imaging::LinesTask;
using ::warploom::imaging::Pair;
using ::warploom::imaging::place_of;

/// Buffers for a group of pairs.
template <class R>
struct GroupBuffers {
  Pair<Vector<R>>*data, *other;
};

template <class R>
WARPLOOM_INLINE Pair<Vector<R>> rotated(const Pair<Vector<R>>& a, const R* root) {
  return times(a, Vector<R>(root[0]), Vector<R>(root[1]));
}

template <int kRadix, class R>
void cosine_stage(const CosinePlan& plan, const CosineStage& s, const R* table, GroupBuffers<R>& buffers) {
  using Entry = Pair<Vector<R>>;
  const int count = plan.m / kRadix, step = plan.m / (s.before * kRadix);
  for (int head = 0; head * s.before < count; ++head) {
    for (int k = 0; k < s.before; ++k) {
      const Entry* const from = buffers.data + head * s.before + k;
      Entry v[kRadix];
      for (int q = 0; q < kRadix; ++q) v[q] = from[q * count];
      if (s.before > 1) {
        for (int q = 1; q < kRadix; ++q) v[q] = rotated(v[q], table + 2 * q * k * step);
      }
      Butterfly<kRadix>::run(v);
      Entry* const to = buffers.other + head * s.before * kRadix + k;
      for (int q = 0; q < kRadix; ++q) to[q * s.before] = v[q];
    }
  }
}

template <class R>
void cosine_stages(const CosinePlan& plan, const R* table, GroupBuffers<R>& buffers) {
  for (int i = 0; i < plan.stages; ++i) {
    const CosineStage& s = plan.stage[i];
    switch (s.radix) {
      case 2: cosine_stage<2, R>(plan, s, table, buffers); break;
      case 3: cosine_stage<3, R>(plan, s, table, buffers); break;
      case 4: cosine_stage<4, R>(plan, s, table, buffers); break;
      case 5: cosine_stage<5, R>(plan, s, table, buffers); break;
      default: cosine_stage<8, R>(plan, s, table, buffers); break;
    }
    std::swap(buffers.data, buffers.other);
  }
}

/// The complex transform of every lane's pair.
template <class R>
void complex_transform(const CosinePlan& plan, const R* table, GroupBuffers<R>& buffers) {
  using Entry = Pair<Vector<R>>;
  if (plan.m == plan.n) return cosine_stages(plan, table, buffers);
  const R *const chirp = table + 2 * plan.chirp, *const filter = table + 2 * plan.filter;
  for (int j = 0; j < plan.n; ++j) buffers.data[j] = rotated(buffers.data[j], chirp + 2 * j);
  for (int j = plan.n; j < plan.m; ++j) buffers.data[j] = {Vector<R>(R(0)), Vector<R>(R(0))};
  cosine_stages(plan, table, buffers);
  for (int j = 0; j < plan.m; ++j) {
    const Entry entry = rotated(buffers.data[j], filter + 2 * j);
    buffers.data[j] = {entry.re, -entry.im};
  }
  cosine_stages(plan, table, buffers);
  for (int j = 0; j < plan.n; ++j) {
    const Entry entry = {buffers.data[j].re, -buffers.data[j].im};
    buffers.data[j] = rotated(entry, chirp + 2 * j);
  }
}

/// Calls change(low, high, k, c, s) on the entries at k and n - k for all k up to n / 2. At k = 0 and n / 2, `high` is
/// a copy.
template <class R, class Change>
WARPLOOM_INLINE void each_two(const CosinePlan& plan, const R* table, Pair<Vector<R>>* data, const Change& change) {
  const R* const phases = table + 2 * plan.phases;
  for (int k = 0; k <= plan.n / 2; ++k) {
    const int opposite = k == 0 ? 0 : plan.n - k;
    Pair<Vector<R>> low = data[k], high = data[opposite];
    change(low, high, k, Vector<R>(phases[2 * k]), Vector<R>(phases[2 * k + 1]));
    data[k] = low;
    if (opposite != k) data[opposite] = high;
  }
}

template <class R>
void separate_lines(const CosinePlan& plan, const R* table, Pair<Vector<R>>* data) {
  using V = Vector<R>;
  each_two<R>(plan, table, data, [](Pair<V>& low, Pair<V>& high, int, const V& c, const V& s) { separate(low, high, c, s); });
}

template <class R>
void join_lines(const CosinePlan& plan, const R* table, Pair<Vector<R>>* data) {
  using V = Vector<R>;
  each_two<R>(plan, table, data, [](Pair<V>& low, Pair<V>& high, int k, const V& c, const V& s) {
    if (k == 0) high = {V(R(0)), V(R(0))};
    join(low, high, c, s);
  });
}

/// The lines of a group: where the pair of each lane begins, and how many lines remain, counting the group's first.
template <class R>
struct LineGroup {
  static constexpr int kLines = 2 * kWidth<R>;
  int64_t base[kLines];
  int64_t left;
  bool adjacent;  ///< no line is missing, and lines start next to each other

  LineGroup(const LinesTask<R>& task, int64_t first) : left(task.lines - 2 * first), adjacent(task.stride > 1 && left >= kLines) {
    for (int i = 0; i < kLines; ++i) {
      const int64_t line = 2 * first + i;
      base[i] = line / task.inner * task.outer + line % task.inner;
      adjacent = adjacent && base[i] == base[0] + i;
    }
  }

  WARPLOOM_INLINE Pair<Vector<R>> load(const R* from) const {
    using V = Vector<R>;
    if (adjacent) {
      const V a = V::load(from + base[0]), b = V::load(from + base[0] + kWidth<R>);
      typename V::Bits even, odd;
      for (int l = 0; l < kWidth<R>; ++l) even[l] = 2 * l, odd[l] = 2 * l + 1;
      return {V(shuffled(a.v, b.v, even)), V(shuffled(a.v, b.v, odd))};
    }
    R re[kWidth<R>], im[kWidth<R>];
    for (int l = 0; l < kWidth<R>; ++l) {
      re[l] = 2 * l < left ? from[base[2 * l]] : R(0);
      im[l] = 2 * l + 1 < left ? from[base[2 * l + 1]] : R(0);
    }
    return {V::load(re), V::load(im)};
  }

  WARPLOOM_INLINE void store(const Pair<Vector<R>>& entry, R* to) const {
    using V = Vector<R>;
    if (adjacent) {
      typename V::Bits low, high;
      for (int l = 0; l < kWidth<R>; ++l) {
        low[l] = l / 2 + (l % 2) * kWidth<R>;
        high[l] = low[l] + kWidth<R> / 2;
      }
      V(shuffled(entry.re.v, entry.im.v, low)).store(to + base[0]);
      V(shuffled(entry.re.v, entry.im.v, high)).store(to + base[0] + kWidth<R>);
      return;
    }
    R re[kWidth<R>], im[kWidth<R>];
    entry.re.store(re);
    entry.im.store(im);
    for (int l = 0; l < kWidth<R>; ++l) {
      if (2 * l < left) to[base[2 * l]] = re[l];
      if (2 * l + 1 < left) to[base[2 * l + 1]] = im[l];
    }
  }
};

template <class R>
WARPLOOM_INLINE Vector<R> factor_of(const Vector<R>& weight, const Vector<R>& lambda) {
  return portable::small_reciprocal(fma(weight * lambda, lambda, Vector<R>(R(1))));
}

template <class R>
void filter_lines(const LinesTask<R>& task, int64_t first, Pair<Vector<R>>* data) {
  using V = Vector<R>;
  R across[2][kWidth<R>];
  for (int i = 0; i < 2 * kWidth<R>; ++i) {
    const int64_t line = 2 * first + i;
    R value = R(0);
    if (line < task.lines) {
      value = task.across[line % task.width];
      if (task.along != nullptr) value = value + task.along[line / task.width];
    }
    across[i % 2][i / 2] = value;
  }
  const V a = V::load(across[0]), b = V::load(across[1]), weight(static_cast<R>(*task.weight));
  each_two<R>(task.plan, task.table, data, [&](Pair<V>& low, Pair<V>& high, int k, const V& c, const V& s) {
    separate(low, high, c, s);
    const V near(task.axis[k]);
    low = {low.re * factor_of(weight, a + near), low.im * factor_of(weight, b + near)};
    if (k == 0) {
      high = {V(R(0)), V(R(0))};
    } else {
      const V far(task.axis[task.plan.n - k]);
      high = {high.re * factor_of(weight, a + far), high.im * factor_of(weight, b + far)};
      if (2 * k == task.plan.n) high = low;
    }
    join(low, high, c, s);
  });
}

template <class R>
int64_t line_bytes(int m) {
  return 2 * int64_t{m} * static_cast<int64_t>(sizeof(Pair<Vector<R>>));
}

template <class R>
void lines(const LinesTask<R>& task, int64_t component, int64_t first, void* scratch) {
  using V = Vector<R>;
  GroupBuffers<R> buffers;
  buffers.data = static_cast<Pair<V>*>(scratch);
  buffers.other = buffers.data + task.plan.m;
  const int n = task.plan.n;
  const LineGroup<R> group(task, first);
  const R* const from = task.from + component * task.component;
  R* const to = task.to + component * task.component;
  for (int k = 0; k < n; ++k) {
    Pair<V> entry = group.load(from + k * task.stride);
    if (task.mode != LinesMode::inverse) {
      buffers.data[place_of(k, n)] = entry;
    } else {
      const V scale(k == 0 ? task.zero_factor : task.factor);
      buffers.data[k] = {entry.re * scale, entry.im * scale};
    }
  }
  if (task.mode == LinesMode::inverse) join_lines<R>(task.plan, task.table, buffers.data);
  complex_transform<R>(task.plan, task.table, buffers);
  if (task.mode == LinesMode::filter) {
    filter_lines<R>(task, first, buffers.data);
    complex_transform<R>(task.plan, task.table, buffers);
  }
  if (task.mode == LinesMode::forward) {
    separate_lines<R>(task.plan, task.table, buffers.data);
    for (int k = 0; k < n; ++k) {
      const V scale(k == 0 ? task.zero_factor : task.factor);
      group.store({buffers.data[k].re * scale, buffers.data[k].im * scale}, to + k * task.stride);
    }
    return;
  }
  const V scale(task.inverse_factor);
  for (int k = 0; k < n; ++k) {
    const Pair<V>& entry = buffers.data[place_of(k, n)];
    group.store({entry.re * scale, -(entry.im * scale)}, to + k * task.stride);
  }
}

}  // namespace warploom::cpu::WARPLOOM_ISA
