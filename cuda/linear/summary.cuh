// Words of calls: those of problems without rows, and the summary of all of a call's words. It is computed on the
// device, so that a caller reads 64 bytes instead of 8 per system.
#pragma once
#include <algorithm>

#include "cuda/core/launch.cuh"
#include "cuda/linear/extents.cuh"
#include "cuda/linear/outcomes.h"

namespace warploom::WARPLOOM_TARGET::linear {

namespace operation = ::warploom::linear;

/// The contribution of some systems to a summary.
struct SummaryPart {
  int64_t zero_pivots, non_finites, inaccurates, resolved;
  int64_t first;  ///< index of the first failure; INT64_MAX: none
};

WARPLOOM_DEVICE SummaryPart empty_summary() { return {0, 0, 0, 0, INT64_MAX}; }
WARPLOOM_DEVICE SummaryPart combine(const SummaryPart& a, const SummaryPart& b) {
  return {a.zero_pivots + b.zero_pivots, a.non_finites + b.non_finites, a.inaccurates + b.inaccurates,
          a.resolved + b.resolved, a.first < b.first ? a.first : b.first};
}
WARPLOOM_DEVICE SummaryPart part_of(int32_t word, int64_t index) {
  using operation::SystemStatus;
  const auto state = static_cast<SystemStatus>(word & 0xff);
  return {state == SystemStatus::zero_pivot, state == SystemStatus::non_finite, state == SystemStatus::inaccurate,
          (word & operation::kResolvedByPivoting) != 0, state == SystemStatus::ok ? INT64_MAX : index};
}

/// Adds up words, or the parts written by earlier blocks, and writes a part or, as the only block, the summary. Integer
/// sums in a fixed order: the same bits every time.
struct SummaryAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 1;
  static constexpr bool kOverlapped = true;
  static constexpr int kWordsPerThread = 16;  ///< at least, if there are that many
  static constexpr size_t kSharedBytes = kMaxThreads / 32 * sizeof(SummaryPart);
  struct Parameters {
    const int32_t* status;
    const int32_t* row;
    const SummaryPart* parts;  ///< null: reads the words instead
    int64_t count;             ///< of words or parts
    SummaryPart* out;          ///< one per block, if there are several
    operation::Summary* summary;
    int64_t first;  ///< index of the first word in its call; if not 0, adds to the summary of the words before it
  };

  static WARPLOOM_DEVICE void count(double& word, int64_t more, bool add) {
    word = static_cast<double>(more) + (add ? word : 0.0);
  }
  static WARPLOOM_DEVICE void write(const Parameters& p, const SummaryPart& all) {
    const bool failed = all.first != INT64_MAX, add = p.first > 0;
    operation::Summary& summary = *p.summary;
    count(summary.zero_pivots, all.zero_pivots, add);
    count(summary.non_finites, all.non_finites, add);
    count(summary.inaccurates, all.inaccurates, add);
    count(summary.resolved, all.resolved, add);
    if (add && summary.first_failed >= 0) return;  // there was an earlier failure
    summary.first_failed = failed ? static_cast<double>(p.first + all.first) : -1.0;
    summary.first_word = failed ? p.status[all.first] : 0;
    summary.first_row = failed ? p.row[all.first] : -1;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    device::follow_previous_launch();
    SummaryPart sum = empty_summary();
    const int64_t stride = block.count() * block.threads();
    WARPLOOM_NO_UNROLL
    for (int64_t i = block.index() * block.threads() + block.thread(); i < p.count; i += stride) {
      if (p.parts != nullptr) {
        sum = combine(sum, p.parts[i]);
      } else if (const int32_t word = p.status[i]; word != 0) {
        sum = combine(sum, part_of(word, i));
      }
    }
    for (int mask = 16; mask > 0; mask /= 2) sum = combine(sum, device::shuffle_xor(block, sum, mask));
    SummaryPart* const warps = block.shared<SummaryPart>();
    if (block.lane() == 0) warps[block.warp()] = sum;
    block.sync();
    if (block.thread() != 0) return;
    for (int w = 1; w < block.threads() / 32; ++w) sum = combine(sum, warps[w]);
    if (block.count() > 1) {
      p.out[block.index()] = sum;
    } else {
      write(p, sum);
    }
  }
};

/// Words of problems without rows: nothing to solve, no error. Any pointer may be null.
struct EmptyAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    int64_t problems;
    int32_t* status;
    int32_t* row;
    double* backward_error;
  };
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t problem = block.index() * block.threads() + block.thread();
    if (problem >= p.problems) return;
    if (p.status != nullptr) p.status[problem] = 0;
    if (p.row != nullptr) p.row[problem] = -1;
    if (p.backward_error != nullptr) p.backward_error[problem] = 0;
  }
};

/// Status and row words of a batch; `words` holds those that its caller does not request.
template <class Batch>
Status make_words(GpuDevice& device, Batch* batch, Workspace* words) {
  if (batch->status != nullptr && batch->row != nullptr) return {};
  const int64_t bytes = (batch->problems() * 4 + 255) / 256 * 256;
  WARPLOOM_TRY(Workspace::make(device, 2 * bytes, words));
  if (batch->status == nullptr) batch->status = words->as<int32_t>();
  if (batch->row == nullptr) batch->row = words->as<int32_t>(bytes);
  return {};
}

/// Launches that fill the summary of a call, if it has one, from `problems` words. If `first` is not 0, they add to it.
template <class Operation>
Status summarise(GpuDevice& device, const Operation& call, int64_t problems, int* launches, int64_t first = 0) {
  operation::Summary* const summary = operation::summary_of(call);
  if (summary == nullptr) return {};
  SummaryAgent::Parameters p{call.status.data, call.row.data, nullptr, problems, nullptr, summary, first};
  LaunchShape shape;
  shape.threads = SummaryAgent::kMaxThreads;
  shape.shared_bytes = SummaryAgent::kSharedBytes;
  const int64_t each = int64_t{SummaryAgent::kMaxThreads} * SummaryAgent::kWordsPerThread;
  const int64_t most = 2 * int64_t{std::max(device.limits().multiprocessors, 1)};
  shape.blocks = std::max<int64_t>(1, std::min((problems + each - 1) / each, most));
  Workspace parts;
  if (shape.blocks > 1) {
    WARPLOOM_TRY(Workspace::make(device, shape.blocks * static_cast<int64_t>(sizeof(SummaryPart)), &parts));
    p.out = parts.as<SummaryPart>();
    WARPLOOM_TRY(launch<SummaryAgent>(device, shape, p));
    ++*launches;
    p.parts = p.out;
    p.count = shape.blocks;
    shape.blocks = 1;
  }
  ++*launches;
  return launch<SummaryAgent>(device, shape, p);
}

}  // namespace warploom::WARPLOOM_TARGET::linear
