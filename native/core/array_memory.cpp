#include "native/core/array_memory.h"

#include <atomic>
#include <utility>

namespace warploom {
namespace {

/// Addresses that no memory can have: beyond the reach of a processor's page tables.
constexpr uintptr_t kFirstAddress = uintptr_t{1} << 60;
constexpr uintptr_t kAddressGap = 4096;

char* next_address(int64_t bytes) {
  static std::atomic<uintptr_t> next{0};
  if (bytes == 0) return nullptr;
  const uintptr_t taken = (static_cast<uintptr_t>(bytes) + 2 * kAddressGap - 1) / kAddressGap * kAddressGap;
  return reinterpret_cast<char*>(kFirstAddress + next.fetch_add(taken, std::memory_order_relaxed) % kFirstAddress);
}

}  // namespace

ArrayMemory::ArrayMemory(std::shared_ptr<Session> owner, int64_t size, bool zeroed)
    : session(std::move(owner)), bytes(size), address(next_address(size)), zeroed_(zeroed) {}

ArrayMemory::~ArrayMemory() {
  if (memory_ != nullptr) session->post_release(memory_);
}

Status ArrayMemory::prepare(Device& device) {
  WARPLOOM_TRY(allocate(device));
  if (session->submission() != nullptr && !session->is_over(fetched_)) WARPLOOM_TRY(session->submission()->await_downloads());
  worked_ = session->task();
  return {};
}

/// New memory may still be in use by work that was submitted before it was freed. Zeros are work.
Status ArrayMemory::prepare_upload(Device& device, int64_t size) {
  if (session->submission() == nullptr || size < Submission::kOwnStream) return prepare(device);
  const bool is_new = memory_ == nullptr, is_small = bytes <= Submission::kOwnStream;
  WARPLOOM_TRY(allocate(device));
  const bool after_work = (is_new && (zeroed_ || is_small)) || !session->is_over(worked_);
  return session->submission()->upload_aside(is_new, after_work, !session->is_over(fetched_));
}

Status ArrayMemory::prepare_download(Device& device) {
  WARPLOOM_TRY(allocate(device));
  fetched_ = session->task();
  return {};
}

Status ArrayMemory::allocate(Device& device) {
  if (!refusal_.ok() || memory_ != nullptr || bytes == 0) return refusal_;
  void* memory = nullptr;
  refusal_ = session->allocate(bytes, &memory);
  if (!refusal_.ok()) return refusal_;
  memory_ = static_cast<char*>(memory);
  if (zeroed_) refusal_ = device.fill_zero(memory_, bytes);
  return refusal_;
}

}  // namespace warploom
