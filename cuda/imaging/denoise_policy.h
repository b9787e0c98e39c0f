// Tuning table of imaging.denoise.
#pragma once

namespace warploom::imaging {

inline constexpr int kDenoiseThreads = 256;   ///< of a block
inline constexpr int kDenoisePerThread = 4;   ///< elements of a thread

}  // namespace warploom::imaging
