// Entry points of the per-instruction-set kernels of imaging.segment. Names types of cuda/imaging/ without including
// their headers: isa_*.cpp must select the instruction set first, because templates in those headers take vectors.
#pragma once
#include <cstdint>

namespace warploom::imaging::segmentation {
template <class R> struct Flow;
struct Scales;
}  // namespace warploom::imaging::segmentation

namespace warploom::cpu {

/// One row of points. Level sets are padded by repeating the border, so every point has neighbours at distances 1, row
/// and plane.
template <class R>
struct SegmentRow {
  const ::warploom::imaging::segmentation::Flow<R>* flow = nullptr;
  const ::warploom::imaging::segmentation::Scales* scales = nullptr;
  const R* from = nullptr;    ///< the row's first point
  const R* fixed = nullptr;   ///< reinitialisation: the same row of the initial level set
  R* to = nullptr;
  int64_t nx = 0, row = 0;
  int64_t plane = 0;          ///< 0 for an image
  const R* image = nullptr;   ///< the row in the first channel
  int64_t points = 0, channels = 1;
  const R* centres = nullptr; ///< means inside and outside by channel
  const R* weights = nullptr; ///< of the channels; null means 1
  R* scratch = nullptr;       ///< kSegmentScratchRows rows of nx
};
inline constexpr int64_t kSegmentScratchRows = 5;

/// Kernels of one element type.
template <class R>
struct SegmentKernels {
  int lanes;  ///< of a vector
  /// One step; adds to the count of points inside, the squared changes, and the sums by channel.
  void (*step)(const SegmentRow<R>& row, int64_t* words);
  /// Adds to the words of an energy entry.
  void (*energy)(const SegmentRow<R>& row, int64_t* words);
  /// Adds the points with data and the sums by channel, for all points or for those inside `from`.
  void (*sums)(const SegmentRow<R>& row, bool inside, int64_t* words);
  void (*reinitialize)(const SegmentRow<R>& row);
};

}  // namespace warploom::cpu
