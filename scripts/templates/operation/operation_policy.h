// Tuning table of @domain@.@operation@.
#pragma once

namespace warploom::@domain@ {

inline constexpr int k@Operation@Threads = 256;   ///< of a block
inline constexpr int k@Operation@PerThread = 4;   ///< elements of a thread

}  // namespace warploom::@domain@
