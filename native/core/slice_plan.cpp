#include "native/core/slice_plan.h"

#include <algorithm>
#include <utility>

#include "cuda/core/submission.h"

namespace warploom {
namespace {

// Addresses in a slice equal those in the whole array modulo this, so that kernels make the same choices.
constexpr int64_t kAlignment = 256;
constexpr int64_t kGroup = Cuts::kGroup;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool overlaps(const Buffer& a, const Buffer& b) {
  return a.source < b.source + b.bytes && b.source < a.source + a.bytes;
}

/// Slices are downloaded while others are still being uploaded, so results must not share memory with anything.
bool outputs_apart(const std::vector<Buffer>& buffers) {
  for (const Buffer& output : buffers) {
    if (!output.output || output.table || output.merged || output.bytes == 0) continue;
    for (const Buffer& other : buffers) {
      if (&other != &output && !other.merged && !other.table && other.bytes > 0 && overlaps(output, other)) return false;
    }
  }
  return true;
}

/// In the order of Layout.
int rank(const SlicePlan::Region& region) {
  return !region.staged ? 3 : !region.down ? 0 : region.up ? 1 : 2;
}

}  // namespace

std::unique_ptr<SlicePlan> SlicePlan::make(Cuts cuts, std::vector<Buffer>& buffers, const std::vector<Pointer>& pointers,
                                           const Limits& limits) {
  if (cuts.count() < 2 || !outputs_apart(buffers)) return nullptr;
  if (limits.host_memory && !cuts.for_processors()) return nullptr;
  std::unique_ptr<SlicePlan> plan(new SlicePlan(std::move(cuts)));
  if (!plan->add_regions(buffers, pointers, limits.host_memory) || !plan->same_parts(pointers)) return nullptr;
  const int64_t bytes = plan->bytes_of(0, plan->cuts_.count());
  int64_t whole = 0;  // bytes that are transferred whole
  for (size_t i = 0; i < buffers.size(); ++i) {
    const bool travels = limits.host_memory ? buffers[i].staged() && buffers[i].input : buffers[i].on_host();
    if (travels && plan->region_of(i) == nullptr) whole += buffers[i].bytes;
  }
  if (bytes < 2 * limits.slice_bytes || bytes < whole) return nullptr;
  plan->cut(limits);
  if (plan->slices() < 2) return nullptr;
  for (const Region& region : plan->regions_) buffers[region.buffer].sliced = true;
  return plan;
}

/// Adds the buffers whose views all agree. False if a result is not among them.
bool SlicePlan::add_regions(const std::vector<Buffer>& buffers, const std::vector<Pointer>& pointers, bool host_memory) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    if (!buffer.on_host() || buffer.is_array) continue;
    if (host_memory && (buffer.output || !buffer.staged())) continue;
    Region region{i, -1, element_bytes(buffer.type), buffer.input, buffer.output, buffer.staged()};
    bool separable = true;
    for (const Pointer& pointer : pointers) {
      if (pointer.buffer != i || !separable) continue;
      const int view = cuts_.find(pointer.target);
      separable = view >= 0 && cuts_.separable(view) && (region.view < 0 || cuts_.same(region.view, view));
      region.view = view;
    }
    if (separable && region.view >= 0) {
      regions_.push_back(region);
    } else if (buffer.output) {
      return false;
    }
  }
  std::stable_sort(regions_.begin(), regions_.end(), [](const Region& a, const Region& b) { return rank(a) < rank(b); });
  // Views of memory that is used in place must be addressed slice by slice too.
  for (const Pointer& pointer : pointers) {
    const Buffer& buffer = buffers[pointer.buffer];
    if (!(buffer.on_device() || host_memory) || buffer.is_array) continue;
    const int view = cuts_.find(pointer.target);
    if (view < 0 || (buffer.output && cuts_.shared(view))) return false;
  }
  return !regions_.empty();
}

/// Real and imaginary parts must be both sliced or both whole.
bool SlicePlan::same_parts(const std::vector<Pointer>& pointers) const {
  for (const Pointer& a : pointers) {
    for (const Pointer& b : pointers) {
      const int view = cuts_.find(a.target);
      if (view < 0 || view != cuts_.find(b.target)) continue;
      if ((region_of(a.buffer) == nullptr) != (region_of(b.buffer) == nullptr)) return false;
    }
  }
  return true;
}

const SlicePlan::Region* SlicePlan::region_of(size_t buffer) const {
  for (const Region& region : regions_) {
    if (region.buffer == buffer) return &region;
  }
  return nullptr;
}

int64_t SlicePlan::bytes_of(int64_t begin, int64_t end) const {
  int64_t bytes = 0;
  for (const Region& region : regions_) {
    const Cuts::Extent extent = cuts_.extent(region.view, begin, end);
    bytes += (extent.last - extent.first) * region.element_bytes;
  }
  return bytes;
}

void SlicePlan::cut(const Limits& limits) {
  const int64_t count = cuts_.count(), slice_bytes = limits.slice_bytes;
  const int64_t least = limits.host_memory ? kGroup : 1;
  bounds_.assign(1, 0);
  while (bounds_.back() < count) {
    const int64_t begin = bounds_.back();
    // The last end that fits, and the first that does not.
    int64_t fits = std::min(begin + least, count), beyond = count + 1;
    while (beyond - fits > 1) {
      const int64_t middle = fits + (beyond - fits) / 2;
      if (bytes_of(begin, middle) <= slice_bytes) fits = middle; else beyond = middle;
    }
    if (fits < count && fits - begin > kGroup) fits -= (fits - begin) % kGroup;
    if (count - fits < least) fits = count;
    bounds_.push_back(fits);
  }
  for (size_t i = 0; i < slices(); ++i) set_bytes_ = std::max(set_bytes_, aligned(layout(i).end));
}

SlicePlan::Range SlicePlan::range(const Region& region, size_t slice) const {
  const Cuts::Extent extent = cuts_.extent(region.view, begin(slice), end(slice));
  return {extent.first * region.element_bytes, (extent.last - extent.first) * region.element_bytes};
}

SlicePlan::Layout SlicePlan::layout(size_t slice) const {
  Layout layout;
  for (const Region& region : regions_) {
    const Range part = range(region, slice);
    const int64_t place = aligned(layout.end) + part.first % kAlignment;
    if (rank(region) == 0) layout.down_begin = aligned(place + part.bytes);
    layout.places.push_back(place);
    layout.end = place + part.bytes;
    if (region.staged && region.up) layout.up = layout.end;
    if (region.staged && region.down) layout.down_end = layout.end;
  }
  layout.down_end = std::max(layout.down_end, layout.down_begin);
  return layout;
}

int SlicePlan::turns() const { return static_cast<int>(std::min<size_t>(Submission::kTurns, slices())); }

void SlicePlan::place(size_t slice, const std::vector<Pointer>& pointers, char* memory) {
  const Layout all = layout(slice);
  for (int view = 0; view < cuts_.views(); ++view) {
    void *data = nullptr, *imaginary = nullptr;
    bool moved = false;
    for (const Pointer& pointer : pointers) {
      const Region* const region = cuts_.find(pointer.target) == view ? region_of(pointer.buffer) : nullptr;
      if (region == nullptr) continue;
      moved = true;
      void* const place = memory + all.places[static_cast<size_t>(region - regions_.data())];
      (cuts_.is_imaginary(view, pointer.target) ? imaginary : data) = place;
    }
    if (moved) cuts_.move(view, cuts_.extent(view, begin(slice), end(slice)), data, imaginary);
  }
}

}  // namespace warploom
