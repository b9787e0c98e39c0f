// The device's side of a call in slices: uploads, work and downloads of different slices at the same time.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "native/core/host_block.h"
#include "native/core/operation.h"
#include "native/core/slice_plan.h"

namespace warploom {

/// What a call in slices is made of.
struct SlicedCall {
  Session& session;
  Device& device;
  Invocation& invocation;
  const std::vector<Buffer>& buffers;
  const std::vector<Pointer>& pointers;
  SlicePlan& plan;
  std::shared_ptr<HostBlock> up, down;  ///< staged parts, a piece for every slice; may be null
  char* sets = nullptr;                 ///< memory on the device, plan.turns() times plan.set_bytes()
  /// Results go to the caller's arrays as their slices come down, not when the call settles.
  bool results_at_once = false;
};

/// On the device's thread, between begin() and end() of the call's submission; the operation hears of the call's end
/// and progress through it.
class SliceRun final : public Control {
 public:
  SliceRun(const SlicedCall& call, Control& outer) : call_(call), outer_(outer) {}
  ~SliceRun() override;
  /// Submits all slices, whose pointers to whole arrays stand. The last downloads may be under way when it returns.
  Status run();
  /// When the call's mark is reached.
  Status finish() {
    WARPLOOM_TRY(let_leave(0));
    return hand_over(0);
  }

  bool cancelled() const override { return outer_.cancelled(); }
  void progress(double done, double total) override;

 private:
  using Waiting = std::deque<std::pair<size_t, Submission::Mark>>;

  Submission& submission() const { return *call_.session.submission(); }
  int turn(size_t slice) const { return static_cast<int>(slice) % call_.plan.turns(); }
  char* set(size_t slice) const { return call_.sets + turn(slice) * call_.plan.set_bytes(); }
  Status upload_up_to(size_t slice);
  Status upload(size_t slice);
  Status work(size_t slice);
  Status download(size_t slice);
  Status let_leave(size_t most);
  Status hand_over(size_t most);
  void copy_results(size_t slice);

  SlicedCall call_;
  Control& outer_;
  size_t uploaded_ = 0, current_ = 0;
  Waiting leaving_;  // pieces on their way up, with marks behind them
  Waiting arriving_;  // and down
};

}  // namespace warploom
