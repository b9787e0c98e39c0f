// Tuning table of imaging.resample.
#pragma once

namespace warploom::imaging {

inline constexpr int kResampleThreads = 256;   ///< of a block
inline constexpr int kResamplePerThread = 4;   ///< elements of a thread

}  // namespace warploom::imaging
