// Calls in slices: whether and how to cut a call, and the copies it then needs.
#include <algorithm>
#include <utility>

#include "native/core/call.h"
#include "native/core/traffic.h"

namespace warploom {

/// Cuts the call where that pays and there is room. Index arrays stay whole; they are already in memory.
Failure Call::slice() {
  int64_t bytes = 0;
  for (const Buffer& buffer : buffers_) bytes += buffer.on_host() ? buffer.bytes : 0;
  if (bytes < 2 * session_->slice_bytes()) return {};
  Cuts cuts;
  invocation_->cuts(cuts);
  std::unique_ptr<SlicePlan> plan =
      SlicePlan::make(std::move(cuts), buffers_, pointers_, {session_->slice_bytes(), session_->host_memory()});
  if (plan == nullptr) return {};
  for (const int i : {kInputs, kBoth, kResults}) parts_[static_cast<size_t>(i)].block.reset();
  const bool made = make_slices(std::move(plan));
  if (!made) {
    for (Buffer& buffer : buffers_) buffer.sliced = false;
  }
  place_buffers();
  if (made && !session_->host_memory()) {
    sets_offset_ = device_bytes_;
    device_bytes_ += plan_->turns() * plan_->set_bytes();
  }
  return reserve_parts();
}

/// Results that nobody else sees are copied as they arrive, through a few pieces. Results in the caller's own arrays
/// wait until the call settles, because it may still fail.
bool Call::make_slices(std::unique_ptr<SlicePlan> plan) {
  constexpr int64_t kPieces = 4;
  std::vector<int64_t> up, down;
  int64_t up_bytes = 0, down_bytes = 0, largest = 0;
  for (size_t i = 0; i < plan->slices(); ++i) {
    const SlicePlan::Layout layout = plan->layout(i);
    up.push_back(up_bytes += layout.up);
    const int64_t results = layout.down_end - layout.down_begin;
    down.push_back(down_bytes += results);
    largest = std::max(largest, results);
  }
  results_at_once_ = true;
  for (const SlicePlan::Region& region : plan->regions()) {
    if (region.staged && region.down && !buffers_[region.buffer].owned) results_at_once_ = false;
  }
  const int64_t down_held = results_at_once_ ? std::min(down_bytes, kPieces * largest) : down_bytes;
  if (up_bytes + down_held > 0 && session_->reserve(up_bytes + down_held)) return false;
  if (up_bytes > 0) slices_up_ = HostBlock::make_in_pieces(session_, std::move(up), up_bytes);
  if (down_bytes > 0) slices_down_ = HostBlock::make_in_pieces(session_, std::move(down), down_held);
  borrows_ = borrows_ || (results_at_once_ && down_bytes > 0);
  plan_ = std::move(plan);
  return true;
}

/// The copies from the caller's arrays into the slices, in the order of the slices.
std::vector<BlockCopy> Call::slice_copies() const {
  std::vector<BlockCopy> copies;
  for (size_t slice = 0; slice < plan_->slices(); ++slice) {
    const SlicePlan::Layout layout = plan_->layout(slice);
    for (size_t i = 0; i < plan_->regions().size(); ++i) {
      const SlicePlan::Region& region = plan_->regions()[i];
      if (!region.staged || !region.up) continue;
      const SlicePlan::Range range = plan_->range(region, slice);
      copies.push_back({buffers_[region.buffer].source + range.first, slices_up_->begin_of(slice) + layout.places[i], range.bytes});
    }
  }
  return copies;
}

SlicedCall Call::sliced_call(Session& session, Device& device, char* memory) {
  return {session,    device,     *invocation_, buffers_, pointers_, *plan_, slices_up_, slices_down_, memory + sets_offset_,
          results_at_once_};
}

/// The copies that move a sliced result to its array at `memory`.
void Call::copy_slices(size_t buffer, char* memory, std::vector<HostCopy>* copies) const {
  for (size_t i = 0; i < plan_->regions().size(); ++i) {
    if (plan_->regions()[i].buffer != buffer) continue;
    for (size_t slice = 0; slice < plan_->slices(); ++slice) {
      const SlicePlan::Layout layout = plan_->layout(slice);
      const SlicePlan::Range range = plan_->range(plan_->regions()[i], slice);
      const int64_t at = slices_down_->begin_of(slice) + layout.places[i] - layout.down_begin;
      slices_down_->copy_back({memory + range.first, at, range.bytes}, copies);
      Traffic::get().returned += range.bytes;
      Traffic::get().settling += range.bytes;
    }
  }
}

}  // namespace warploom
