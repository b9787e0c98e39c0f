// scan.prefix on the GPU. Rows that fit a block take one launch; longer rows take a reduction, a scan of the totals,
// and a scan. n and the policy fix the order of every sum, so results repeat to the bit.
#include "cuda/core/operations.h"
#include "cuda/scan/prefix.h"
#include "cuda/scan/prefix_launch.cuh"
#include "cuda/scan/prefix_policy.h"
#include "cuda/scan/reduce_agent.cuh"
#include "cuda/scan/shared_agent.cuh"

namespace warploom::WARPLOOM_TARGET {
namespace scan {
namespace {

namespace policy = operation::policy;
using operation::Algorithm;
using operation::PrefixParameters;

Shape shape_of(Algorithm algorithm, int depth, int radix, int64_t n, int64_t rows) {
  Shape shape;
  shape.n = n;
  shape.rows = rows;
  shape.radix = radix;
  shape.packed = algorithm != Algorithm::shared;
  shape.depth = !shape.packed ? 1 : depth != 0 ? depth : policy::default_depth(n);
  const int most = shape.packed ? policy::kThreads : policy::kSharedThreads;
  shape.row_shift = policy::row_shift(n, shape.depth, most);
  shape.threads = shape.packed || 1 << shape.row_shift < 256 ? policy::kThreads : 1 << shape.row_shift;
  shape.tile = shape.depth << shape.row_shift;
  shape.tiles = (n + shape.tile - 1) / shape.tile;
  const int64_t per_block = shape.threads >> shape.row_shift;
  shape.blocks = shape.tiles > 1 ? rows * shape.tiles : (rows + per_block - 1) / per_block;
  return shape;
}

/// Task::full: every block except the last of each row and of the batch can move whole 16-byte chunks.
template <class T>
bool is_full(const Shape& shape, const Task<T>& task) {
  const auto misaligned = [](const void* memory) { return reinterpret_cast<uintptr_t>(memory) % 16 != 0; };
  if (misaligned(task.values) || misaligned(task.result) || misaligned(task.flags)) return false;
  if (task.flags != nullptr && task.n % 16 != 0) return false;
  return shape.tiles == 1 ? task.n == shape.tile : task.n * static_cast<int64_t>(sizeof(T)) % 16 == 0;
}

int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Bytes for the totals of all levels above the first.
int64_t workspace_bytes(const PrefixParameters& p) {
  if (p.n == 0 || p.batch == 0) return 0;
  int64_t bytes = 0, n = p.n;
  for (Shape shape = shape_of(p.algorithm, p.depth, p.radix, n, p.batch); shape.tiles > 1;
       shape = shape_of(p.algorithm, p.depth, p.radix, n, p.batch)) {
    n = shape.tiles;
    bytes += aligned(n * p.batch * scalar_bytes(p.type)) + (p.flags.data != nullptr ? aligned(n * p.batch) : 0);
  }
  return bytes;
}

template <class T>
Status launch_level(GpuDevice& device, const Shape& shape, const Task<T>& task) {
  if (!shape.packed) {
    using Agent = SharedAgent<T>;
    return launch<Agent>(device, {shape.blocks, shape.threads, Agent::shared_bytes(shape.threads), false}, task);
  }
  if (is_experiment(shape)) return launch_experiment(device, shape, task);
  switch (shape.depth) {
    case 2: return launch_packed<T, 2, 2>(device, shape, task);
    case 4: return launch_packed<T, 4, 2>(device, shape, task);
    case 8: return launch_packed<T, 8, 2>(device, shape, task);
    default: return launch_packed<T, 16, 2>(device, shape, task);
  }
}

/// One level; `task` has no shape yet. `memory` holds the level's totals, followed by those of the levels above.
template <class T>
Status scan_level(GpuDevice& device, const PrefixParameters& p, Task<T> task, char* memory, Control& control) {
  if (control.cancelled()) return {Code::cancelled, "cancelled"};
  const Shape shape = shape_of(p.algorithm, p.depth, p.radix, task.n, task.rows);
  task.tiles = shape.tiles;
  task.tile = shape.tile;
  task.row_shift = shape.row_shift;
  task.full = is_full(shape, task);
  if (shape.tiles > 1) {
    const int64_t count = task.rows * task.tiles;
    ReduceTask<T> reduce;
    reduce.task = task;
    reduce.totals = reinterpret_cast<T*>(memory);
    memory += aligned(count * static_cast<int64_t>(sizeof(T)));
    if (task.flags != nullptr) {
      reduce.marks = reinterpret_cast<uint8_t*>(memory);
      memory += aligned(count);
    }
    using Agent = ReduceAgent<T>;
    WARPLOOM_TRY(launch<Agent>(device, {shape.blocks, policy::kReduceThreads, Agent::shared_bytes(), false}, reduce));
    Task<T> above;
    above.values = reduce.totals;
    above.flags = reduce.marks;
    above.result = reduce.totals;
    above.n = task.tiles;
    above.rows = task.rows;
    above.op = task.op;
    WARPLOOM_TRY(scan_level(device, p, above, memory, control));
    task.carry = reduce.totals;
  }
  return launch_level(device, shape, task);
}

template <class T>
Status run(GpuDevice& device, const PrefixParameters& p, Control& control) {
  Workspace workspace;
  const int64_t bytes = workspace_bytes(p);
  if (bytes > 0) WARPLOOM_TRY(Workspace::make(device, bytes, &workspace));
  Task<T> task;
  task.values = static_cast<const T*>(p.values.data) + p.values.offset;
  task.flags = p.flags.data;
  task.result = static_cast<T*>(p.result.data) + p.result.offset;
  task.n = p.n;
  task.rows = p.batch;
  task.op = p.op;
  task.exclusive = p.exclusive;
  WARPLOOM_TRY(device.begin_operation(control));
  WARPLOOM_TRY(scan_level(device, p, task, workspace.template as<char>(), control));
  return device.end_operation(control);
}

}  // namespace
}  // namespace scan

Status scan_prefix(Device& device, const ::warploom::scan::PrefixParameters& p, Control& control) {
  if (p.n == 0 || p.batch == 0) return {};
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  const scan::Shape shape = scan::shape_of(p.algorithm, p.depth, p.radix, p.n, p.batch);
  if (shape.blocks > gpu.limits().max_blocks) {
    return {Code::unsupported, "a scan of this size needs " + std::to_string(shape.blocks) + " blocks, more than a launch takes"};
  }
  const bool present = WARPLOOM_HAS(scan::launch_experiment, Status (*)(GpuDevice&, const scan::Shape&, const scan::Task<float>&));
  if (scan::is_experiment(shape) && !present) {
    return shape.radix == 4 ? not_in_this_build("radix 4", "radix") : not_in_this_build("depth 32", "depth");
  }
  return p.type == ScalarType::float32 ? scan::run<float>(gpu, p, control) : scan::run<double>(gpu, p, control);
}

int64_t scan_prefix_workspace(const Device&, const ::warploom::scan::PrefixParameters& p) {
  return scan::workspace_bytes(p);
}

}  // namespace warploom::WARPLOOM_TARGET
