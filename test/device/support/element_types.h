// The element types of the device programs.
#pragma once
#include "cuda/core/complex.cuh"

namespace warploom::test {

/// Calls body with a value of each element type; under sanitizers of the smallest and the largest: who waits for whom and what is
/// read is the same code for all, and the program `operations` takes all four.
template <class Body>
void each_type(const Body& body) {
  body(float());
  body(simt::Complex<double>());
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  body(double());
  body(simt::Complex<float>());
#endif
}

}  // namespace warploom::test
