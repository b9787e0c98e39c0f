// A call in slices: where the parts of its arrays lie, in transit and on the device. The operation says how it can be
// cut (cuda/core/cuts.h). This file decides whether and how far, without knowing any operation.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/core/cuts.h"
#include "native/core/arguments.h"

namespace warploom {

class SlicePlan {
 public:
  /// One of the caller's arrays that is cut: every slice has an interval of it.
  struct Region {
    size_t buffer = 0;
    int view = 0;  ///< of Cuts
    int64_t element_bytes = 0;
    bool up = false, down = false;
    bool staged = false;  ///< transferred through the addon's own memory
  };
  /// Bytes of a region's buffer.
  struct Range {
    int64_t first = 0, bytes = 0;
  };
  /// The device memory of one slice. Staged regions come first, in the order up only, both ways, down only: all uploads
  /// form one piece, and so do all downloads.
  struct Layout {
    std::vector<int64_t> places;  ///< by region
    int64_t up = 0;               ///< bytes uploaded, starting at 0
    int64_t down_begin = 0, down_end = 0;
    int64_t end = 0;
  };

  /// What to cut: on a device in host memory, only inputs that must be copied.
  struct Limits {
    int64_t slice_bytes = 0;  ///< approximate bytes of a slice
    bool host_memory = false;
  };
  /// The plan of a call that is worth cutting; null if it stays whole. Sets `sliced` of the regions' buffers.
  static std::unique_ptr<SlicePlan> make(Cuts cuts, std::vector<Buffer>& buffers, const std::vector<Pointer>& pointers,
                                         const Limits& limits);

  Cuts& cuts() { return cuts_; }
  size_t slices() const { return bounds_.size() - 1; }
  const std::vector<Region>& regions() const { return regions_; }
  int64_t begin(size_t slice) const { return bounds_[slice]; }
  int64_t end(size_t slice) const { return bounds_[slice + 1]; }
  Range range(const Region& region, size_t slice) const;
  Layout layout(size_t slice) const;
  /// The number of slices that have device memory at the same time, and the bytes of each.
  int turns() const;
  int64_t set_bytes() const { return set_bytes_; }
  /// After Cuts::select(): the parameters of a slice whose memory on the device is at `memory`.
  void place(size_t slice, const std::vector<Pointer>& pointers, char* memory);

 private:
  explicit SlicePlan(Cuts cuts) : cuts_(std::move(cuts)) {}
  bool add_regions(const std::vector<Buffer>& buffers, const std::vector<Pointer>& pointers, bool host_memory);
  bool same_parts(const std::vector<Pointer>& pointers) const;
  int64_t bytes_of(int64_t begin, int64_t end) const;
  void cut(const Limits& limits);
  const Region* region_of(size_t buffer) const;

  Cuts cuts_;
  std::vector<Region> regions_;
  std::vector<int64_t> bounds_;
  int64_t set_bytes_ = 0;
};

}  // namespace warploom
