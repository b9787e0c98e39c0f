// Everything imaging.segment does besides its steps: a survey of the image, the initial level set, sums, energies, the
// mask.
#pragma once
#include "cuda/imaging/segment_direct_agent.cuh"
#include "cuda/imaging/segment_initial.h"

namespace warploom::WARPLOOM_TARGET::imaging::segmentation {

/// Bounds of a block's points with data.
template <class R>
struct SurveyTask {
  const R* image = nullptr;
  int64_t points = 0, channels = 1;
  R most = 0;
  double* bounds = nullptr;  ///< smallest and largest of each block
  int64_t* counts = nullptr; ///< of each block
};
template <class R>
struct SegmentSurveyAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 2;
  using Parameters = SurveyTask<R>;
  static size_t shared_bytes() { return kMaxThreads / 32 * 3 * sizeof(double); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    double least = HUGE_VAL, most = -HUGE_VAL;
    int64_t count = 0;
    const int64_t stride = block.count() * block.threads();
    for (int64_t i = block.index() * block.threads() + block.thread(); i < p.points; i += stride) {
      double low = HUGE_VAL, high = -HUGE_VAL;
      bool data = true;
      for (int64_t c = 0; c < p.channels; ++c) {
        const R pixel = p.image[c * p.points + i];
        data = data && device::absolute(pixel) <= p.most;
        low = pixel < low ? pixel : low;
        high = pixel > high ? pixel : high;
      }
      if (!data) continue;
      least = low < least ? low : least;
      most = high > most ? high : most;
      ++count;
    }
    WARPLOOM_UNROLL
    for (int distance = 16; distance > 0; distance /= 2) {
      const double other = device::shuffle_xor(block, least, distance), higher = device::shuffle_xor(block, most, distance);
      least = other < least ? other : least;
      most = higher > most ? higher : most;
    }
    int64_t* const words = block.shared<int64_t>();
    double* const bounds = block.shared<double>(kMaxThreads / 32 * sizeof(int64_t));
    if (block.lane() == 0) {
      bounds[2 * block.warp()] = least;
      bounds[2 * block.warp() + 1] = most;
    }
    const int64_t total = block_sum(block, count, words);
    if (block.thread() != 0) return;
    for (int warp = 0; warp < block.threads() / 32; ++warp) {
      least = bounds[2 * warp] < least ? bounds[2 * warp] : least;
      most = bounds[2 * warp + 1] > most ? bounds[2 * warp + 1] : most;
    }
    p.bounds[2 * block.index()] = least;
    p.bounds[2 * block.index() + 1] = most;
    p.counts[block.index()] = total;
  }
};

/// The initial level set.
template <class R>
struct BeginTask {
  operation::InitialShape shape;
  const R* given = nullptr;
  R* level = nullptr;
  int64_t nx = 1, ny = 1, points = 0;
};
template <class R>
struct SegmentBeginAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 2;
  using Parameters = BeginTask<R>;
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t i = block.index() * block.threads() + block.thread();
    if (i >= p.points) return;
    const int64_t row = i / p.nx, plane = row / p.ny;
    const double at[3] = {static_cast<double>(i - row * p.nx), static_cast<double>(row - plane * p.ny), static_cast<double>(plane)};
    const bool given = p.shape.kind == ::warploom::imaging::Initial::given;
    const double level = given ? static_cast<double>(p.given[i]) : operation::initial_level(p.shape, at);
    p.level[i] = operation::clipped_level<R>(level);
  }
};

/// Counts points with data (all, or only those inside), and sums their values by channel.
template <class R>
struct SumTask {
  const R* image = nullptr;
  const R* level = nullptr;          ///< null: all points count as inside
  int64_t points = 0, channels = 1;
  int64_t first = 0;                 ///< channel of the first block in a row of blocks
  Flow<R> flow;
  Scales scales;
  int64_t* count = nullptr;          ///< receives the number of points, if not null
  int64_t* sums = nullptr;           ///< of the channels
  const int32_t* stop = nullptr;     ///< nothing to do if this is nonzero
};
/// Blocks b, b + channels, … work on channel b % channels.
template <class R>
struct SegmentSumAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 2;
  using Parameters = SumTask<R>;
  static size_t shared_bytes() { return kMaxThreads / 32 * sizeof(int64_t); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    if (p.stop != nullptr && *p.stop != 0) return;
    const int64_t channel = block.index() % p.channels, part = block.index() / p.channels, parts = block.count() / p.channels;
    uint64_t sum = 0;
    int64_t count = 0;
    for (int64_t i = part * block.threads() + block.thread(); i < p.points; i += parts * block.threads()) {
      if (p.level != nullptr && !(p.level[i] > R(0))) continue;
      bool data = true;
      for (int64_t c = 0; c < p.channels; ++c) data = data && operation::has_data(p.flow, p.image[c * p.points + i]);
      if (!data) continue;
      const R value = operation::value_of(p.flow, p.image[channel * p.points + i]);
      sum += operation::rounded_word(static_cast<double>(value), p.scales.value);
      ++count;
    }
    const int64_t exact = static_cast<int64_t>(sum - static_cast<uint64_t>(count) * operation::kRoundingWord);
    const int64_t total = block_sum(block, exact, block.shared<int64_t>()), points = block_sum(block, count, block.shared<int64_t>());
    if (block.thread() != 0) return;
    device::atomic_add(p.sums + channel, total);
    if (p.count != nullptr && channel == 0) device::atomic_add(p.count, points);
  }
};

/// Adds up the words of the energy of a level set.
template <class R>
struct EnergyTask {
  StepTask<R> step;              ///< `from`: the level set
  int64_t* entries = nullptr;    ///< in order
  int64_t words = 0;             ///< of an entry
  int64_t every = 0;             ///< entry = iterations / every; 0: the first one
  int32_t slot = -1;             ///< nothing to do if the stop of this slot is set
};
template <class R, int kDimensions>
struct SegmentEnergyAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 2;
  using Parameters = EnergyTask<R>;
  static size_t shared_bytes() { return kMaxThreads / 32 * sizeof(int64_t); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& task) {
    const StepTask<R>& p = task.step;
    if (task.slot >= 0 && p.tally.stops[task.slot] != 0) return;
    int64_t* const entry = task.entries + (task.every > 0 ? *p.tally.iterations / task.every : 0) * task.words;
    uint64_t words[operation::kEnergyWords] = {};
    int64_t count = 0;
    const int64_t places = PointPlace::blocks(p.nx, p.ny, p.nz);
    for (int64_t index = block.index(); index < places; index += block.count()) {
      const PointPlace place(block, index, p.nx, p.ny);
      if (place.idle) continue;
      add_point(p, place, words);
      ++count;
    }
    for (int k = 0; k < operation::kEnergyWords; ++k) {
      const int64_t exact = static_cast<int64_t>(words[k] - static_cast<uint64_t>(count) * operation::kRoundingWord);
      const int64_t total = block_sum(block, exact, block.shared<int64_t>());
      if (block.thread() == 0) device::atomic_add(entry + k, total);
    }
    for (int64_t c = 0; c < p.channels; ++c) add_channel(block, p, c, entry + operation::kEnergyWords + c);
  }

 private:
  static WARPLOOM_DEVICE bool has_all(const StepTask<R>& p, int64_t at) {
    bool data = true;
    for (int64_t c = 0; c < p.channels; ++c) data = data && operation::has_data(p.flow, p.image[c * p.points + at]);
    return data;
  }
  static WARPLOOM_DEVICE void add_point(const StepTask<R>& p, const PointPlace& place, uint64_t (&words)[operation::kEnergyWords]) {
    const Around<R> around(p.from, place.x, place.y, place.z, p.nx, p.ny, p.nz);
    const R norms = bend_at<R, kDimensions>(around, p.flow.eta16, p.flow.axes).norms;
    const int64_t at = (place.z * p.ny + place.y) * p.nx + place.x;
    R inside = R(0), outside = R(0);
    const bool data = has_all(p, at);
    for (int64_t c = 0; c < p.channels && data; ++c) {
      const R u = operation::value_of(p.flow, p.image[c * p.points + at]), weight = p.weights != nullptr ? p.weights[c] : R(1);
      inside = inside + p.flow.lambda1 * weight * (u * u);
      outside = outside + p.flow.lambda2 * weight * (u * u);
    }
    add_terms(p, p.from[at], norms, data, inside, outside, words);
  }
  static WARPLOOM_DEVICE void add_terms(const StepTask<R>& p, R phi, R norms, bool data, R inside, R outside,
                                        uint64_t (&words)[operation::kEnergyWords]) {
    const auto terms = operation::energy_terms(p.flow, phi, norms);
    words[operation::kArea] += operation::rounded_word(static_cast<double>(terms.step), p.scales.area);
    words[operation::kDataArea] += operation::rounded_word(data ? static_cast<double>(terms.step) : 0.0, p.scales.area);
    words[operation::kLength] += operation::rounded_word(static_cast<double>(terms.length), p.scales.length);
    words[operation::kPartInside] += operation::rounded_word(static_cast<double>(terms.step * inside), p.scales.part);
    words[operation::kPartOutside] += operation::rounded_word(static_cast<double>((R(1) - terms.step) * outside), p.scales.part);
  }
  static WARPLOOM_DEVICE void add_channel(const device::Block& block, const StepTask<R>& p, int64_t c, int64_t* to) {
    uint64_t sum = 0;
    int64_t count = 0;
    for (int64_t i = block.index() * block.threads() + block.thread(); i < p.points; i += block.count() * block.threads()) {
      if (!has_all(p, i)) continue;
      const R h = operation::smooth_step<R>(p.from[i] * p.flow.epsilon_inverse);
      sum += operation::rounded_word(static_cast<double>(h * operation::value_of(p.flow, p.image[c * p.points + i])), p.scales.value);
      ++count;
    }
    const int64_t exact = static_cast<int64_t>(sum - static_cast<uint64_t>(count) * operation::kRoundingWord);
    const int64_t total = block_sum(block, exact, block.shared<int64_t>());
    if (block.thread() == 0) device::atomic_add(to, total);
  }
};

/// Writes the results: the level set, if the caller wants it, and the mask.
template <class R>
struct FinishTask {
  const R* level = nullptr;
  R* result = nullptr;
  uint8_t* mask = nullptr;
  int64_t points = 0;
};
template <class R>
struct SegmentFinishAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 2;
  using Parameters = FinishTask<R>;
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t i = block.index() * block.threads() + block.thread();
    if (i >= p.points) return;
    const R level = p.level[i];
    p.result[i] = level;
    if (p.mask != nullptr) p.mask[i] = level > R(0) ? 1 : 0;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging::segmentation
