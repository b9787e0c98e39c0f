// Launch of `pcr-thomas`: in the registers of a warp or in one block if a system fits, otherwise tiled over global
// workspace.
#include "cuda/tridiagonal/classic/block_launch.cuh"
#include "cuda/tridiagonal/classic/pcr_thomas.cuh"

#include "cuda/tridiagonal/classic/pcr_thomas_agent.cuh"
#include "cuda/tridiagonal/classic/pcr_warp_launch.cuh"
#include "cuda/tridiagonal/classic/tiled_pcr_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

namespace {

constexpr int kTileThreads = 256;
constexpr int64_t kTileBytes = 100 * 1024;         // two blocks fit a multiprocessor of 228 KB
constexpr int64_t kSliceBytes = int64_t{1} << 30;

/// The tiled passes over one slice of a batch's problems.
template <class T>
class Slice {
 public:
  Slice(GpuDevice& device, const Batch<T>& batch, const operation::TilePlan& plan, const Workspace& memory,
        int64_t most)
      : device_(device), batch_(batch), plan_(plan), words_(memory.as<int32_t>()), word_bytes_(word_bytes(most)) {
    first_ = {memory.as<T>(word_bytes_), most * batch.n, batch.n};
    second_ = {first_.data + 4 * first_.array, most * batch.n, batch.n};
  }

  static int64_t word_bytes(int64_t problems) { return (problems * 12 + 255) / 256 * 256; }
  static int64_t bytes(const Batch<T>& batch, const operation::TilePlan& plan, int64_t problems) {
    const int64_t sets = plan.second_steps > 0 ? 2 : 1;
    return word_bytes(problems) + sets * 4 * problems * batch.n * static_cast<int64_t>(sizeof(T));
  }

  Status solve(int64_t first_problem, int64_t problems, Used* used) {
    WARPLOOM_TRY(device_.fill_zero(words_, word_bytes_));
    typename TiledPcrAgent<T>::Parameters pass;
    pass.batch = batch_;
    pass.outcome = {words_};
    pass.first_problem = first_problem;
    pass.to = first_;
    pass.depth = plan_.first_depth;
    pass.steps = plan_.first_steps;
    WARPLOOM_TRY(reduce(pass, problems, used));
    if (plan_.second_steps > 0) {
      pass.from = first_;
      pass.to = second_;
      pass.stride = int64_t{1} << plan_.first_steps;
      pass.width_bits = plan_.second_width_bits;
      pass.depth = plan_.second_depth;
      pass.steps = plan_.second_steps;
      WARPLOOM_TRY(reduce(pass, problems, used));
    }
    typename SubsystemThomasAgent<T>::Parameters thomas;
    thomas.batch = batch_;
    thomas.rows = pass.to;
    thomas.outcome = pass.outcome;
    thomas.first_problem = first_problem;
    thomas.slots = problems;
    thomas.stride = plan_.subsystems();
    WARPLOOM_TRY(launch<SubsystemThomasAgent<T>>(device_, one_thread_each(problems * thomas.stride), thomas));
    WARPLOOM_TRY(launch<OutcomeAgent<T>>(device_, one_thread_each(problems),
                                         {batch_, pass.outcome, first_problem, problems}));
    used->launches += 2;
    return {};
  }

 private:
  static LaunchShape one_thread_each(int64_t count) {
    LaunchShape shape;
    shape.threads = 128;
    shape.blocks = (count + 127) / 128;
    return shape;
  }

  Status reduce(typename TiledPcrAgent<T>::Parameters pass, int64_t problems, Used* used) {
    const int64_t longest = (batch_.n + pass.stride - 1) / pass.stride;
    pass.tiles = ((longest + pass.depth - 1) / pass.depth) * (pass.stride >> pass.width_bits);
    LaunchShape shape;
    shape.blocks = problems * pass.tiles;
    shape.threads = kTileThreads;
    shape.shared_bytes = TiledPcrAgent<T>::shared_bytes(pass);
    WARPLOOM_TRY(launch<TiledPcrAgent<T>>(device_, shape, pass));
    ++used->launches;
    return {};
  }

  GpuDevice& device_;
  const Batch<T>& batch_;
  const operation::TilePlan& plan_;
  int32_t* words_;
  int64_t word_bytes_;
  StoredRows<T> first_, second_;
};

}  // namespace

template <class T>
Status solve_pcr_thomas_tiled(GpuDevice& device, const Batch<T>& batch, const operation::TilePlan& plan,
                              int64_t slice_bytes, Used* used) {
  const int64_t each = Slice<T>::bytes(batch, plan, 1), problems = batch.problems();
  int64_t most = slice_bytes / each;
  most = most < 1 ? 1 : most > problems ? problems : most;
  Workspace memory;
  WARPLOOM_TRY(Workspace::make(device, Slice<T>::bytes(batch, plan, most), &memory));
  Slice<T> slice(device, batch, plan, memory, most);
  used->algorithm = operation::Algorithm::pcr_thomas;
  used->threads = static_cast<int>(plan.subsystems());
  for (int64_t first = 0; first < problems; first += most) {
    WARPLOOM_TRY(slice.solve(first, problems - first < most ? problems - first : most, used));
  }
  return {};
}

template <class T>
Status solve_pcr_thomas(GpuDevice& device, const Batch<T>& batch, Used* used) {
  const Status by_warps = solve_by_warps<true>(device, operation::Algorithm::pcr_thomas, batch, used);
  if (by_warps.code() != Code::unsupported) return by_warps;
  using Agent = PcrThomasAgent<T>;
  const int64_t limit = device.limits().shared_bytes_per_block, room = limit - 16;
  if (batch.n > largest_fitting(room, Agent::problem_bytes)) {
    const int64_t tile = (limit < kTileBytes ? limit : kTileBytes) / (8 * static_cast<int64_t>(sizeof(T))) - 16;
    const int64_t threads = int64_t{512} * device.limits().multiprocessors;
    const auto plan = operation::plan_tiles(batch.n, batch.planned_problems(), threads, tile, sizeof(T));
    return solve_pcr_thomas_tiled(device, batch, plan, kSliceBytes, used);
  }
  typename Agent::Parameters p;
  p.batch = batch;
  p.subsystems = operation::pcr_thomas_subsystems(batch.n);
  return launch_in_block<Agent>(device, operation::Algorithm::pcr_thomas, p.subsystems, Agent::problem_bytes, p, used);
}

#define WARPLOOM_INSTANTIATE(T)                                                                             \
  template Status solve_pcr_thomas(GpuDevice&, const Batch<T>&, Used*);                                     \
  template Status solve_pcr_thomas_tiled(GpuDevice&, const Batch<T>&, const operation::TilePlan&, int64_t, Used*);
WARPLOOM_INSTANTIATE(float)
WARPLOOM_INSTANTIATE(double)
WARPLOOM_INSTANTIATE(Complex<float>)
WARPLOOM_INSTANTIATE(Complex<double>)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
