// The element types of the device programs.
#pragma once
#include "cuda/core/complex.cuh"

namespace warploom::test {

/// Calls body with a value of each element type; under AddressSanitizer of the smallest and the largest, under ThreadSanitizer of the
/// smallest: who waits for whom and what is read is the same code for all, and the program `operations` takes all four.
template <class Body>
void each_type(const Body& body) {
  body(float());
#if !defined(__SANITIZE_THREAD__)
  body(simt::Complex<double>());
#endif
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  body(double());
  body(simt::Complex<float>());
#endif
}

}  // namespace warploom::test
