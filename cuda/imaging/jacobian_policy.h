// Tuning table of imaging.jacobian.
#pragma once

namespace warploom::imaging {

inline constexpr int kJacobianThreads = 256;   ///< of a block
inline constexpr int kJacobianPerThread = 4;   ///< elements of a thread

}  // namespace warploom::imaging
