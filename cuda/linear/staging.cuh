// Moves rows between global memory and registers: asynchronous copies into swizzled shared memory, and back through
// shared memory into coalesced stores. Every warp has its own stage, so no block barriers are needed.
#pragma once
#include "cuda/core/stage.cuh"
#include "cuda/linear/strided.cuh"

namespace warploom::WARPLOOM_TARGET::linear {

/// How the rows of one array reach the stage.
enum class Transfer : int32_t {
  copies = 0,    ///< unit row stride, one array: asynchronous copies as wide as the address allows
  elements = 1,  ///< any strides, split complex, conjugation: element by element
  constant = 2,  ///< row stride zero: one load per system, no stage
};

template <class T>
Transfer transfer_of(const Strided<T>& array, int64_t n) {
  if (array.row_stride == 0 && n > 1) return Transfer::constant;
  return array.plain() ? Transfer::copies : Transfer::elements;
}

/// The lanes that move one run of rows, and where to. A group has `width` lanes, of which this is number `rank`. The
/// run has `rows` rows, from row `first_row` of (system, rhs) on, and stage elements from `base` on.
struct Run {
  int width, rank, base, rows;
  int64_t system, origin, rhs, first_row;  ///< origin: Batch::origin(system)
};

namespace detail {
/// Copies `count` elements in units of kBytes; `count` is a multiple of the unit.
template <int kBytes, class T, int kDepth>
WARPLOOM_DEVICE void copy_units(const device::Block& block, T* stage, const T* from, const Run& run,
                                int begin, int count) {
  constexpr int kUnit = kBytes / static_cast<int>(sizeof(T));
  for (int e = begin + run.rank * kUnit; e < count; e += run.width * kUnit) {
    device::async_copy<kBytes>(block, stage + Stage<T, kDepth>::place(run.base + e), from + e);
  }
}
/// Copies elements in parts, when their addresses are not aligned for a whole one.
template <int kBytes, class T, int kDepth>
WARPLOOM_DEVICE void copy_parts(const device::Block& block, T* stage, const T* from, const Run& run) {
  constexpr int kParts = static_cast<int>(sizeof(T)) / kBytes;
  for (int e = run.rank; e < run.rows; e += run.width) {
    char* to = reinterpret_cast<char*>(stage + Stage<T, kDepth>::place(run.base + e));
    WARPLOOM_UNROLL
    for (int part = 0; part < kParts; ++part) {
      device::async_copy<kBytes>(block, to + part * kBytes,
                                 reinterpret_cast<const char*>(from + e) + part * kBytes);
    }
  }
}

template <class T, int kDepth>
WARPLOOM_DEVICE void copy_plain(const device::Block& block, T* stage, const T* from, const Run& run) {
  const auto address = reinterpret_cast<uintptr_t>(from);
  if ((address & 15) == 0) {
    constexpr int kPerChunk = Stage<T, kDepth>::kPerChunk;
    const int whole = run.rows / kPerChunk * kPerChunk;
    copy_units<16, T, kDepth>(block, stage, from, run, 0, whole);
    if constexpr (sizeof(T) <= 8) {
      copy_units<static_cast<int>(sizeof(T)), T, kDepth>(block, stage, from, run, whole, run.rows);
    }
  } else if constexpr (sizeof(T) == 16) {
    copy_parts<8, T, kDepth>(block, stage, from, run);
  } else if constexpr (sizeof(T) == 8) {
    if ((address & 7) == 0) {
      copy_units<8, T, kDepth>(block, stage, from, run, 0, run.rows);
    } else {
      copy_parts<4, T, kDepth>(block, stage, from, run);
    }
  } else {
    if ((address & 7) == 0) {
      const int even = run.rows & ~1;
      copy_units<8, T, kDepth>(block, stage, from, run, 0, even);
      copy_units<4, T, kDepth>(block, stage, from, run, even, run.rows);
    } else {
      copy_units<4, T, kDepth>(block, stage, from, run, 0, run.rows);
    }
  }
}
}  // namespace detail

/// Starts moving a run of rows into `stage`. It is complete after async_wait and sync_warp.
template <int kDepth, class T>
WARPLOOM_DEVICE void load_rows(const device::Block& block, const Strided<T>& array, Transfer transfer,
                               T* stage, const Run& run) {
  const int64_t at = run.origin * array.system_stride + run.first_row * array.row_stride +
                     run.rhs * array.rhs_stride;
  if (transfer == Transfer::copies) {
    detail::copy_plain<T, kDepth>(block, stage, array.data + at, run);
  } else if (transfer == Transfer::elements) {
    for (int e = run.rank; e < run.rows; e += run.width) {
      const int64_t element = at + e * array.row_stride;
      if (array.readable(element)) stage[Stage<T, kDepth>::place(run.base + e)] = array.load(element);
    }
  }
}

/// Fast path of the usual case: Inputs::aligned, and a run that fills its lanes, with kDepth rows for every lane.
/// `address(k)` is the beginning of the run in array k.
template <class T, int kDepth, class Address>
WARPLOOM_DEVICE void load_full_rows(const device::Block& block, T* stage, const Run& run, bool keep,
                                    Address address) {
  using Lane = Stage<T, kDepth>;
  static_assert(Lane::kLaneChunks > 0, "a lane moves whole chunks");
  const int first = run.base / Lane::kPerChunk + run.rank;
  int place[Lane::kLaneChunks];
  WARPLOOM_UNROLL
  for (int turn = 0; turn < Lane::kLaneChunks; ++turn) {
    place[turn] = Lane::place_chunk(first + turn * run.width) * Lane::kPerChunk;
  }
  const int turn_elements = run.width * Lane::kPerChunk;
  WARPLOOM_UNROLL
  for (int k = 0; k < 4; ++k) {
    if (k < 3 && keep) continue;
    const T* from = address(k) + run.rank * Lane::kPerChunk;
    WARPLOOM_UNROLL
    for (int turn = 0; turn < Lane::kLaneChunks; ++turn) {
      device::async_copy<16>(block, stage + k * Lane::kElements + place[turn], from + turn * turn_elements);
    }
  }
}

/// The only value of an array with row stride zero.
template <class T>
WARPLOOM_DEVICE T load_constant(const Strided<T>& array, const Run& run) {
  return array.load(run.origin * array.system_stride + run.rhs * array.rhs_stride);
}

/// store_rows for a run that fills its lanes and begins at `begin`, a multiple of 16 bytes.
template <class T, int kDepth>
WARPLOOM_DEVICE void store_full_rows(T* begin, const T* stage, const Run& run) {
  using Lane = Stage<T, kDepth>;
  const int first = run.base / Lane::kPerChunk;
  auto* to = reinterpret_cast<device::Pack<T>*>(begin);
  const auto* from = reinterpret_cast<const device::Pack<T>*>(stage);
  WARPLOOM_UNROLL
  for (int turn = 0; turn < Lane::kLaneChunks; ++turn) {
    const int chunk = run.rank + turn * run.width;
    to[chunk] = from[Lane::place_chunk(first + chunk)];
  }
}

/// Stores the kDepth rows of each lane from registers as whole vectors. `pack(c)` is the lane's vector c, `to` the
/// position of its first row, and `left` the number of rows from there to the end of the line (-kDepth if there is
/// nothing to store). With `pairs`, two lanes write each sector together; written in halves it would take two L2
/// transactions.
template <class T, int kDepth, class PackOf>
WARPLOOM_DEVICE void store_vectors(const device::Block& block, T* to, int left, bool pairs, PackOf pack) {
  using Pack = device::Pack<T>;
  constexpr int kCount = Pack::kCount, kChunks = kDepth / kCount;
  static_assert(kChunks % 2 == 0, "two lanes write each sector together");
  const bool odd = pairs && (block.lane() & 1) != 0;
  if (odd) {
    to -= kDepth - kCount;
    left += kDepth - kCount;
  }
  // Element by element, so that both stay in registers.
  const auto chosen = [](bool first, const Pack& a, const Pack& b) {
    Pack taken;
    WARPLOOM_UNROLL
    for (int k = 0; k < kCount; ++k) taken.item[k] = first ? a.item[k] : b.item[k];
    return taken;
  };
  const auto write = [&](int at, const Pack& value) {
    if (at < left) *reinterpret_cast<Pack*>(to + at) = value;
  };
  WARPLOOM_UNROLL
  for (int c = 0; c < kChunks; c += 2) {
    const Pack a = pack(c), b = pack(c + 1);
    if (pairs) {
      const Pack other = device::shuffle_xor(block, chosen(odd, a, b), 1);
      write(c * kCount, chosen(odd, other, a));
      write(kDepth + c * kCount, chosen(odd, b, other));
    } else {
      write(c * kCount, a);
      write((c + 1) * kCount, b);
    }
  }
}

/// Stores a run of rows from the stage; needs a sync_warp after Stage::write.
template <int kDepth, class T>
WARPLOOM_DEVICE void store_rows(const Strided<T>& array, const T* stage, const Run& run) {
  using Lane = Stage<T, kDepth>;
  const int64_t at = run.origin * array.system_stride + run.first_row * array.row_stride +
                     run.rhs * array.rhs_stride;
  int done = 0;
  if (array.plain() && (reinterpret_cast<uintptr_t>(array.data + at) & 15) == 0) {
    constexpr int kTurns = Lane::kLaneChunks > 0 ? Lane::kLaneChunks : 1;
    const int whole = run.rows / Lane::kPerChunk;
    const int first = run.base / Lane::kPerChunk;
    auto* to = reinterpret_cast<device::Pack<T>*>(array.data + at);
    const auto* from = reinterpret_cast<const device::Pack<T>*>(stage);
    WARPLOOM_UNROLL
    for (int turn = 0; turn < kTurns; ++turn) {
      const int chunk = run.rank + turn * run.width;
      if (chunk < whole) to[chunk] = from[Lane::place_chunk(first + chunk)];
    }
    done = whole * Lane::kPerChunk;
  }
  for (int e = done + run.rank; e < run.rows; e += run.width) {
    array.store(at + e * array.row_stride, stage[Lane::place(run.base + e)]);
  }
}

}  // namespace warploom::WARPLOOM_TARGET::linear
