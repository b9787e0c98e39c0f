// When right-hand sides that share a matrix are solved by blocks that factor it once (matrix_table.cuh). Plain C++.
#pragma once
#include <cstdint>

namespace warploom::tridiagonal {

/// Rows per lane for contiguous rows: 16 if that saves a second warp.
constexpr int matrix_depth(int64_t n) { return n > 256 ? 16 : 8; }
/// Most rows for one warp, and for several warps whose lanes are all filled.
inline constexpr int64_t kMatrixRows = 512;
constexpr bool has_matrix_rows(int64_t n) { return n <= kMatrixRows || n == 1024 || n == 2048 || n == 4096; }
/// The number of right-hand sides per matrix from which factoring it separately pays: it takes about as long as one or
/// two of them. In float32, each right-hand side gains less.
constexpr int64_t least_sides(int element_bytes) { return element_bytes == 4 ? 64 : 8; }
/// Whether each block gets several right-hand sides of one matrix. With fewer, each is solved as if it had its own
/// matrix. Tables of several warps take longer.
inline bool reuses_matrix(int64_t n, int64_t problems, int64_t per_matrix, int element_bytes, int multiprocessors) {
  const int64_t sides = least_sides(element_bytes) * (n > kMatrixRows ? 4 : 1), rows = n > kMatrixRows ? 65536 : 32768;
  return has_matrix_rows(n) && per_matrix >= sides && problems * n >= multiprocessors * rows;
}

/// Rows per lane of interleaved systems.
inline constexpr int kMatrixColumnsDepth = 32;
/// Whether interleaved systems have a suitable number of rows: shorter ones fit a warp (interleaved_rows), longer ones
/// fit no block. Lines of 128 bytes.
inline bool packs_columns(int64_t n, int64_t problems, int element_bytes) {
  return n > 512 && n <= 4096 && problems * element_bytes >= 128;
}

}  // namespace warploom::tridiagonal
