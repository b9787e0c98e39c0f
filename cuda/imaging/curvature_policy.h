// Tuning table of imaging.curvature.
#pragma once

namespace warploom::imaging {

inline constexpr int kCurvatureThreads = 256;   ///< of a block
inline constexpr int kCurvaturePerThread = 4;   ///< elements of a thread

}  // namespace warploom::imaging
