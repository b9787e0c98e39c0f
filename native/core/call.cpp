#include "native/core/call.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "native/core/js.h"
#include "native/core/moments.h"

namespace warploom {
namespace {

// As many element updates as take the cpu backend about 10 microseconds, and half a millisecond.
constexpr int64_t kSmallWork = 4096, kShortWork = 200'000;
// Limit for words that only the call sees: beyond it they stay on the device, and the operation counts them there.
constexpr int64_t kWordsBroughtBack = 4096 * int64_t{sizeof(int32_t)};

JobSize size_of(int64_t work, const Session& session) {
  if (work < 0) return JobSize::large;
  if (work <= kSmallWork) return JobSize::small;
  return work <= kShortWork && &session.backend() == &cpu_backend() ? JobSize::brief : JobSize::large;
}

int64_t aligned(int64_t bytes) { return (bytes + Call::kAlignment - 1) / Call::kAlignment * Call::kAlignment; }

Failure no_memory() { return Failure::from(Status(Code::out_of_memory, "not enough host memory")); }

}  // namespace

Failure Call::read(napi_env env, const PackedParameters& packed) {
  Moments::note(Moment::entered);
  Binder binder(env, packed, *session_);
  invocation_->bind(binder);
  Failure failure = binder.finish(*Environment::of(env), [this](Footprint& f) {
    invocation_->footprint(f);
    work_ = f.work();
    once_ = f.once();
  });
  if (failure) return failure;
  buffers_ = std::move(binder.buffers());
  pointers_ = std::move(binder.pointers());
  report_ = binder.take_report();
  place_buffers();
  failure = reserve_parts();
  if (!failure) failure = copy_arrays();
  if (failure) return failure;
  const Status status = invocation_->validate();
  if (!status.ok()) return Failure::from(status);
  failure = make_tables();
  if (failure) return failure;
  return session_->is_open() ? slice() : Failure();
}

/// For a device in host memory, whose workspaces count towards the same limit. Calls so short that they run at once
/// need almost none.
Failure Call::reserve_workspace() {
  if (!session_->is_open() || !session_->host_memory() || (work_ >= 0 && work_ <= kSmallWork)) return {};
  const int64_t bytes = workspace_bytes();
  Failure failure = session_->reserve(bytes, held_bytes());
  if (!failure) workspace_ = bytes;
  return failure;
}

Call::~Call() {
  if (workspace_ + tables_bytes_ > 0) session_->staging().release(workspace_ + tables_bytes_);
}

/// The bytes counted for the call so far.
int64_t Call::held_bytes() const {
  int64_t bytes = workspace_ + tables_bytes_ + (slices_up_ != nullptr ? slices_up_->bytes() : 0);
  for (const Part& part : parts_) bytes += part.block != nullptr ? part.bytes : 0;
  return bytes;
}

Call::PartName Call::part_of(const Buffer& buffer) {
  if (buffer.held && buffer.bytes > kWordsBroughtBack) return kHeld;
  if (!buffer.input) return kResults;
  if (buffer.output) return buffer.is_array ? kIndicesBoth : kBoth;
  return buffer.is_array ? kIndices : kInputs;
}

void Call::place_buffers() {
  device_bytes_ = 0;
  for (Part& part : parts_) part.bytes = 0;
  for (Buffer& buffer : buffers_) {
    buffer.part = -1;
    if (!buffer.staged() || buffer.sliced) continue;
    buffer.part = part_of(buffer);
    Part& part = parts_[static_cast<size_t>(buffer.part)];
    buffer.offset = aligned(part.bytes);
    part.bytes = buffer.offset + buffer.bytes;
  }
  for (Part& part : parts_) {
    part.device_offset = device_bytes_;
    device_bytes_ += aligned(part.bytes);
  }
  for (Buffer& buffer : buffers_) {
    if (!buffer.stays()) continue;
    borrows_ = borrows_ || buffer.shared || buffer.in_place;
    if (buffer.sliced) continue;
    buffer.offset = device_bytes_;
    device_bytes_ += aligned(buffer.bytes);
  }
}

/// Counts all bytes before anything is copied. Memory for results is allocated only when there are some.
Failure Call::reserve_parts() {
  const auto lacks_block = [&](int i) {
    const Part& part = parts_[static_cast<size_t>(i)];
    return part.block == nullptr && part.bytes > 0 && (i != kHeld || session_->host_memory());
  };
  int64_t bytes = 0;
  for (int i = 0; i < kParts; ++i) bytes += lacks_block(i) ? parts_[static_cast<size_t>(i)].bytes : 0;
  if (bytes == 0) return {};
  Failure failure = session_->reserve(bytes, held_bytes());
  if (failure) return failure;
  for (int i = 0; i < kParts; ++i) {
    if (!lacks_block(i)) continue;
    Part& part = parts_[static_cast<size_t>(i)];
    const bool whole = i == kIndices || i == kIndicesBoth;
    part.block = HostBlock::make(session_, part.bytes, whole);
  }
  return {};
}

/// Index arrays determine addresses, so check() must see exactly the copy that the operation will read.
Failure Call::copy_arrays() {
  for (const int i : {kIndices, kIndicesBoth}) {
    const Part& part = parts_[static_cast<size_t>(i)];
    if (part.block == nullptr) continue;
    if (!part.block->fill(copies_of(i))) return no_memory();
    point(i, part.block->memory());
  }
  return {};
}

/// The inputs that are copied while the device's thread works on the call.
std::vector<std::pair<std::shared_ptr<HostBlock>, std::vector<BlockCopy>>> Call::rest() const {
  std::vector<std::pair<std::shared_ptr<HostBlock>, std::vector<BlockCopy>>> rest;
  for (const int i : {kInputs, kBoth}) {
    const std::shared_ptr<HostBlock>& block = parts_[static_cast<size_t>(i)].block;
    if (block != nullptr && block->worth_overlapping()) rest.emplace_back(block, copies_of(i));
  }
  if (slices_up_ != nullptr) rest.emplace_back(slices_up_, slice_copies());
  return rest;
}

/// Copies the inputs, except those that are uploaded while they are copied.
Failure Call::fill_parts() {
  for (const int i : {kInputs, kBoth}) {
    const std::shared_ptr<HostBlock>& block = parts_[static_cast<size_t>(i)].block;
    if (block == nullptr || block->worth_overlapping()) continue;
    if (!block->fill(copies_of(i))) return no_memory();
  }
  return {};
}

std::vector<BlockCopy> Call::copies_of(int part) const {
  std::vector<BlockCopy> copies;
  for (const Buffer& buffer : buffers_) {
    if (buffer.part == part) copies.push_back({buffer.source, buffer.offset, buffer.bytes});
  }
  return copies;
}

/// Points the parameters into a part at `memory`, on the host or on the device.
void Call::point(int part, char* memory) {
  for (const Pointer& pointer : pointers_) {
    const Buffer& buffer = buffers_[pointer.buffer];
    if (buffer.part == part) *pointer.target = memory + buffer.offset;
  }
}

/// [progress, outputs and shared inputs…]: what JavaScript must keep for the call.
napi_value Call::keep_values(napi_env env, napi_value progress) {
  const bool reports = js::type_of(env, progress) == napi_function;
  napi_value kept = nullptr;
  uint32_t count = 1;
  for (Buffer& buffer : buffers_) {
    if (!buffer.on_host() || buffer.table || !(buffer.output || buffer.shared)) continue;
    if (kept == nullptr) napi_create_array(env, &kept);
    buffer.kept = static_cast<int32_t>(count);
    napi_set_element(env, kept, count++, buffer.value);
  }
  if (reports) {
    if (kept == nullptr) napi_create_array(env, &kept);
    napi_set_element(env, kept, 0, progress);
    set_progress();
  }
  return kept;
}

napi_value Call::launch(napi_env env, std::unique_ptr<Call> call, napi_value progress) {
  Moments::note(Moment::read);
  Failure failure = call->fill_parts();
  if (failure) return js::rejected(env, failure);
  call->populate_results();
  const napi_value promise = call->begin(env, call->keep_values(env, progress));
  Environment* const environment = Environment::of(env);
  for (Buffer& buffer : call->buffers_) {
    if (buffer.on_host() && buffer.output && !buffer.table) environment->add_output({buffer.source, buffer.source + buffer.bytes});
    buffer.value = nullptr;
  }
  const auto rest = call->rest();  // fetched first: the call may end during the copies below
  Session& session = *call->session_;
  const std::shared_ptr<Session> keep = call->session_;
  const JobSize size = rest.empty() ? size_of(call->work_, session) : JobSize::large;
  Moments::note(Moment::posted);
  dispatch(env, session, std::move(call), size);
  for (const auto& [block, copies] : rest) (void)block->fill(copies);  // upload() sees a failure
  return promise;
}

int64_t Call::workspace_bytes() const {
  return invocation_->workspace_bytes(session_->backend().operations, session_->device());
}

Status Call::work(Session& session, Device& device) {
  Moments::note(Moment::taken);
  if (session.host_memory()) {
    Status status = point_at_device_arrays(pointers_, buffers_, device);
    if (status.ok()) status = run_on_host(device);
    if (status.ok()) status = note_words(device);
    drop_inputs();
    return status;
  }
  Submission& submission = *session.submission();
  /// If the call fails half-way, makes sure that nothing stays in flight.
  struct Attempt {
    Call& call;
    Session& session;
    Submission::Mark mark = Submission::kNone;
    ~Attempt() {
      if (mark != Submission::kNone) session.submission()->abandon(mark);
      if (mark != Submission::kNone) call.run_.reset();
      if (mark != Submission::kNone) call.release_memory(session);
    }
  } attempt{*this, session};
  WARPLOOM_TRY(submission.begin(&attempt.mark));
  WARPLOOM_TRY(point_at_device_arrays(pointers_, buffers_, device));
  WARPLOOM_TRY(submit(session, device));
  WARPLOOM_TRY(submission.end(attempt.mark));
  mark_ = std::exchange(attempt.mark, Submission::kNone);
  Moments::note(Moment::submitted);
  return {};
}

Status Call::end_work(Session& session, Device& device) {
  Moments::note(Moment::reached);
  Status status = session.submission()->finish(mark_, &device_seconds);
  mark_ = Submission::kNone;
  if (status.ok() && run_ != nullptr) status = run_->finish();
  run_.reset();
  for (const auto& block : {slices_up_, slices_down_}) {
    if (status.ok() && block != nullptr) block->learn();
  }
  for (const Part& part : parts_) {
    if (status.ok() && part.block != nullptr) part.block->learn();
  }
  if (status.ok()) write_own_results();
  if (status.ok()) status = note_words(device);
  drop_inputs();
  release_memory(session);
  return status;
}

/// Called only once the call has ended: results may still be downloaded while later calls run.
void Call::release_memory(Session& session) {
  void* const memory = std::exchange(memory_, nullptr);
  if (memory != nullptr) session.release(memory);
}

/// Lets later calls reuse this memory before JavaScript has seen the end of this one.
void Call::drop_inputs() {
  if (plan_ == nullptr) parts_[kIndices].block.reset();  // slices still need the offsets in it
  parts_[kInputs].block.reset();
  slices_up_.reset();
}

Status Call::run_on_host(Device& device) {
  for (int i = 0; i < kParts; ++i) {
    const std::shared_ptr<HostBlock>& block = parts_[static_cast<size_t>(i)].block;
    if (block == nullptr) continue;
    if (!block->take()) return {Code::out_of_memory, "not enough host memory"};
    point(i, block->memory());
  }
  if (plan_ != nullptr) {
    return run_slices(*plan_, *slices_up_, pointers_, *this,
                      [&](Control& control) { return invocation_->perform(session_->backend().operations, device, control); });
  }
  return invocation_->perform(session_->backend().operations, device, *this);
}

/// A download of several results also reads the gaps between them. Fills the gaps for tools that report reads of
/// uninitialised memory.
Status Call::write_gaps(Device& device) {
  static const bool wanted = std::getenv("WARPLOOM_WRITE_GAPS") != nullptr;
  if (!wanted) return {};
  char* const memory = static_cast<char*>(memory_) + parts_[kResults].device_offset;
  for (const Buffer& buffer : buffers_) {
    if (buffer.part != kResults) continue;
    const int64_t end = buffer.offset + buffer.bytes;
    WARPLOOM_TRY(device.fill_zero(memory + end, aligned(end) - end));
  }
  return {};
}

Status Call::submit(Session& session, Device& device) {
  if (stays_near(device)) {
    use_near();
    Moments::note(Moment::sent);
    const Status status = invocation_->perform(session.backend().operations, device, *this);
    Moments::note(Moment::launched);
    return status;
  }
  if (device_bytes_ > 0) WARPLOOM_TRY(session.allocate(device_bytes_, &memory_));
  WARPLOOM_TRY(write_gaps(device));
  char* const memory = static_cast<char*>(memory_);
  WARPLOOM_TRY(send(session, device, memory));
  const bool reports = reports_near(device);
  if (reports) point(kResults, parts_[kResults].block->memory());
  Moments::note(Moment::sent);
  if (plan_ != nullptr) {
    run_ = std::make_unique<SliceRun>(sliced_call(session, device, memory), *this);
    WARPLOOM_TRY(run_->run());
  } else {
    WARPLOOM_TRY(invocation_->perform(session.backend().operations, device, *this));
  }
  Moments::note(Moment::launched);
  return reports ? Status() : fetch(session, device, memory);
}

/// Points the parameters at the device, and uploads the inputs.
Status Call::send(Session& session, Device& device, char* memory) {
  for (int i = 0; i < kParts; ++i) {
    const Part& part = parts_[static_cast<size_t>(i)];
    if (part.bytes == 0) continue;
    point(i, memory + part.device_offset);
    if (goes_up(i)) WARPLOOM_TRY(part.block->upload(device, memory + part.device_offset));
  }
  for (const Pointer& pointer : pointers_) {
    const Buffer& buffer = buffers_[pointer.buffer];
    if (buffer.stays() && !buffer.sliced) *pointer.target = memory + buffer.offset;
  }
  for (const Buffer& buffer : buffers_) {
    if (!buffer.stays() || buffer.sliced || !buffer.input) continue;
    char* const to = memory + buffer.offset;
    WARPLOOM_TRY(buffer.pinned != nullptr ? session.submission()->upload_later(to, buffer.source, buffer.bytes)
                                          : device.upload(to, buffer.source, buffer.bytes));
  }
  return {};
}

Status Call::fetch(Session& session, Device& device, char* memory) {
  for (int i = 0; i < kParts; ++i) {
    const Part& part = parts_[static_cast<size_t>(i)];
    if (part.block == nullptr || !comes_down(i)) continue;
    WARPLOOM_TRY(part.block->download(device, memory + part.device_offset));
  }
  for (const Buffer& buffer : buffers_) {
    if (!buffer.stays() || buffer.sliced || !buffer.output) continue;
    const char* const from = memory + buffer.offset;
    WARPLOOM_TRY(buffer.pinned != nullptr ? session.submission()->download_later(buffer.source, from, buffer.bytes)
                                          : device.download(buffer.source, from, buffer.bytes));
  }
  return {};
}

void Call::forget(Environment& environment) {
  for (const Buffer& buffer : buffers_) {
    if (buffer.on_host() && buffer.output && !buffer.table) environment.remove_output({buffer.source, buffer.source + buffer.bytes});
  }
}

}  // namespace warploom
