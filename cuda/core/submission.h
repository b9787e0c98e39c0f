// What a device with its own memory can do in addition to Device: work while its thread continues with the next call.
#pragma once
#include <cstdint>

#include "cuda/core/status.h"

namespace warploom {

/// Work goes to the device in order, and is complete once a later mark is reached. Large downloads of a call may still
/// be in flight while the next call runs, so their sources must stay until the call's mark (or await_downloads()). Used
/// only from the device's thread.
///
/// Between begin() and end() the device's operations are timed but not waited for; operations that need a result
/// half-way wait themselves.
class Submission {
 public:
  using Mark = int64_t;
  static constexpr Mark kNone = -1;

  virtual ~Submission() = default;
  /// Begins a call.
  virtual Status begin(Mark* out) = 0;
  /// The host memory must be page-locked, and stay unchanged until a mark after the copy is reached.
  virtual Status upload_later(void* device, const void* host, int64_t bytes) = 0;
  virtual Status download_later(void* host, const void* device, int64_t bytes) = 0;
  /// From this size on, a transfer of its own pays for a stream of its own.
  static constexpr int64_t kOwnStream = int64_t{1} << 20;
  /// The uploads of this call, which does nothing else, overlap with other work; what is submitted after the call waits
  /// for them. `after_allocation`: they go to memory of more than kOwnStream that is new, and wait for what used it
  /// before. `after_work`: they wait for all work submitted so far. `after_downloads`: for all downloads.
  virtual Status upload_aside(bool after_allocation, bool after_work, bool after_downloads) = 0;
  /// Work that is submitted from here on waits for all downloads so far, which it may overwrite.
  virtual Status await_downloads() = 0;
  /// A call in slices, where each slice uses the memory of one of kTurns turns. Everything submitted from here on
  /// belongs to this stage of the slice that now has `turn`. A stage waits for the previous one; the first waits until
  /// the previous slice with that turn has ended. Stages of different turns overlap. Every slice goes through all three
  /// in order, and stages of one kind run in the order of the slices. Work is whatever the device's other functions
  /// submit.
  enum class Stage { upload, work, download };
  static constexpr int kTurns = 3;
  virtual Status stage(Stage stage, int turn) = 0;
  /// Ends the call: its mark comes after everything it submitted.
  virtual Status end(Mark mark) = 0;
  /// Instead of end(): waits until nothing is in flight, and returns the mark (kNone: only waits).
  virtual void abandon(Mark mark) = 0;
  /// Sets a mark after everything submitted so far, within a call (in slices: within the stage) or outside one.
  virtual Status set(Mark* out) = 0;
  /// Whether the mark has been reached, or never will be. Never waits.
  virtual bool reached(Mark mark) = 0;
  /// Waits for a mark that was set, and returns it. `seconds` (may be null): time of the call's operation. Afterwards
  /// nothing before the mark is in flight, whether it failed or not.
  virtual Status finish(Mark mark, double* seconds) = 0;
};

}  // namespace warploom
