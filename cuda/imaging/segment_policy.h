// Tuning table of imaging.segment.
#pragma once

namespace warploom::imaging {

inline constexpr int kSegmentThreads = 256;   ///< of a block
inline constexpr int kSegmentPerThread = 4;   ///< elements of a thread

}  // namespace warploom::imaging
