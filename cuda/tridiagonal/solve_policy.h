// Tuning table of tridiagonal.solve: which algorithm and packing depth for a size, type and batch.
// Plain C++, found by `npm run tune`; kernels contain no tuning constants of their own.
#pragma once
#include <cstdint>

#include "cuda/tridiagonal/solve.h"

namespace warploom::tridiagonal {

/// Largest packing depth whose rows fit the registers of a thread: 128 bytes per band.
inline constexpr int kMaxRowBytes = 128;

/// One line: systems of up to `rows` unknowns use `depth` rows per thread.
struct DepthRule {
  int64_t rows;
  int depth;
};

/// Batches that fill the device: few threads per system, much work in registers.
inline constexpr DepthRule kThroughput4[] = {{16, 4}, {32, 8}, {INT64_MAX, 16}};
inline constexpr DepthRule kThroughput8[] = {{16, 4}, {32, 8}, {INT64_MAX, 16}};
inline constexpr DepthRule kThroughput16[] = {{16, 4}, {INT64_MAX, 8}};
/// Small batches: more threads per system, a shorter path to the answer.
inline constexpr DepthRule kLatency4[] = {{64, 4}, {512, 8}, {INT64_MAX, 16}};
inline constexpr DepthRule kLatency8[] = {{64, 4}, {512, 8}, {INT64_MAX, 16}};
inline constexpr DepthRule kLatency16[] = {{64, 4}, {INT64_MAX, 8}};

/// Consecutive tiles a worker solves before its block ends, where several blocks share a multiprocessor.
/// Two overlap copies with arithmetic; more let the blocks drift apart, and DRAM loses its locality
/// (measured on an H200: 96 % of the floor with 2, 93 % with 4, 91 % with 8 and with endless workers).
inline constexpr int kTilesPerWorker = 2;

/// Packing depth for systems of n unknowns of `element_bytes` bytes.
inline int regpack_depth(int element_bytes, int64_t n, int64_t problems, int multiprocessors) {
  const bool latency = problems * n < int64_t{multiprocessors} * 8192;
  const DepthRule* rule = element_bytes == 4   ? (latency ? kLatency4 : kThroughput4)
                          : element_bytes == 8 ? (latency ? kLatency8 : kThroughput8)
                                               : (latency ? kLatency16 : kThroughput16);
  while (n > rule->rows) ++rule;
  return rule->depth;
}

/// Interleaved batches with a thread per system to fill the device: the Thomas algorithm reads them as
/// they stand, where register packing would gather every row by itself.
inline bool prefers_thomas(int64_t n, int64_t problems, int multiprocessors, bool interleaved) {
  return interleaved && n > 1 && problems >= int64_t{multiprocessors} * 64;
}

}  // namespace warploom::tridiagonal
