// Tuning table of @domain@.@operation@.
#pragma once

namespace warploom::@domain@ {

inline constexpr int k@Operation@Threads = 256;   ///< per block
inline constexpr int k@Operation@PerThread = 4;   ///< elements per thread

}  // namespace warploom::@domain@
