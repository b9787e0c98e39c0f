#include "native/core/session.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "native/core/process_state.h"

namespace warploom {
namespace {

/// Housekeeping on the device's thread, not subject to the queue limit.
template <class Work>
class Chore final : public Task {
 public:
  Chore(Work work, bool overlaps) : work_(std::move(work)), overlaps_(overlaps) {}
  void run(Session& session, Device& device) override { work_(session, device); }
  bool counted() const override { return false; }
  bool closes() const override { return true; }
  bool overlaps() const override { return overlaps_; }

 private:
  Work work_;
  bool overlaps_;
};

template <class Work>
std::unique_ptr<Task> chore(Work work, bool overlaps = true) {
  return std::make_unique<Chore<Work>>(std::move(work), overlaps);
}

// Slice sizes. On a device with its own memory: long enough that copies run at full rate and kernels fill the device,
// short enough that the first kernel begins early. In host memory: so short that what was copied is still in the caches
// when the operation reads it.
constexpr int64_t kSliceBytes = int64_t{16} << 20, kHostSliceBytes = int64_t{2} << 20;

/// WARPLOOM_SLICE: bytes; tests set it to cut small calls.
int64_t slice_bytes_from_environment() {
  const char* const text = std::getenv("WARPLOOM_SLICE");
  return text != nullptr ? std::atoll(text) : 0;
}

std::unique_ptr<Task> closing_chore() {
  return chore([](Session& session, Device&) { session.release_all(); }, false);
}

}  // namespace

PinnedBlock::~PinnedBlock() {
  if (lent.memory != nullptr) {
    session->take_back(lent);
  } else if (memory != nullptr) {
    session->post_release_pinned(memory);
  }
}

Session::Session(const Backend& backend, int32_t index, const OpenOptions& options,
                 int64_t queue_limit)
    : backend_(backend), index_(index), options_(options), queue_limit_(queue_limit),
      slice_bytes_(slice_bytes_from_environment()), staging_(options.memory_limit_bytes) {}

std::shared_ptr<Session> Session::open(const Backend& backend, int32_t index,
                                       const OpenOptions& options, int64_t queue_limit,
                                       std::unique_ptr<Task> opened) {
  std::shared_ptr<Session> owner(new Session(backend, index, options, queue_limit));
  ProcessState::get().add(owner);
  const auto opening = std::make_shared<std::unique_ptr<Task>>(std::move(opened));
  try {
    std::thread([owner, opening] { owner->serve(std::move(*opening)); }).detach();
  } catch (const std::system_error&) {
    owner->closing_ = true;
    owner->unopened_ = Failure::from(Status(Code::unavailable, "the system starts no thread for the device"));
    Task* const task = opening->get();
    task->refuse(owner->unopened_);
    task->settle(std::move(*opening));
  }
  // The thread owns the session. When the last caller releases its pointer, the thread's work ends.
  return std::shared_ptr<Session>(owner.get(), [owner](Session* session) mutable {
    session->close(nullptr);
    owner.reset();  // weak pointers keep this function object alive
  });
}

Failure Session::admit() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (unopened_) return unopened_;
  if (closing_) return Failure::disposed("the device");
  if (lost_) return Failure::lost();
  if (waiting_ >= queue_limit_) return Failure::queue_full(queue_limit_);
  return {};
}

bool Session::stays_open() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return is_open() && !closing_;
}

int64_t Session::slice_bytes() const {
  return slice_bytes_ > 0 ? slice_bytes_ : host_memory() ? kHostSliceBytes : kSliceBytes;
}

int64_t Session::told_bytes(int64_t bytes) const {
  constexpr double kToldOfAll = 1 << 30;
  const auto all = static_cast<double>(memory_bytes_.load(std::memory_order_relaxed));
  if (host_memory() || all <= kToldOfAll) return bytes;
  return static_cast<int64_t>(static_cast<double>(bytes) * (kToldOfAll / all));
}

Failure Session::reserve(int64_t bytes, int64_t held) {
  return staging_.reserve(bytes, host_memory() ? live_bytes_.load() : 0, held);
}

void Session::push(std::unique_ptr<Task> task) {
  if (task->counted()) ++waiting_;
  const auto flag = task->cancel_flag();
  if (flag != nullptr && flag->id != 0) {
    cancellable_.erase(std::remove_if(cancellable_.begin(), cancellable_.end(),
                                      [](const auto& each) { return each.expired(); }),
                       cancellable_.end());
    cancellable_.push_back(flag);
  }
  queue_.push_back(std::move(task));
  queued_ = queue_.size();
  work_.notify_one();
}

void Session::post(std::unique_ptr<Task> task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  push(std::move(task));
}

bool Session::perform_here(Task& task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_open() || !host_memory() || busy_ || here_ || closing_ || lost_ || !queue_.empty()) return false;
    if (ProcessState::get().exiting()) return false;
    here_ = true;
    running_ = &task;
  }
  task.run(*this, *device_);
  const bool lost = device_->lost();
  const std::lock_guard<std::mutex> lock(mutex_);
  lost_ = lost_ || lost;
  running_ = nullptr;
  here_ = false;
  quiet_.notify_all();
  if (!queue_.empty() || closing_) work_.notify_one();
  return true;
}

void Session::close(std::unique_ptr<Task> last) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closing_ && last == nullptr) return;
  closing_ = true;
  push(last != nullptr ? std::move(last) : closing_chore());
}

void Session::cancel(double id) {
  if (id == 0) return;
  std::unique_ptr<Task> waiting;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<CancelFlag> flag;
    for (auto at = cancellable_.begin(); at != cancellable_.end() && flag == nullptr; ++at) {
      flag = at->lock();
      if (flag != nullptr && flag->id != id) flag.reset();
    }
    if (flag == nullptr) return;  // already settled
    flag->set = true;
    for (auto at = queue_.begin(); at != queue_.end(); ++at) {
      if ((*at)->cancel_flag() != flag) continue;
      waiting = std::move(*at);
      queue_.erase(at);
      queued_ = queue_.size();
      --waiting_;
      break;
    }
  }
  if (waiting == nullptr) return;
  waiting->refuse(Failure::cancelled());
  Task* const task = waiting.get();
  task->settle(std::move(waiting));
}

Status Session::allocate(int64_t bytes, void** out) {
  // On a device in host memory, workspaces of calls in flight count together with staged bytes.
  if (host_memory() && !staging_.fits(live_bytes_ + bytes)) {
    const MemoryUse use = device_->memory_use();
    return Status::out_of_memory(bytes, live_bytes_ + staging_.reserved_bytes(), use.limit_bytes);
  }
  const auto in_use = [&] { return host_memory() ? device_->memory_use().in_use_bytes : 0; };
  int64_t before = in_use();
  Status status = device_->allocate(bytes, out);
  if (status.code() == Code::out_of_memory) {
    complete_all();
    device_->trim();
    before = in_use();
    status = device_->allocate(bytes, out);
  }
  if (status.ok()) {
    const int64_t taken = std::max(bytes, in_use() - before);  // includes rounding
    live_[*out] = taken;
    live_bytes_ += taken;
  }
  return status;
}

void Session::release(void* memory) {
  const auto found = live_.find(memory);
  if (found == live_.end()) return;
  live_bytes_ -= found->second;
  live_.erase(found);
  device_->release(memory);
}

void Session::release_all() {
  for (const auto& [memory, bytes] : live_) device_->release(memory);
  live_.clear();
  live_bytes_ = 0;
  staging_.trim(device_.get());
  device_->trim();
}

void Session::post_release(void* memory) {
  post(chore([memory](Session& session, Device&) { session.release(memory); }));
}

void Session::post_release_pinned(void* memory) {
  post(chore([memory](Session& session, Device& device) {
    device.release_pinned(memory);
    const std::lock_guard<std::mutex> lock(session.mutex_);
    --session.pinned_alive_;
    session.pinned_.erase(static_cast<const char*>(memory));
  }));
}

void Session::post_unload(LoadedModule module) {
  post(chore([module = std::move(module)](Session&, Device& device) { dynamic_cast<ModuleHost&>(device).unload(module); }));
}

void Session::post_pinned_staging(int64_t bytes, int64_t count) {
  post(chore([bytes, count](Session& session, Device& device) {
    if (!device.lost()) session.staging_.provide_pinned(device, bytes, count);
  }));
}

void Session::add_pinned(const std::shared_ptr<PinnedBlock>& block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++pinned_alive_;
  pinned_[block->memory] = block;
}

std::shared_ptr<PinnedBlock> Session::lend(const std::shared_ptr<Session>& session, int64_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(session->mutex_);
    if (!session->is_open() || session->host_memory() || session->closing_ || session->lost_) return nullptr;
  }
  if (bytes < Staging::kLeastLent) return nullptr;
  const StagingBlock lent = session->staging_.lend(bytes);
  if (lent.memory == nullptr) return nullptr;
  auto block = std::make_shared<PinnedBlock>();
  block->session = session;
  block->memory = lent.memory;
  block->bytes = bytes;
  block->lent = lent;
  session->add_pinned(block);
  return block;
}

void Session::settle_lent(const PinnedBlock& block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  pinned_.erase(block.memory);
}

void Session::lend_again(const std::shared_ptr<PinnedBlock>& block) {
  block->filling.reset();
  const std::lock_guard<std::mutex> lock(mutex_);
  pinned_[block->memory] = block;
}

/// Once nobody uses a lent block any more, on any thread.
void Session::take_back(const StagingBlock& lent) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!closing_ && !lost_) {
      pinned_.erase(lent.memory);
      --pinned_alive_;
      return staging_.take_back(lent, true);
    }
  }
  staging_.take_back(lent, false);
  post_release_pinned(lent.memory);
}

void Session::post_lent() {
  for (const Staging::Wish& wish : staging_.wishes()) {
    post(chore([wish](Session& session, Device& device) {
      if (!device.lost()) session.staging_.fulfil(wish, device);
    }));
  }
}

std::shared_ptr<PinnedBlock> Session::find_pinned(const char* memory, int64_t bytes) {
  std::shared_ptr<PinnedBlock> block;  // if this is its last owner, it goes after the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  auto next = pinned_.upper_bound(memory);
  if (next == pinned_.begin()) return nullptr;
  block = (--next)->second.lock();
  if (block == nullptr || memory + bytes > block->memory + block->bytes) return nullptr;
  return block;
}

void Session::stop() {
  std::deque<std::unique_ptr<Task>> dropped;  // destroyed outside the lock
  const std::lock_guard<std::mutex> keep_order(mutex_);
  closing_ = true;
  const auto flag = running_ != nullptr ? running_->cancel_flag() : nullptr;
  if (flag != nullptr) flag->set = true;
  std::deque<std::unique_ptr<Task>> kept;
  for (auto& task : queue_) (task->counted() ? dropped : kept).push_back(std::move(task));
  queue_.swap(kept);
  queued_ = queue_.size();
  waiting_ = 0;
  push(closing_chore());
}

void Session::wait_quiet(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  quiet_.wait_until(lock, deadline, [this] { return !busy_ && !here_; });
}

void Session::wait_returned() {
  std::unique_lock<std::mutex> lock(mutex_);
  quiet_.wait(lock, [this] { return !borrowed(); });
}

/// Under mutex_: whether a running or in-flight task uses JavaScript's memory.
bool Session::borrowed() const {
  return (running_ != nullptr && running_->borrows()) ||
         std::any_of(in_flight_.begin(), in_flight_.end(), [](const auto& task) { return task->borrows(); });
}

}  // namespace warploom
