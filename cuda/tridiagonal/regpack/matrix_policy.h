// When right-hand sides that share a matrix are solved by blocks that work it out once (matrix_table.cuh). Plain C++.
#pragma once
#include <cstdint>

namespace warploom::tridiagonal {

/// Rows per lane of rows that lie together: 16 where that saves a second warp, and with it a barrier.
constexpr int matrix_depth(int64_t n) { return n > 256 && n <= 512 ? 16 : 8; }
/// Right-hand sides that a lane works on at once.
constexpr int matrix_sides(int element_bytes, bool wide) { return element_bytes == 4 && wide ? 4 : 2; }
/// Most rows of such systems: those of one block.
inline constexpr int64_t kMatrixRows = 4096;
/// Right-hand sides per matrix from which on working it out apart pays: it takes about the time of two of them.
inline constexpr int64_t kLeastSides = 8;
/// Whether each block gets a few right-hand sides of one matrix; with fewer, all goes as with a matrix for each.
inline bool reuses_matrix(int64_t n, int64_t problems, int64_t per_matrix, int multiprocessors) {
  return n <= kMatrixRows && per_matrix >= kLeastSides && problems * n >= int64_t{multiprocessors} * 32768;
}

/// Rows per lane of interleaved systems.
inline constexpr int kMatrixColumnsDepth = 32;
/// Interleaved systems of so many rows: shorter ones fit a warp (interleaved_rows), longer ones no block. Lines of 128 bytes.
inline bool packs_columns(int64_t n, int64_t problems, int element_bytes) {
  return n > 512 && n <= 4096 && problems * element_bytes >= 128;
}

}  // namespace warploom::tridiagonal
