// One call of an operation: reading its arguments, its run on the device's thread, its results.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "native/core/job.h"
#include "native/core/operation.h"
#include "native/core/slice_run.h"

namespace warploom {

class Call final : public Job {
 public:
  static constexpr int64_t kAlignment = 256;  // of arrays within the parts

  Call(const OperationEntry& operation, std::shared_ptr<Session> session)
      : session_(std::move(session)), invocation_(operation.make()) {}
  ~Call() override;

  /// Reads and checks everything; on success the call is ready for launch(). None of the caller's code runs between
  /// this and the copying of its arrays.
  Failure read(napi_env env, const PackedParameters& packed);
  /// After read(): counts what the operation needs besides its arrays, where that counts towards the memory limit.
  Failure reserve_workspace();
  /// Copies the inputs and queues the call. `progress` is a function or undefined.
  static napi_value launch(napi_env env, std::unique_ptr<Call> call, napi_value progress);
  bool on_open_device() const { return session_->is_open(); }
  /// After read(), on an open device: what the operation needs besides its arrays.
  int64_t workspace_bytes() const;

  bool borrows() const override { return borrows_; }
  Submission::Mark mark() const override { return mark_; }
  bool overlaps() const override { return true; }
  int64_t weight() const override { return device_bytes_; }

 protected:
  Status work(Session& session, Device& device) override;
  Status end_work(Session& session, Device& device) override;
  Failure finish(napi_env env, napi_value kept, napi_value* result) override;
  void forget(Environment& environment) override;

 private:
  /// What is staged, by direction. Index arrays are in one piece, because check() reads them.
  enum PartName { kIndices, kInputs, kIndicesBoth, kBoth, kResults, kHeld, kParts };
  struct Part {
    int64_t bytes = 0;
    int64_t device_offset = 0;
    std::shared_ptr<HostBlock> block;
  };
  static PartName part_of(const Buffer& buffer);
  static bool goes_up(int part) { return part <= kBoth; }
  static bool comes_down(int part) { return part >= kIndicesBoth && part <= kResults; }

  void place_buffers();
  int64_t held_bytes() const;
  Failure reserve_parts();
  Failure make_tables();
  const Buffer* buffer_at(const void* pointer) const;
  Status read_back(const Buffer& buffer, int64_t from, int64_t bytes, void* to, Device& device);
  Status note_words(Device& device);
  Failure write_report(napi_env env, std::vector<HostCopy>* copies, napi_value* result);
  Failure slice();
  bool make_slices(std::unique_ptr<SlicePlan> plan);
  std::vector<BlockCopy> slice_copies() const;
  std::vector<std::pair<std::shared_ptr<HostBlock>, std::vector<BlockCopy>>> rest() const;
  SlicedCall sliced_call(Session& session, Device& device, char* memory);
  Failure copy_arrays();
  Failure fill_parts();
  std::vector<BlockCopy> copies_of(int part) const;
  void point(int part, char* memory);
  napi_value keep_values(napi_env env, napi_value progress);
  Status run_on_host(Device& device);
  Status submit(Session& session, Device& device);
  Status write_gaps(Device& device);
  bool stays_near(Device& device);
  bool reports_near(Device& device);
  void use_near();
  Status send(Session& session, Device& device, char* memory);
  Status fetch(Session& session, Device& device, char* memory);
  void drop_inputs();
  void copy_slices(size_t buffer, char* memory, std::vector<HostCopy>* copies) const;
  bool owned_whole(const Buffer& buffer) const { return buffer.owned && buffer.output && buffer.staged() && !buffer.sliced; }
  void populate_results();
  void write_own_results();
  void release_memory(Session& session);

  std::shared_ptr<Session> session_;
  std::unique_ptr<Invocation> invocation_;
  std::unique_ptr<Report> report_;  // null: the operation has none
  std::vector<std::unique_ptr<void, void (*)(void*)>> tables_;  // its tables in host memory
  std::vector<NotedWord> noted_;                                // and the table of words that only the call sees
  std::vector<Buffer> buffers_;
  std::vector<Pointer> pointers_;
  std::array<Part, kParts> parts_;
  std::unique_ptr<SlicePlan> plan_;                  // of a call that is cut into slices
  std::shared_ptr<HostBlock> slices_up_, slices_down_;  // its staged parts
  std::unique_ptr<SliceRun> run_;                    // while the call is on the device
  int64_t sets_offset_ = 0;                          // of the slices' memory on the device
  bool results_at_once_ = false;
  std::unique_ptr<Populating> populating_;           // arrays that write_own_results() writes
  bool wrote_own_ = false;                           // whether it has
  int64_t device_bytes_ = 0;  // of the parts that the device sees, then of host memory that is used in place
  int64_t work_ = -1;  // Footprint::work()
  bool once_ = false;  // Footprint::once()
  int64_t workspace_ = 0, tables_bytes_ = 0;  // bytes counted for them
  Submission::Mark mark_ = Submission::kNone;
  void* memory_ = nullptr;  // on the device, while the call is there
  bool borrows_ = false;
};

}  // namespace warploom
