#include "native/core/slice_run.h"

#include "native/core/traffic.h"

namespace warploom {
namespace {
constexpr size_t kLeaving = 2, kArriving = 2;  // pieces of host memory in flight each way, besides the current one
}  // namespace

SliceRun::~SliceRun() {
  for (const Waiting* const waiting : {&leaving_, &arriving_}) {
    for (const auto& [slice, mark] : *waiting) {
      if (call_.session.submission() != nullptr) (void)submission().finish(mark, nullptr);
    }
  }
}

Status run_slices(SlicePlan& plan, HostBlock& up, const std::vector<Pointer>& pointers, Control& control,
                  const std::function<Status(Control&)>& perform) {
  SliceControl each(control, plan.slices());
  plan.cuts().settle();
  for (size_t slice = 0; slice < plan.slices(); ++slice) {
    if (control.cancelled()) return {Code::cancelled, "the call was cancelled"};
    char* const memory = up.await(slice);
    if (memory == nullptr) return {Code::out_of_memory, "not enough host memory"};
    ++Traffic::get().slices;
    each.begin(slice);
    plan.cuts().select(plan.begin(slice), plan.end(slice));
    plan.place(slice, pointers, memory);
    each.device_seconds = 0;
    WARPLOOM_TRY(perform(each));
    control.device_seconds += each.device_seconds;
    up.drop(slice);
  }
  return {};
}

/// A slice is downloaded after the next one has been submitted, so waiting for a download does not delay work.
Status SliceRun::run() {
  const size_t slices = call_.plan.slices();
  call_.plan.cuts().settle();
  for (size_t slice = 0; slice <= slices; ++slice) {
    if (control_.cancelled()) return {Code::cancelled, "the call was cancelled"};
    if (slice < slices) {
      WARPLOOM_TRY(upload_up_to(slice));
      WARPLOOM_TRY(work(slice));
    }
    if (slice > 0) WARPLOOM_TRY(download(slice - 1));
    WARPLOOM_TRY(hand_over(kArriving));
  }
  return {};
}

/// Also uploads the following slice if its data is ready, because the work may wait for the device half-way through.
Status SliceRun::upload_up_to(size_t slice) {
  while (uploaded_ <= slice) WARPLOOM_TRY(upload(uploaded_++));
  const bool more = uploaded_ == slice + 1 && uploaded_ < call_.plan.slices();
  if (more && (call_.up == nullptr || call_.up->filled(uploaded_))) return upload(uploaded_++);
  return {};
}

Status SliceRun::upload(size_t slice) {
  WARPLOOM_TRY(submission().stage(Submission::Stage::upload, turn(slice)));
  if (call_.up != nullptr) {
    bool later = false;
    WARPLOOM_TRY(call_.up->upload_piece(slice, call_.device, set(slice), &later));
    Submission::Mark mark = Submission::kNone;
    if (later) WARPLOOM_TRY(submission().set(&mark));
    if (later) leaving_.emplace_back(slice, mark);
    WARPLOOM_TRY(let_leave(kLeaving));
  }
  const SlicePlan::Layout layout = call_.plan.layout(slice);
  const std::vector<SlicePlan::Region>& regions = call_.plan.regions();
  for (size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].staged || !regions[i].up) continue;
    const Buffer& buffer = call_.buffers[regions[i].buffer];
    const SlicePlan::Range range = call_.plan.range(regions[i], slice);
    char *const to = set(slice) + layout.places[i], *const from = buffer.source + range.first;
    WARPLOOM_TRY(buffer.pinned != nullptr ? submission().upload_later(to, from, range.bytes)
                                          : call_.device.upload(to, from, range.bytes));
  }
  return {};
}

Status SliceRun::work(size_t slice) {
  control_.begin(slice);
  ++Traffic::get().slices;
  WARPLOOM_TRY(submission().stage(Submission::Stage::work, turn(slice)));
  call_.plan.cuts().select(call_.plan.begin(slice), call_.plan.end(slice));
  call_.plan.place(slice, call_.pointers, set(slice));
  return call_.invocation.perform(call_.session.backend().operations, call_.device, control_);
}

Status SliceRun::download(size_t slice) {
  WARPLOOM_TRY(submission().stage(Submission::Stage::download, turn(slice)));
  const SlicePlan::Layout layout = call_.plan.layout(slice);
  if (call_.down != nullptr) {
    WARPLOOM_TRY(call_.down->download_piece(slice, call_.device, set(slice) + layout.down_begin));
    Submission::Mark mark = Submission::kNone;
    if (call_.results_at_once) WARPLOOM_TRY(submission().set(&mark));
    if (call_.results_at_once) arriving_.emplace_back(slice, mark);
  }
  const std::vector<SlicePlan::Region>& regions = call_.plan.regions();
  for (size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].staged || !regions[i].down) continue;
    const Buffer& buffer = call_.buffers[regions[i].buffer];
    const SlicePlan::Range range = call_.plan.range(regions[i], slice);
    char *const to = buffer.source + range.first, *const from = set(slice) + layout.places[i];
    WARPLOOM_TRY(buffer.pinned != nullptr ? submission().download_later(to, from, range.bytes)
                                          : call_.device.download(to, from, range.bytes));
  }
  return {};
}

Status SliceRun::let_leave(size_t most) {
  while (leaving_.size() > most) {
    const auto [slice, mark] = leaving_.front();
    leaving_.pop_front();
    const Status status = submission().finish(mark, nullptr);
    call_.up->drop(slice);
    WARPLOOM_TRY(status);
  }
  return {};
}

Status SliceRun::hand_over(size_t most) {
  while (arriving_.size() > most) {
    const auto [slice, mark] = arriving_.front();
    arriving_.pop_front();
    WARPLOOM_TRY(submission().finish(mark, nullptr));
    copy_results(slice);
    call_.down->drop(slice);
  }
  return {};
}

void SliceRun::copy_results(size_t slice) {
  std::vector<HostCopy> copies;
  const SlicePlan::Layout layout = call_.plan.layout(slice);
  const std::vector<SlicePlan::Region>& regions = call_.plan.regions();
  for (size_t i = 0; i < regions.size(); ++i) {
    if (!regions[i].staged || !regions[i].down) continue;
    const SlicePlan::Range range = call_.plan.range(regions[i], slice);
    char* const to = call_.buffers[regions[i].buffer].source + range.first;
    call_.down->copy_back({to, call_.down->begin_of(slice) + layout.places[i] - layout.down_begin, range.bytes}, &copies);
    Traffic::get().returned += range.bytes;
  }
  copy_all(copies);
}

}  // namespace warploom
