// The exchange between the blocks of a system that is solved in one pass. Every block posts its one remaining row, and
// solves the small system of all these rows by itself, in one warp.
#pragma once
#include "cuda/tridiagonal/regpack/chunk.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Most rows per lane of the system between blocks, limited by the registers for their messages.
template <class T>
inline constexpr int kInterfaceDepth = sizeof(T) == 16 ? 2 : 4;

template <class T>
struct OnePassParameters {
  Batch<T> batch;
  Inputs<T> inputs;
  int blocks_per_system;
  int interface_width;  ///< lanes that solve the system between blocks, a power of two
  int slots;            ///< systems solved at once; slot s solves problems s, s + slots, …
  int phases;           ///< problems of slot 0, which has the most
  /// Head of the mailbox: tags used so far, slots that have finished.
  int* head;
  /// kSlotWords per slot: blocks that have finished, verdicts on the last two problems; zero at launch.
  int* slot_words;
  device::Message* messages;
};

/// A block's place among the slots.
struct Place {
  int part;             ///< position in its system
  int slot, slots;
  int64_t phases;       ///< problems of the slot

  template <class T>
  WARPLOOM_DEVICE Place(const device::Block& block, const OnePassParameters<T>& p) : slots(p.slots) {
    slot = static_cast<int>(block.index()) / p.blocks_per_system;
    part = static_cast<int>(block.index()) % p.blocks_per_system;
    phases = (p.batch.problems() - slot + slots - 1) / slots;
  }
  WARPLOOM_DEVICE int64_t problem(int64_t phase) const { return slot + phase * slots; }
};

/// What a block receives from its surroundings.
template <class T>
struct Surroundings {
  T last, before;  ///< the block's last unknown; the unknown before its first row
  int flags;       ///< for the block's last row: 1 zero pivot, 2 infinite
};

/// Messages of one launch. A block posts phase m only after it has received all of phase m-2, so four boxes in turn are
/// enough. Tags continue from launch to launch, so nothing left in the mailbox looks like a message of this launch. A
/// block's verdict on its problem of phase m is sent with the record of phase m + kLag; verdicts on the last problems
/// are combined in the slot's words. One warp solves the rows between blocks: lane l has rows l*kRows…, and holds the
/// messages of kAtOnce of them in registers at once.
template <class T, int kLag, int kRows, int kAtOnce = kRows>
struct BlockExchange {
  static constexpr int kMostBlocks = 32 * kRows;  ///< per system
  static constexpr int kRecordWords = static_cast<int>(sizeof(WarpRecord<T>)) / 4;
  static constexpr int kUnits = (kRecordWords + 1 + 2) / 3;  ///< messages for a record and a verdict
  static constexpr int kMostTags = 1 << 30;
  static constexpr int kBoxes = 4, kSlotWords = 4, kMostSlots = 1024;
  static constexpr int64_t kHeadBytes = 256, kSlotBytes = kMostSlots * kSlotWords * 4;

  const OnePassParameters<T>& p;
  const Place& place;
  unsigned int tag = 0;  ///< tag of phase 0, in the warps that have called begin

  /// Divides the mailbox; false if it is too small.
  static bool place_mailbox(OnePassParameters<T>* p, void* mailbox, int64_t blocks) {
    char* at = static_cast<char*>(mailbox);
    p->head = reinterpret_cast<int*>(at);
    p->slot_words = reinterpret_cast<int*>(at + kHeadBytes);
    p->messages = reinterpret_cast<device::Message*>(at + kHeadBytes + kSlotBytes);
    return p->slots <= kMostSlots && kBoxes * kUnits * blocks <= kMostMessages;
  }

  WARPLOOM_DEVICE void begin(const device::Block& block) {
    unsigned int used = 0;
    if (block.lane() == 0) used = static_cast<unsigned int>(device::atomic_add(&p.head[0], 0));
    tag = device::shuffle(block, used, 0) + 1;
  }

  /// One lane posts the record of its block.
  WARPLOOM_DEVICE void post(const device::Block& block, int64_t phase, const WarpRecord<T>& record, int verdict) const {
    unsigned int words[3 * kUnits] = {};
    memcpy(words, &record, sizeof(record));
    words[kRecordWords] = static_cast<unsigned int>(verdict);
    device::Message* to = box(block, phase) + block.index();
    WARPLOOM_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      device::post(block, to + u * block.count(),
                   {{words[3 * u], words[3 * u + 1], words[3 * u + 2]}, tag + static_cast<unsigned int>(phase)});
    }
  }

  /// One warp waits for the records of a phase, and solves the rows between blocks; `out` is in shared memory.
  WARPLOOM_DEVICE void solve(const device::Block& block, int64_t phase, Surroundings<T>* out) const {
    using Small = RegpackLane<T, kRows>;
    const int count = p.blocks_per_system, first = block.lane() * kRows;
    typename Small::Rows rows;
    WarpRecord<T> record[kRows];
    int verdict = 0;
    WARPLOOM_UNROLL
    for (int begin = 0; begin < kRows; begin += kAtOnce) {
      device::Message messages[kAtOnce * kUnits];
      device::receive(block, tag + static_cast<unsigned int>(phase), [&](int i) {
        return sender(block, phase, first + begin + i / kUnits) + i % kUnits * block.count();
      }, messages);
      WARPLOOM_UNROLL
      for (int j = 0; j < kAtOnce; ++j) {
        unsigned int words[3 * kUnits];
        WARPLOOM_UNROLL
        for (int i = 0; i < 3 * kUnits; ++i) words[i] = messages[j * kUnits + i / 3].word[i % 3];
        memcpy(&record[begin + j], words, sizeof(record[0]));
        if (first + begin + j < count) {
          verdict = smaller(verdict, static_cast<int>(words[kRecordWords]));
        } else {
          record[begin + j] = {{T(0), T(1), T(0), T(0)}, untouched_front<T>()};
        }
      }
    }
    if (place.part == 0 && phase >= kLag) report(block, phase - kLag, verdict);
    // The front of the next block completes the row before it.
    const Front<T> next = device::shuffle_down(block, record[0].front, 1);
    WARPLOOM_UNROLL
    for (int j = 0; j < kRows; ++j) {
      Row<T>& row = record[j].row;
      if (first + j + 1 < count) absorb_front(row, j + 1 < kRows ? record[j + 1 < kRows ? j + 1 : 0].front : next);
      rows.a[j] = first + j > 0 ? row.a : T(0);
      rows.b[j] = row.b;
      rows.c[j] = first + j + 1 < count ? row.c : T(0);
      rows.d[j] = row.d;
    }
    rows.front = untouched_front<T>();
    Downsweep<kRows>::down(rows);
    Row<T> row;
    Front<T> none;
    Small::template eliminate<false>(block, rows, row, none, p.interface_width);
    T x = row.d;
    if ((block.lane() & (p.interface_width - 1)) == p.interface_width - 1) {
      x = row.d * rows.pivots.reciprocal(row.b, kRows - 1);
    }
    Small::descend(block, rows, row, x, T(0), p.interface_width);
    WARPLOOM_UNROLL
    for (int j = 0; j < kRows; ++j) {
      if (first + j == place.part) {
        out->last = rows.d[j];
        out->flags = (rows.pivots.zero >> j & 1u) != 0 ? 1 : rows.pivots.infinite ? 2 : 0;
      }
      if (first + j + 1 == place.part) out->before = rows.d[j];
    }
    if (block.lane() == 0 && place.part == 0) out->before = T(0);
  }

  /// Called by one thread when its block has finished: publishes the verdicts on its last problems, and the tags of the
  /// next launch.
  WARPLOOM_DEVICE void finish(const device::Block& block, int before, int last) const {
    int* words = p.slot_words + place.slot * kSlotWords;
    if (before != 0) device::atomic_min(&words[1], before);
    if (last != 0) device::atomic_min(&words[2], last);
    if (before != 0 || last != 0) device::fence_device();
    if (device::atomic_add(&words[0], 1) != p.blocks_per_system - 1) return;
    before = device::atomic_min(&words[1], 0);
    last = device::atomic_min(&words[2], 0);
    if (kLag > 1 && place.phases > 1) store_verdict(p.batch, place.problem(place.phases - 2), before);
    store_verdict(p.batch, place.problem(place.phases - 1), last);
    device::atomic_add(&words[0], -p.blocks_per_system);
    device::atomic_add(&words[1], -before);
    device::atomic_add(&words[2], -last);
    if (p.slots > 1 && device::atomic_add(&p.head[1], 1) != p.slots - 1) return;
    // The blocks have what they read from the mailbox in registers, so the mailbox belongs to the next launch.
    if (p.slots > 1) device::atomic_add(&p.head[1], -p.slots);
    const int used = static_cast<int>(tag) - 1;
    if (used < kMostTags - p.phases) {
      device::atomic_add(&p.head[0], p.phases);
      return;
    }
    device::atomic_add(&p.head[0], -used);  // start again: no old tag may remain
    WARPLOOM_NO_UNROLL
    for (int64_t i = 0; i < kMostMessages; ++i) device::post(block, p.messages + i, {{0, 0, 0}, 0});
  }

 private:
  static constexpr int64_t kMostMessages =
      (kMailboxBytes - kHeadBytes - kSlotBytes) / static_cast<int64_t>(sizeof(device::Message));
  static WARPLOOM_DEVICE int smaller(int a, int b) { return b < a ? b : a; }
  WARPLOOM_DEVICE device::Message* box(const device::Block& block, int64_t phase) const {
    return p.messages + (phase & (kBoxes - 1)) * kUnits * block.count();
  }
  /// The first message of block `part` of this system, or of its last block.
  WARPLOOM_DEVICE const device::Message* sender(const device::Block& block, int64_t phase, int part) const {
    const int last = p.blocks_per_system - 1;
    return box(block, phase) + block.index() - place.part + (part < last ? part : last);
  }
  WARPLOOM_DEVICE void report(const device::Block& block, int64_t phase, int verdict) const {
    WARPLOOM_UNROLL
    for (int distance = 16; distance > 0; distance /= 2) {
      verdict = smaller(verdict, device::shuffle_xor(block, verdict, distance));
    }
    if (block.lane() == 0) store_verdict(p.batch, place.problem(phase), verdict);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
