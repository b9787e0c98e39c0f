// Tuning table of imaging.warp.
#pragma once

namespace warploom::imaging {

inline constexpr int kWarpThreads = 256;   ///< of a block
inline constexpr int kWarpPerThread = 4;   ///< elements of a thread

}  // namespace warploom::imaging
