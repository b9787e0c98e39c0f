// What a device with its own memory can do in addition to Device: work while its thread continues with the next call.
#pragma once
#include <cstdint>

#include "cuda/core/status.h"

namespace warploom {

/// Work goes to the device in order, and is over when a mark behind it is reached; large downloads of a call may be under
/// way while the next one runs, so what they read must stay until its mark. Used from the device's thread only.
/// Between begin() and end() the device's operations are timed but not waited for; those that need a result in their
/// middle wait themselves.
class Submission {
 public:
  using Mark = int64_t;
  static constexpr Mark kNone = -1;

  virtual ~Submission() = default;
  /// Begins a call.
  virtual Status begin(Mark* out) = 0;
  /// The host's memory is page-locked and stays as it is until a mark behind the copy is reached.
  virtual Status upload_later(void* device, const void* host, int64_t bytes) = 0;
  virtual Status download_later(void* host, const void* device, int64_t bytes) = 0;
  /// A call in slices, each of which has the memory of one of kTurns turns: what is submitted from here on is the stage of the
  /// slice that has `turn` now. A stage waits for the one before it, the first for the end of the slice that had the turn
  /// before; those of different turns overlap. Every slice has all three in order, and every stage of a kind follows that of
  /// the slice before. Work is what the device's other functions submit.
  enum class Stage { upload, work, download };
  static constexpr int kTurns = 3;
  virtual Status stage(Stage stage, int turn) = 0;
  /// Ends the call: its mark is behind all that it submitted.
  virtual Status end(Mark mark) = 0;
  /// Instead of end(): waits until nothing is under way, and gives the mark back (kNone: only waits).
  virtual void abandon(Mark mark) = 0;
  /// A mark behind what was submitted so far, within a call (in slices: within the stage) or without.
  virtual Status set(Mark* out) = 0;
  /// Whether the mark is reached, or never will be. Never waits.
  virtual bool reached(Mark mark) = 0;
  /// Waits for a mark that was set and gives it back. `seconds` (may be null): time of the call's operation. Nothing before
  /// the mark is under way any more, failed or not.
  virtual Status finish(Mark mark, double* seconds) = 0;
};

}  // namespace warploom
