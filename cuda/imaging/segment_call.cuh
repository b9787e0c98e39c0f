// One call of imaging.segment on the GPU.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "cuda/core/launch.cuh"
#include "cuda/core/operations.h"
#include "cuda/imaging/reinitialize_agent.cuh"
#include "cuda/imaging/segment.h"
#include "cuda/imaging/segment_march_agent.cuh"
#include "cuda/imaging/segment_measure_agent.cuh"
#include "cuda/imaging/segment_policy.h"
#include "cuda/imaging/segment_setup.h"

namespace warploom::WARPLOOM_TARGET::imaging::segmentation {

using ::warploom::imaging::SegmentParameters;
using ::warploom::imaging::SegmentVariant;
namespace policy = ::warploom::imaging::segment_policy;

/// A change that no step produces: the value before the first step.
inline constexpr int64_t kNoChange = int64_t{1} << 62;
inline constexpr int64_t kSurveyBlocks = 256;

/// Layout of a call's words on the device.
struct WordPlan {
  int64_t slots, totals, iterations, stops, entries, entry_words, bounds, counts, total;
  WordPlan(int64_t channels, int64_t records)
      : slots(0), totals(kSlots * slot_words(channels)), iterations(totals + 1 + channels), stops(iterations + 1),
        entries(stops + kSlots / 2),
        entry_words(operation::kEnergyWords + channels), bounds(entries + records * entry_words),
        counts(bounds + 2 * kSurveyBlocks), total(counts + kSurveyBlocks) {}
};

template <class R>
int64_t segment_workspace(const SegmentParameters& p) {
  const int64_t buffers = p.reinitialize_every > 0 ? 2 : 1;
  return buffers * points_of(p.grid) * static_cast<int64_t>(sizeof(R)) + p.channels * static_cast<int64_t>(sizeof(R)) +
         WordPlan(p.channels, most_entries(p)).total * 8;
}

template <class R>
class SegmentCall {
 public:
  SegmentCall(GpuDevice& device, const SegmentParameters& p, Control& control)
      : device_(device), p_(p), control_(control), points_(points_of(p.grid)), plan_(p.channels, most_entries(p)),
        image_(static_cast<const R*>(p.image.data) + p.image.offset), level_(static_cast<R*>(p.level_set.data) + p.level_set.offset),
        variant_(policy::variant(p)) {}

  Status run() {
    if (variant_ == SegmentVariant::cpu) return refuse("belongs to the cpu backend");
    if (variant_ != SegmentVariant::direct && !policy::march_takes(p_)) {
      return refuse("takes two-dimensional images of one channel whose pixels are square");
    }
    WARPLOOM_TRY(allocate());
    WARPLOOM_TRY(device_.begin_operation(control_));
    WARPLOOM_TRY(prepare());
    WARPLOOM_TRY(begin());
    WARPLOOM_TRY(energy(0, 0, -1));
    WARPLOOM_TRY(march());
    WARPLOOM_TRY(finish());
    WARPLOOM_TRY(device_.end_operation(control_));
    return report();
  }

 private:
  Status refuse(const char* why) const {
    const char* const name = ::warploom::imaging::kSegmentVariantNames[static_cast<int>(variant_)];
    return {Code::unsupported, std::string("variant ") + name + " " + why, "variant"};
  }
  int64_t bytes_of(int64_t count) const { return count * static_cast<int64_t>(sizeof(R)); }
  int64_t* words(int64_t at) const { return words_.template as<int64_t>() + at; }
  R* buffer(int64_t steps) const { return steps % 2 == 0 ? level_ : spare_.template as<R>(); }
  int64_t blocks_for(int64_t count) const { return (count + policy::kThreads - 1) / policy::kThreads; }
  /// How many blocks a kernel has whose blocks loop over the points.
  int64_t summing_blocks() const {
    return std::max<int64_t>(1, std::min(blocks_for(points_), policy::kBlocksPerSm * device_.limits().multiprocessors));
  }

  Status allocate() {
    WARPLOOM_TRY(Workspace::make(device_, bytes_of(points_), &spare_));
    if (p_.reinitialize_every > 0) WARPLOOM_TRY(Workspace::make(device_, bytes_of(points_), &third_));
    WARPLOOM_TRY(Workspace::make(device_, plan_.total * 8, &words_));
    return Workspace::make(device_, bytes_of(p_.channels), &weights_);
  }

  /// Surveys the image and sets the constants.
  Status prepare() {
    WARPLOOM_TRY(device_.fill_zero(words(0), plan_.total * 8));
    std::vector<double> weights;
    if (p_.weights.data != nullptr) {
      weights.resize(static_cast<size_t>(p_.channels));
      WARPLOOM_TRY(device_.download(weights.data(), p_.weights.data, p_.channels * 8));
    }
    SurveyTask<R> task;
    task.image = image_;
    task.points = points_;
    task.channels = p_.channels;
    task.most = operation::make_flow<R>(p_, {}, 1).most;
    task.bounds = reinterpret_cast<double*>(words(plan_.bounds));
    task.counts = words(plan_.counts);
    const int64_t blocks = std::min(kSurveyBlocks, blocks_for(points_));
    WARPLOOM_TRY(launch<SegmentSurveyAgent<R>>(device_, {blocks, policy::kThreads, SegmentSurveyAgent<R>::shared_bytes(), false}, task));
    std::vector<int64_t> found(3 * kSurveyBlocks);
    WARPLOOM_TRY(device_.download(found.data(), words(plan_.bounds), 3 * kSurveyBlocks * 8));
    operation::Survey survey;
    for (int64_t b = 0; b < blocks; ++b) {
      double bounds[2];
      std::memcpy(bounds, &found[static_cast<size_t>(2 * b)], sizeof(bounds));
      survey.least = std::min(survey.least, bounds[0]);
      survey.most = std::max(survey.most, bounds[1]);
      survey.count += found[static_cast<size_t>(2 * kSurveyBlocks + b)];
    }
    weights_of_channels_ = operation::channel_weights(p_, weights.empty() ? nullptr : weights.data());
    setup_ = operation::make_setup(p_, survey, weights_of_channels_.data());
    return fill_task();
  }

  Status fill_task() {
    const std::vector<R> rounded(weights_of_channels_.begin(), weights_of_channels_.end());
    WARPLOOM_TRY(device_.upload(weights_.template as<R>(), rounded.data(), bytes_of(p_.channels)));
    task_.image = image_;
    task_.nx = p_.grid.nx;
    task_.ny = p_.grid.ny;
    task_.nz = p_.grid.nz;
    task_.points = points_;
    task_.channels = p_.channels;
    task_.flow = operation::make_flow<R>(p_, setup_, p_.channels > 1 ? 1 : weights_of_channels_[0]);
    task_.scales = setup_.scales;
    task_.weights = p_.channels > 1 ? weights_.template as<R>() : nullptr;
    Tally& tally = task_.tally;
    tally.ring = words(plan_.slots);
    tally.words = slot_words(p_.channels);
    tally.totals = words(plan_.totals);
    tally.iterations = words(plan_.iterations);
    tally.stops = reinterpret_cast<int32_t*>(words(plan_.stops));
    tally.change_limit = setup_.change_limit;
    tally.unit = 1 / setup_.scales.value;
    task_.tiles = (p_.grid.nx + kStripPoints - 1) / kStripPoints;
    task_.rows = policy::strip_rows(task_.tiles, p_.grid.ny, device_.limits().multiprocessors);
    const uintptr_t places = reinterpret_cast<uintptr_t>(level_) | reinterpret_cast<uintptr_t>(image_) |
                             reinterpret_cast<uintptr_t>(spare_.template as<R>()) | static_cast<uintptr_t>(bytes_of(p_.grid.nx));
    task_.wide = places % 16 == 0 ? 1 : 0;
    return {};
  }

  /// Computes the initial level set, and the sums with which the first step begins.
  Status begin() {
    BeginTask<R> task;
    task.shape = operation::shape_of(p_);
    if (p_.initial == ::warploom::imaging::Initial::given) task.given = static_cast<const R*>(p_.given.data) + p_.given.offset;
    task.level = level_;
    task.nx = p_.grid.nx;
    task.ny = p_.grid.ny;
    task.points = points_;
    WARPLOOM_TRY(launch<SegmentBeginAgent<R>>(device_, {blocks_for(points_), policy::kThreads, 0, false}, task));
    int64_t* const slot = task_.tally.ring + (kSlots - 1) * task_.tally.words;
    WARPLOOM_TRY(device_.upload(slot + operation::kChange, &kNoChange, 8));
    WARPLOOM_TRY(add_sums(nullptr, words(plan_.totals), words(plan_.totals) + 1, nullptr));
    return add_sums(level_, slot + operation::kInside, sums_of(slot), nullptr);
  }
  int64_t* sums_of(int64_t* slot) const {
    return slot + (p_.channels > 1 ? operation::kHeads * operation::kHeadWords : operation::kSum);
  }
  Status add_sums(const R* level, int64_t* count, int64_t* sums, const int32_t* stop) {
    SumTask<R> task;
    task.image = image_;
    task.level = level;
    task.points = points_;
    task.channels = p_.channels;
    task.flow = task_.flow;
    task.scales = task_.scales;
    task.count = count;
    task.sums = sums;
    task.stop = stop;
    return launch<SegmentSumAgent<R>>(
        device_, {summing_blocks() * p_.channels, policy::kThreads, SegmentSumAgent<R>::shared_bytes(), false}, task);
  }

  /// Makes the steps; the host checks the device now and then.
  Status march() {
    const int64_t most = policy::steps_per_look(points_), body = graph_steps();
    for (int64_t done = 0, look = std::min<int64_t>(most, 128); done < p_.iterations; look = std::min(most, 2 * look)) {
      if (control_.cancelled()) return {Code::cancelled, "cancelled"};
      const int64_t whole = body > 0 && body <= 4 * look ? (look + body - 1) / body * body : look;
      const int64_t portion = std::min(whole, p_.iterations - done);
      WARPLOOM_TRY(steps(done, portion, body));
      done += portion;
      int64_t state[1 + kSlots / 2];
      WARPLOOM_TRY(device_.download(state, words(plan_.iterations), sizeof(state)));
      int32_t stops[kSlots];
      std::memcpy(stops, state + 1, sizeof(stops));
      iterations_ = state[0];
      control_.progress(static_cast<double>(iterations_), static_cast<double>(p_.iterations));
      if (stops[(done - 1) % kSlots] != 0) break;
    }
    return {};
  }
  /// Steps per graph, after which everything except the level set is as at its start; 0: no graph.
  int64_t graph_steps() const {
    const int64_t energies = std::max<int64_t>(1, p_.energy_every), resets = std::max<int64_t>(1, p_.reinitialize_every);
    if (energies > policy::kMostLaunches || resets > policy::kMostLaunches) return 0;
    const int64_t period = std::lcm(std::lcm(int64_t{kSlots}, energies), resets);
    if (period > policy::kMostLaunches) return 0;
    return period * std::max<int64_t>(1, 64 / period);
  }
  Status steps(int64_t first, int64_t count, int64_t body) {
    int64_t done = 0;
    if (body > 0 && first % body == 0 && count >= 2 * body) {
      WARPLOOM_TRY(device_.replay(count / body, [&] {
        for (int64_t k = 0; k < body; ++k) WARPLOOM_TRY(step(k));
        return Status();
      }));
      done = count / body * body;
    }
    for (; done < count; ++done) WARPLOOM_TRY(step(first + done));
    return {};
  }

  /// Makes step k, with whatever comes after it.
  Status step(int64_t k) {
    task_.from = buffer(k);
    task_.to = buffer(k + 1);
    task_.tally.before = static_cast<int32_t>((k + kSlots - 1) % kSlots);
    task_.tally.own = static_cast<int32_t>(k % kSlots);
    task_.tally.next = static_cast<int32_t>((k + 1) % kSlots);
    WARPLOOM_TRY(launch_step());
    const int64_t after = k + 1;
    const int32_t slot = task_.tally.own;
    if (p_.channels > 1) {
      WARPLOOM_TRY(add_sums(task_.to, nullptr, sums_of(task_.tally.ring + slot * task_.tally.words), task_.tally.stops + slot));
    }
    if (p_.reinitialize_every > 0 && after % p_.reinitialize_every == 0) WARPLOOM_TRY(reinitialize(after, slot));
    if (p_.energy_every > 0 && after % p_.energy_every == 0) return energy(after, p_.energy_every, slot);
    return {};
  }
  Status launch_step() {
    if (variant_ == SegmentVariant::direct) {
      const int64_t blocks = PointPlace::blocks(task_.nx, task_.ny, task_.nz);
      if (task_.flow.even != 0) return task_.nz > 1 ? launch_direct<3, true>(blocks) : launch_direct<2, true>(blocks);
      return task_.nz > 1 ? launch_direct<3, false>(blocks) : launch_direct<2, false>(blocks);
    }
    const int64_t strips = task_.tiles * ((task_.ny + task_.rows - 1) / task_.rows);
    const int64_t blocks = (strips + policy::kStripWarps - 1) / policy::kStripWarps;
    const LaunchShape shape = {blocks, 32 * policy::kStripWarps, 0, false};
    if (policy::begins_early(blocks, task_.rows, device_.limits().multiprocessors)) {
      return launch<SegmentMarchAgent<R, true>>(device_, shape, task_);
    }
    return launch<SegmentMarchAgent<R>>(device_, shape, task_);
  }
  template <int kDimensions, bool kEven>
  Status launch_direct(int64_t blocks) {
    using Agent = SegmentDirectAgent<R, kDimensions, kEven>;
    return launch<Agent>(device_, {blocks, Agent::kMaxThreads, Agent::shared_bytes(p_.channels), false}, task_);
  }

  Status energy(int64_t steps, int64_t every, int32_t slot) {
    EnergyTask<R> task;
    task.step = task_;
    task.step.from = buffer(steps);
    task.entries = words(plan_.entries);
    task.words = plan_.entry_words;
    task.every = every;
    task.slot = slot;
    return launch_energy(task);
  }
  Status launch_energy(const EnergyTask<R>& task) {
    const int64_t blocks = summing_blocks();
    const size_t shared = SegmentEnergyAgent<R, 2>::shared_bytes();
    return task_.nz > 1 ? launch<SegmentEnergyAgent<R, 3>>(device_, {blocks, policy::kThreads, shared, false}, task)
                        : launch<SegmentEnergyAgent<R, 2>>(device_, {blocks, policy::kThreads, shared, false}, task);
  }

  Status reinitialize(int64_t steps, int32_t slot) {
    ReinitializeTask<R> task;
    task.fixed = buffer(steps);
    task.nx = task_.nx;
    task.ny = task_.ny;
    task.nz = task_.nz;
    task.stop = task_.tally.stops + slot;
    task.axes = task_.flow.axes;
    const LaunchShape shape = {PointPlace::blocks(task.nx, task.ny, task.nz), policy::kThreads, 0, false};
    task.from = buffer(steps);
    for (int64_t i = 0; i < p_.reinitialize_steps; ++i) {
      task.to = i % 2 == 0 ? buffer(steps + 1) : third_.template as<R>();
      if (task.nz > 1) WARPLOOM_TRY((launch<ReinitializeAgent<R, 3>>(device_, shape, task)));
      else WARPLOOM_TRY((launch<ReinitializeAgent<R, 2>>(device_, shape, task)));
      task.from = task.to;
    }
    task.to = buffer(steps);
    return launch<CopyBackAgent<R>>(device_, shape, task);
  }

  /// Computes the last energy if it is still missing, and writes the results to the caller's arrays.
  Status finish() {
    last_entry_ = most_entries(p_) - 1;
    if (iterations_ == 0) {
      last_entry_ = 0;
    } else if (p_.energy_every > 0 && iterations_ % p_.energy_every == 0) {
      last_entry_ = iterations_ / p_.energy_every;
    } else {
      EnergyTask<R> task;
      task.step = task_;
      task.step.from = buffer(iterations_);
      task.entries = words(plan_.entries) + last_entry_ * plan_.entry_words;
      task.words = plan_.entry_words;
      WARPLOOM_TRY(launch_energy(task));
    }
    if (iterations_ % 2 == 0 && p_.mask.data == nullptr) return {};
    FinishTask<R> task;
    task.level = buffer(iterations_);
    task.result = level_;
    task.mask = p_.mask.data;
    task.points = points_;
    return launch<SegmentFinishAgent<R>>(device_, {blocks_for(points_), policy::kThreads, 0, false}, task);
  }

  Status report() {
    std::vector<int64_t> found(static_cast<size_t>(plan_.bounds));
    WARPLOOM_TRY(device_.download(found.data(), words(0), plan_.bounds * 8));
    operation::Ending ending;
    const int64_t* const slot = found.data() + (iterations_ + kSlots - 1) % kSlots * task_.tally.words;
    for (int head = 0; head < operation::kHeads; ++head) {
      ending.inside += slot[head * operation::kHeadWords + operation::kInside];
      ending.change += slot[head * operation::kHeadWords + operation::kChange];
      ending.sum += slot[head * operation::kHeadWords + operation::kSum];
    }
    ending.sums = p_.channels > 1 ? slot + operation::kHeads * operation::kHeadWords : &ending.sum;
    ending.totals = found.data() + plan_.totals;
    ending.entries = found.data() + plan_.entries;
    ending.last_entry = last_entry_;
    ending.iterations = iterations_;
    operation::write_report(p_, setup_, weights_of_channels_.data(), variant_, ending);
    return {};
  }

  GpuDevice& device_;
  const SegmentParameters& p_;
  Control& control_;
  int64_t points_;
  WordPlan plan_;
  const R* image_;
  R* level_;
  SegmentVariant variant_;
  Workspace spare_, third_, words_, weights_;
  std::vector<double> weights_of_channels_;
  operation::Setup setup_;
  StepTask<R> task_;
  int64_t iterations_ = 0, last_entry_ = 0;
};

}  // namespace warploom::WARPLOOM_TARGET::imaging::segmentation
