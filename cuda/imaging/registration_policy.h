// Tuning table of imaging.registration.
#pragma once

namespace warploom::imaging {

inline constexpr int kRegistrationThreads = 256;   ///< of a block
inline constexpr int kRegistrationPerThread = 4;   ///< elements of a thread

}  // namespace warploom::imaging
