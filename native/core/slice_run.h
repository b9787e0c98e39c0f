// The device's side of a call in slices: uploads, computation and downloads of different slices overlap.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "native/core/host_block.h"
#include "native/core/operation.h"
#include "native/core/slice_plan.h"

namespace warploom {

/// The parts of a call in slices.
struct SlicedCall {
  Session& session;
  Device& device;
  Invocation& invocation;
  const std::vector<Buffer>& buffers;
  const std::vector<Pointer>& pointers;
  SlicePlan& plan;
  std::shared_ptr<HostBlock> up, down;  ///< staged parts, a piece for every slice; may be null
  char* sets = nullptr;                 ///< memory on the device, plan.turns() times plan.set_bytes()
  /// Results are copied to the caller's arrays as their slices arrive, not when the call settles.
  bool results_at_once = false;
};

/// The call's control as seen by the operation on one slice.
class SliceControl final : public Control {
 public:
  SliceControl(Control& call, size_t slices) : call_(call), slices_(slices) {}
  void begin(size_t slice) { slice_ = slice; }
  bool cancelled() const override { return call_.cancelled(); }
  void progress(double done, double total) override {
    const double part = total > 0 ? done / total : 1;
    call_.progress(static_cast<double>(slice_) + part, static_cast<double>(slices_));
  }

 private:
  Control& call_;
  const size_t slices_;
  size_t slice_ = 0;
};

/// Runs the slices of a call on a device in host memory, each while the next ones are being copied. The inputs are in
/// `up`, and all other pointers are set.
Status run_slices(SlicePlan& plan, HostBlock& up, const std::vector<Pointer>& pointers, Control& control,
                  const std::function<Status(Control&)>& perform);

/// On the device's thread, between begin() and end() of the call's submission.
class SliceRun final {
 public:
  SliceRun(const SlicedCall& call, Control& control) : call_(call), control_(control, call.plan.slices()) {}
  SliceRun(const SliceRun&) = delete;
  SliceRun& operator=(const SliceRun&) = delete;
  ~SliceRun();
  /// Submits all slices. Pointers to whole arrays must be set. The last downloads may still be in flight when it
  /// returns.
  Status run();
  /// Called once the call's mark is reached.
  Status finish() {
    WARPLOOM_TRY(let_leave(0));
    return hand_over(0);
  }

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
  SliceControl control_;
  size_t uploaded_ = 0;
  Waiting leaving_;  // pieces being uploaded, with the marks after them
  Waiting arriving_;  // and pieces being downloaded
};

}  // namespace warploom
