// One call of an operation: reading its arguments, its run on the device's thread, its results.
#pragma once
#include <memory>
#include <vector>

#include "native/core/job.h"
#include "native/core/operation.h"

namespace warploom {

class Call final : public Job {
 public:
  Call(const OperationEntry& operation, std::shared_ptr<Session> session)
      : session_(std::move(session)), invocation_(operation.make()) {}

  /// Reads and checks everything; on success the call is ready for launch(). Nothing of the
  /// caller's runs between this and the copying of its arrays.
  Failure read(napi_env env, const PackedParameters& packed);
  /// Queues the call and copies its inputs. `progress` is a function or undefined.
  static napi_value launch(napi_env env, std::unique_ptr<Call> call, napi_value progress);
  bool on_open_device() const { return session_->is_open(); }
  /// After read(), on an open device: what the operation takes beside its arrays.
  int64_t workspace_bytes() const;

  bool borrows() const override { return borrows_; }

 protected:
  Status work(Session& session, Device& device) override;
  Failure finish(napi_env env, napi_value kept, napi_value* result) override;
  void forget(Environment& environment) override;

 private:
  Failure place_buffers();
  void copy_arrays();
  std::vector<HostCopy> staged_inputs() const;
  void point(char* block, bool arrays_only);
  napi_value keep_values(napi_env env, napi_value progress);
  Status run_on_host(Device& device);
  Status run_apart(Session& session, Device& device);

  std::shared_ptr<Session> session_;
  std::unique_ptr<Invocation> invocation_;
  std::vector<Buffer> buffers_;
  std::vector<Pointer> pointers_;
  std::shared_ptr<HostBlock> block_;
  int64_t upload_bytes_ = 0;    // of the block, from its begin on
  int64_t download_begin_ = 0;  // to moved_bytes_
  int64_t moved_bytes_ = 0;     // end of what the device sees; reports follow
  int64_t staged_bytes_ = 0;
  int64_t device_bytes_ = 0;    // staged buffers, then those that stay in host memory
  bool borrows_ = false;
};

}  // namespace warploom
