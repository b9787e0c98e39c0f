#include "cuda/imaging/cosine_table.h"

#include <algorithm>
#include <cmath>

#include "cuda/imaging/cosine_point.h"

namespace warploom::imaging {
namespace {

constexpr int kRadices[] = {8, 5, 4, 3, 2};

bool is_smooth(int64_t m) {
  for (const int p : {2, 3, 5}) {
    while (m % p == 0) m /= p;
  }
  return m == 1;
}

/// exp(2 pi i k / count), computed from angles of at most an eighth of a turn, so that symmetric entries have the same
/// bits.
Pair<double> root_of(int64_t k, int64_t count) {
  const double eighth = 0.78539816339744830962;  // pi / 4
  const int64_t octant = 8 * (k % count) / count, rest = 8 * (k % count) - octant * count;
  const bool mirrored = (octant & 1) != 0;
  const double angle = eighth * static_cast<double>(mirrored ? count - rest : rest) / static_cast<double>(count);
  double x = std::cos(angle), y = std::sin(angle);
  if (mirrored) std::swap(x, y);
  switch (octant >> 1) {
    case 0: return {x, y};
    case 1: return {-y, x};
    case 2: return {-x, -y};
    default: return {y, -x};
  }
}

template <int kRadix>
void stage_of(const CosinePlan& plan, const CosineStage& stage, const Pair<double>* roots, const Pair<double>* from, Pair<double>* to) {
  const int count = plan.m / kRadix;
  for (int j = 0; j < count; ++j) {
    const int block = j / stage.before, k = j - block * stage.before, step = plan.m / (stage.before * kRadix);
    Pair<double> v[kRadix];
    for (int q = 0; q < kRadix; ++q) v[q] = times(from[j + q * count], roots[q * k * step].re, roots[q * k * step].im);
    Butterfly<kRadix>::run(v);
    for (int q = 0; q < kRadix; ++q) to[block * stage.before * kRadix + k + q * stage.before] = v[q];
  }
}

/// The complex transform on the host, for Bluestein's filter.
void transform(const CosinePlan& plan, const Pair<double>* roots, std::vector<Pair<double>>& line) {
  std::vector<Pair<double>> other(line.size());
  for (int s = 0; s < plan.stages; ++s) {
    const CosineStage& stage = plan.stage[s];
    switch (stage.radix) {
      case 2: stage_of<2>(plan, stage, roots, line.data(), other.data()); break;
      case 3: stage_of<3>(plan, stage, roots, line.data(), other.data()); break;
      case 4: stage_of<4>(plan, stage, roots, line.data(), other.data()); break;
      case 5: stage_of<5>(plan, stage, roots, line.data(), other.data()); break;
      default: stage_of<8>(plan, stage, roots, line.data(), other.data()); break;
    }
    line.swap(other);
  }
}

void append_convolution(const CosinePlan& plan, std::vector<Pair<double>>& table) {
  const int64_t n = plan.n;
  std::vector<Pair<double>> filter(static_cast<size_t>(plan.m), Pair<double>{0, 0});
  for (int64_t k = 0; k < n; ++k) {
    const Pair<double> root = root_of(k * k % (2 * n), 2 * n);
    table.push_back({root.re, -root.im});
    filter[static_cast<size_t>(k)] = root;
    if (k > 0) filter[static_cast<size_t>(plan.m - k)] = root;
  }
  transform(plan, table.data(), filter);
  for (const Pair<double>& entry : filter) table.push_back({entry.re / plan.m, entry.im / plan.m});
}

}  // namespace

CosinePlan cosine_plan(int64_t n) {
  CosinePlan plan;
  plan.n = static_cast<int32_t>(n);
  int64_t m = n;
  if (!is_smooth(n)) {
    for (m = 2 * n - 1; !is_smooth(m); ++m) {
    }
  }
  plan.m = static_cast<int32_t>(m);
  int32_t before = 1;
  for (const int radix : kRadices) {
    while (m % radix == 0 && !(radix == 8 && m == 16)) {  // 16 = 4 * 4
      CosineStage& stage = plan.stage[plan.stages++];
      stage.radix = radix;
      stage.before = before;
      stage.divider = before > 1 ? static_cast<uint32_t>((uint64_t{1} << 32) / static_cast<uint64_t>(before) + 1) : 0;
      before *= radix;
      m /= radix;
    }
  }
  plan.phases = plan.m;
  plan.chirp = plan.phases + plan.n / 2 + 1;
  plan.filter = plan.chirp + plan.n;
  plan.entries = plan.m != plan.n ? plan.filter + plan.m : plan.chirp;
  return plan;
}

template <class T>
std::vector<T> cosine_table(const CosinePlan& plan) {
  std::vector<Pair<double>> table;
  table.reserve(static_cast<size_t>(plan.entries));
  for (int64_t k = 0; k < plan.m; ++k) {
    const Pair<double> root = root_of(k, plan.m);
    table.push_back({root.re, -root.im});
  }
  for (int64_t k = 0; k <= plan.n / 2; ++k) table.push_back(root_of(k, int64_t{4} * plan.n));
  if (plan.m != plan.n) append_convolution(plan, table);
  std::vector<T> words;
  words.reserve(2 * table.size());
  for (const Pair<double>& entry : table) {
    words.push_back(static_cast<T>(entry.re));
    words.push_back(static_cast<T>(entry.im));
  }
  return words;
}

template std::vector<float> cosine_table<float>(const CosinePlan&);
template std::vector<double> cosine_table<double>(const CosinePlan&);

}  // namespace warploom::imaging
