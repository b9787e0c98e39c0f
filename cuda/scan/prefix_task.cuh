// The parameters of every block of a scan, and the operators.
#pragma once
#include <cmath>
#include <cstdint>

#include "cuda/core/device.cuh"
#include "cuda/scan/prefix.h"

namespace warploom::WARPLOOM_TARGET::scan {

namespace operation = ::warploom::scan;
using operation::Operator;

/// Neutral to the bit: -0 + x is x for every x, whereas +0 + x is not x for x = -0.
template <class T>
WARPLOOM_DEVICE T neutral(Operator op) {
  return op == Operator::sum ? T(-0.0) : op == Operator::product ? T(1) : T(-HUGE_VAL);
}

/// a before b. max keeps the first NaN, and otherwise the later of equal values.
template <Operator kOp, class T>
WARPLOOM_DEVICE T combine(T a, T b) {
  if constexpr (kOp == Operator::max) {
    return a > b || a != a ? a : b;
  } else {
    return kOp == Operator::product ? a * b : a + b;
  }
}
template <class T>
WARPLOOM_DEVICE T combine(Operator op, T a, T b) {
  return op == Operator::max       ? combine<Operator::max>(a, b)
         : op == Operator::product ? combine<Operator::product>(a, b)
                                   : combine<Operator::sum>(a, b);
}

/// The first value of an exclusive scan and of each of its segments: +0, 1 or -infinity.
template <class T>
WARPLOOM_DEVICE T exclusive_value(Operator op, T value) {
  return op == Operator::sum ? value + T(0) : value;
}

/// A scan of `rows` rows of n elements. Rows that fit a block share blocks. Longer rows are divided into tiles of
/// `tile` elements, one block each, which start from `carry`, the inclusive scan of the tiles' totals.
template <class T>
struct Task {
  const T* values = nullptr;
  const uint8_t* flags = nullptr;  ///< null: one segment per row
  T* result = nullptr;
  const T* carry = nullptr;        ///< rows * tiles, null when tiles == 1
  int64_t n = 0, rows = 0, tiles = 1;
  int tile = 0;             ///< elements per block of a row with several tiles
  int row_shift = 0;        ///< log2 of the threads that share a row
  bool full = false;        ///< rows or tiles fill their threads and begin at multiples of 16 bytes
  Operator op = Operator::sum;
  bool exclusive = false;
};

/// The contiguous elements that a block processes.
struct Span {
  int64_t begin = 0;  ///< first element, in the whole array
  int count = 0;
  int64_t block = 0;  ///< row * tiles + tile
  bool first = true;  ///< starts a row
};

template <class T>
WARPLOOM_DEVICE Span span_of(const Task<T>& task, int64_t block, int threads) {
  Span span;
  span.block = block;
  if (task.tiles == 1) {
    const int64_t per_block = threads >> task.row_shift;
    const int64_t row = block * per_block;
    const int64_t rows = task.rows - row < per_block ? task.rows - row : per_block;
    span.begin = row * task.n;
    span.count = static_cast<int>(rows * task.n);
  } else {
    // Block numbers have 31 bits, and a 32-bit division takes a quarter of the time of a 64-bit one.
    const auto row = static_cast<uint32_t>(block) / static_cast<uint32_t>(task.tiles);
    const int64_t tile = block - row * task.tiles;
    const int64_t left = task.n - tile * task.tile;
    span.begin = row * task.n + tile * task.tile;
    span.count = static_cast<int>(left < task.tile ? left : task.tile);
    span.first = tile == 0;
  }
  return span;
}

}  // namespace warploom::WARPLOOM_TARGET::scan
