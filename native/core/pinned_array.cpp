// Typed arrays on page-locked memory.
#include <cstring>
#include <utility>

#include "native/core/device_array.h"
#include "native/core/job.h"
#include "native/core/js.h"

namespace warploom {
namespace {

class PinnedJob final : public Job {
 public:
  std::shared_ptr<Session> session;
  ElementType type = ElementType::float64;
  int64_t length = 0;

 protected:
  Status work(Session& owner, Device& device) override {
    const int64_t bytes = length * element_bytes(type);
    void* memory = nullptr;
    WARPLOOM_TRY(device.allocate_pinned(bytes > 0 ? bytes : 1, &memory));
    std::memset(memory, 0, static_cast<size_t>(bytes));
    block_ = std::make_shared<PinnedBlock>();
    block_->session = session;
    block_->memory = static_cast<char*>(memory);
    block_->bytes = bytes;
    owner.add_pinned(block_);
    return {};
  }
  Failure finish(napi_env env, napi_value, napi_value* result) override {
    auto owner = std::make_unique<std::shared_ptr<PinnedBlock>>(block_);
    const auto drop = [](napi_env, void*, void* hint) {
      delete static_cast<std::shared_ptr<PinnedBlock>*>(hint);
    };
    napi_value buffer = nullptr;
    if (napi_create_external_arraybuffer(env, block_->memory, static_cast<size_t>(block_->bytes), drop,
                                         owner.get(), &buffer) != napi_ok) {
      return Failure::from(Status(Code::unsupported, "this runtime takes no external array buffers"));
    }
    owner.release();
    const auto numbers = static_cast<size_t>(length * numbers_per_element(type));
    if (napi_create_typedarray(env, typed_array_type(type), numbers, buffer, 0, result) != napi_ok) {
      return Failure::internal("cannot make the typed array");
    }
    return {};
  }

 private:
  std::shared_ptr<PinnedBlock> block_;
};

}  // namespace

napi_value allocate_pinned(napi_env env, const std::shared_ptr<Session>& session, napi_value type,
                           napi_value length) {
  auto job = std::make_unique<PinnedJob>();
  Failure failure = session->admit();
  if (!failure && !parse_element_type(js::short_text(env, type), &job->type)) {
    failure = Failure::invalid("type", "an element type", js::describe(env, type));
  }
  if (!failure) {
    failure = js::read_integer(env, "length", length, 0, js::kLargestSafeInteger / 16, &job->length);
  }
  if (failure) return js::rejected(env, failure);
  job->session = session;
  const napi_value promise = job->begin(env, nullptr);
  session->post(std::move(job));
  return promise;
}

}  // namespace warploom
