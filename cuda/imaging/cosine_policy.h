// Tuning table of imaging.cosine.
#pragma once

namespace warploom::imaging {

inline constexpr int kCosineThreads = 256;   ///< of a block
inline constexpr int kCosinePerThread = 4;   ///< elements of a thread

}  // namespace warploom::imaging
