// Entry points of the per-instruction-set kernels of imaging.segment. Names types of cuda/imaging/ without including their headers:
// isa_*.cpp must include those after the choice of the instruction set, since templates there take vectors.
#pragma once
#include <cstdint>

namespace warploom::imaging::segmentation {
template <class R> struct Flow;
struct Scales;
}  // namespace warploom::imaging::segmentation

namespace warploom::cpu {

/// One row of points. Level sets are padded: a point has its neighbours at distances 1, row and plane, the border's repeated.
template <class R>
struct SegmentRow {
  const ::warploom::imaging::segmentation::Flow<R>* flow = nullptr;
  const ::warploom::imaging::segmentation::Scales* scales = nullptr;
  const R* from = nullptr;    ///< the row's first point
  const R* fixed = nullptr;   ///< reinitialisation: that of the level set it began with
  R* to = nullptr;
  int64_t nx = 0, row = 0;
  int64_t plane = 0;          ///< 0: an image
  const R* image = nullptr;   ///< the row in the first channel
  int64_t points = 0, channels = 1;
  const R* centres = nullptr; ///< means inside and outside by channel
  const R* weights = nullptr; ///< of the channels, null: 1
  R* scratch = nullptr;       ///< kSegmentScratchRows rows of nx
};
inline constexpr int64_t kSegmentScratchRows = 5;

/// Kernels of one element type.
template <class R>
struct SegmentKernels {
  int lanes;  ///< of a vector
  /// A step; adds to points inside, squared changes, and sums by channel.
  void (*step)(const SegmentRow<R>& row, int64_t* words);
  /// Adds to the words of an energy entry.
  void (*energy)(const SegmentRow<R>& row, int64_t* words);
  /// Adds points with data and sums by channel: of all points, or of those inside of `from`.
  void (*sums)(const SegmentRow<R>& row, bool inside, int64_t* words);
  void (*reinitialize)(const SegmentRow<R>& row);
};

}  // namespace warploom::cpu
