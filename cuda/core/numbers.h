// The larger and the smaller of two numbers, for headers that device code includes: <algorithm> is the host's.
#pragma once

namespace warploom {

template <class T>
constexpr T larger(T a, T b) { return a < b ? b : a; }
template <class T>
constexpr T smaller(T a, T b) { return b < a ? b : a; }

}  // namespace warploom
