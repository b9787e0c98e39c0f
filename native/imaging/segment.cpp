// imaging.segment on the cpu backend: rows on all cores, level sets with a padded border.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include "cuda/core/operations.h"
#include "cuda/imaging/segment.h"
#include "cuda/imaging/segment_initial.h"
#include "cuda/imaging/segment_setup.h"
#include "native/cpu/device.h"
#include "native/imaging/kernels.h"

namespace warploom::cpu {
namespace {

using namespace ::warploom::imaging;
namespace segmentation = ::warploom::imaging::segmentation;

constexpr int64_t kPiecePoints = 8192;

/// A level set with one extra point on each side, where the border repeats.
template <class R>
struct Padded {
  R* data = nullptr;
  Grid grid;
  int64_t row = 0, plane = 0;  ///< distances; plane is 0 for images

  explicit Padded(const Grid& g) : grid(g), row(g.nx + 2), plane(g.nz > 1 ? (g.ny + 2) * (g.nx + 2) : 0) {}
  int64_t elements() const { return (grid.ny + 2) * row * (plane != 0 ? grid.nz + 2 : 1); }
  R* at(int64_t y, int64_t z) const { return data + (plane != 0 ? (z + 1) * plane : 0) + (y + 1) * row + 1; }
  /// Repeats a row of the grid, just written, in the padding wherever it lies on the border.
  void spread(int64_t y, int64_t z) const {
    R* const from = at(y, z);
    from[-1] = from[0];
    from[grid.nx] = from[grid.nx - 1];
    const bool deep = plane != 0;
    for (int64_t dz = deep && z == 0 ? -1 : 0; dz <= (deep && z + 1 == grid.nz ? 1 : 0); ++dz) {
      for (int64_t dy = y == 0 ? -1 : 0; dy <= (y + 1 == grid.ny ? 1 : 0); ++dy) {
        if (dy != 0 || dz != 0) std::memcpy(at(y + dy, z + dz) - 1, from - 1, static_cast<size_t>(row) * sizeof(R));
      }
    }
  }
};

template <class R>
class SegmentCall {
 public:
  SegmentCall(CpuDevice& device, const SegmentParameters& p, Control& control)
      : device_(device), p_(p), control_(control), kernels_(imaging_kernels<R>().segment), points_(points_of(p.grid)),
        image_(static_cast<const R*>(p.image.data) + p.image.offset), memory_{Workspace(device), Workspace(device), Workspace(device)},
        buffer_{Padded<R>(p.grid), Padded<R>(p.grid), Padded<R>(p.grid)} {}

  Status run() {
    const auto start = std::chrono::steady_clock::now();
    WARPLOOM_TRY(prepare());
    WARPLOOM_TRY(begin());
    WARPLOOM_TRY(energy(0));
    for (int64_t k = 0; k < p_.iterations; ++k) {
      WARPLOOM_TRY(step(k));
      iterations_ = k + 1;
      if (p_.reinitialize_every > 0 && iterations_ % p_.reinitialize_every == 0) WARPLOOM_TRY(reinitialize());
      if (p_.energy_every > 0 && iterations_ % p_.energy_every == 0) WARPLOOM_TRY(energy(iterations_ / p_.energy_every));
      if (static_cast<double>(words_[segmentation::kChange]) <= setup_.change_limit) break;
    }
    WARPLOOM_TRY(finish());
    control_.device_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return {};
  }

 private:
  const Padded<R>& current() const { return buffer_[iterations_ % 2]; }
  const Padded<R>& other() const { return buffer_[(iterations_ + 1) % 2]; }

  /// Calls body(row index y, z, worker, words of the piece) for all rows, and adds up the words of all pieces.
  template <class Body>
  Status over_rows(int64_t count, int64_t* words, const Body& body) {
    const int64_t rows = p_.grid.ny * p_.grid.nz, most = std::max<int64_t>(1, points_ / kPiecePoints);
    const int64_t pieces = std::min({rows, most, int64_t{4} * device_.thread_count()});
    std::vector<int64_t> parts(static_cast<size_t>(pieces * count), 0);
    WARPLOOM_TRY(device_.threads().run(pieces, [&](int64_t piece, int worker) {
      for (int64_t i = rows * piece / pieces; i < rows * (piece + 1) / pieces; ++i) {
        body(i % p_.grid.ny, i / p_.grid.ny, worker, parts.data() + piece * count);
      }
      return Status();
    }, control_, static_cast<double>(iterations_ * pieces), static_cast<double>(std::max<int64_t>(1, p_.iterations) * pieces)));
    for (size_t i = 0; i < parts.size(); ++i) words[i % static_cast<size_t>(std::max<int64_t>(1, count))] += parts[i];
    return {};
  }
  SegmentRow<R> row_of(const Padded<R>& from, int64_t y, int64_t z, int worker) const {
    SegmentRow<R> row;
    row.flow = &flow_;
    row.scales = &setup_.scales;
    row.from = from.at(y, z);
    row.nx = p_.grid.nx;
    row.row = from.row;
    row.plane = from.plane;
    row.image = image_ + (z * p_.grid.ny + y) * p_.grid.nx;
    row.points = points_;
    row.channels = p_.channels;
    row.centres = centres_.data();
    row.weights = p_.channels > 1 ? rounded_weights_.data() : nullptr;
    row.scratch = static_cast<R*>(device_.scratch(worker));
    return row;
  }

  Status prepare() {
    const int buffers = p_.reinitialize_every > 0 ? 3 : 2;
    for (int b = 0; b < buffers; ++b) {
      WARPLOOM_TRY(memory_[b].reserve(buffer_[b].elements() * static_cast<int64_t>(sizeof(R))));
      buffer_[b].data = memory_[b].template as<R>();
    }
    WARPLOOM_TRY(device_.reserve_scratch(kSegmentScratchRows * p_.grid.nx * static_cast<int64_t>(sizeof(R))));
    weights_ = segmentation::channel_weights(p_, p_.weights.data);
    rounded_weights_.assign(weights_.begin(), weights_.end());
    WARPLOOM_TRY(survey());
    flow_ = segmentation::make_flow<R>(p_, setup_, p_.channels > 1 ? 1 : weights_[0]);
    centres_.assign(static_cast<size_t>(2 * p_.channels), R(0));
    totals_.assign(static_cast<size_t>(1 + p_.channels), 0);
    words_.assign(static_cast<size_t>(segmentation::kSum + p_.channels), 0);
    entries_.assign(static_cast<size_t>(most_entries(p_) * (segmentation::kEnergyWords + p_.channels)), 0);
    return {};
  }

  Status survey() {
    const R most = segmentation::make_flow<R>(p_, {}, 1).most;
    std::vector<segmentation::Survey> found(static_cast<size_t>(device_.thread_count()));
    WARPLOOM_TRY(over_rows(0, nullptr, [&](int64_t y, int64_t z, int worker, int64_t*) {
      segmentation::Survey& all = found[static_cast<size_t>(worker)];
      const R* const row = image_ + (z * p_.grid.ny + y) * p_.grid.nx;
      for (int64_t x = 0; x < p_.grid.nx; ++x) {
        R least = row[x], greatest = row[x];
        bool data = std::fabs(row[x]) <= most;
        for (int64_t c = 1; c < p_.channels; ++c) {
          const R pixel = row[c * points_ + x];
          data = data && std::fabs(pixel) <= most;
          least = std::min(least, pixel);
          greatest = std::max(greatest, pixel);
        }
        if (!data) continue;
        all.least = std::min(all.least, static_cast<double>(least));
        all.most = std::max(all.most, static_cast<double>(greatest));
        ++all.count;
      }
    }));
    segmentation::Survey all;
    for (const segmentation::Survey& part : found) {
      all.least = std::min(all.least, part.least);
      all.most = std::max(all.most, part.most);
      all.count += part.count;
    }
    setup_ = segmentation::make_setup(p_, all, weights_.data());
    return {};
  }

  /// The initial level set and its sums.
  Status begin() {
    const segmentation::InitialShape shape = segmentation::shape_of(p_);
    const R* const given = p_.initial == Initial::given ? static_cast<const R*>(p_.given.data) + p_.given.offset : nullptr;
    const Grid& g = p_.grid;
    WARPLOOM_TRY(over_rows(0, nullptr, [&](int64_t y, int64_t z, int, int64_t*) {
      R* const row = buffer_[0].at(y, z);
      for (int64_t x = 0; x < g.nx; ++x) {
        const double at[3] = {static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)};
        row[x] = segmentation::clipped_level<R>(given != nullptr ? static_cast<double>(given[(z * g.ny + y) * g.nx + x])
                                                                 : segmentation::initial_level(shape, at));
      }
      buffer_[0].spread(y, z);
    }));
    WARPLOOM_TRY(over_rows(1 + p_.channels, totals_.data(), [&](int64_t y, int64_t z, int worker, int64_t* words) {
      kernels_.sums(row_of(buffer_[0], y, z, worker), false, words);
    }));
    std::vector<int64_t> inside(static_cast<size_t>(1 + p_.channels), 0);
    WARPLOOM_TRY(over_rows(1 + p_.channels, inside.data(), [&](int64_t y, int64_t z, int worker, int64_t* words) {
      kernels_.sums(row_of(buffer_[0], y, z, worker), true, words);
    }));
    words_[segmentation::kInside] = inside[0];
    std::copy(inside.begin() + 1, inside.end(), words_.begin() + segmentation::kSum);
    return {};
  }

  Status step(int64_t k) {
    for (int64_t c = 0; c < p_.channels; ++c) {
      const size_t i = static_cast<size_t>(c);
      const segmentation::Means means = segmentation::means_of(words_[segmentation::kInside], words_[segmentation::kSum + i], totals_[0],
                                                               totals_[1 + i], 1 / setup_.scales.value);
      centres_[2 * i] = static_cast<R>(means.inside);
      centres_[2 * i + 1] = static_cast<R>(means.outside);
    }
    std::fill(words_.begin(), words_.end(), 0);
    const Padded<R>&from = buffer_[k % 2], &to = buffer_[(k + 1) % 2];
    return over_rows(segmentation::kSum + p_.channels, words_.data(), [&](int64_t y, int64_t z, int worker, int64_t* words) {
      SegmentRow<R> row = row_of(from, y, z, worker);
      row.to = to.at(y, z);
      kernels_.step(row, words);
      to.spread(y, z);
    });
  }

  Status energy(int64_t entry) {
    const int64_t count = segmentation::kEnergyWords + p_.channels;
    return over_rows(count, entries_.data() + entry * count, [&](int64_t y, int64_t z, int worker, int64_t* words) {
      kernels_.energy(row_of(current(), y, z, worker), words);
    });
  }

  Status reinitialize() {
    const Padded<R>* from = &current();
    for (int64_t i = 0; i < p_.reinitialize_steps; ++i) {
      const Padded<R>& to = i % 2 == 0 ? other() : buffer_[2];
      WARPLOOM_TRY(over_rows(0, nullptr, [&](int64_t y, int64_t z, int worker, int64_t*) {
        SegmentRow<R> row = row_of(*from, y, z, worker);
        row.fixed = current().at(y, z);
        row.to = to.at(y, z);
        kernels_.reinitialize(row);
        to.spread(y, z);
      }));
      from = &to;
    }
    std::memcpy(current().data, from->data, static_cast<size_t>(from->elements()) * sizeof(R));
    return {};
  }

  Status finish() {
    int64_t last = most_entries(p_) - 1;
    if (iterations_ == 0) {
      last = 0;
    } else if (p_.energy_every > 0 && iterations_ % p_.energy_every == 0) {
      last = iterations_ / p_.energy_every;
    } else {
      WARPLOOM_TRY(energy(last));
    }
    R* const result = static_cast<R*>(p_.level_set.data) + p_.level_set.offset;
    WARPLOOM_TRY(over_rows(0, nullptr, [&](int64_t y, int64_t z, int, int64_t*) {
      const R* const row = current().at(y, z);
      const int64_t first = (z * p_.grid.ny + y) * p_.grid.nx;
      std::memcpy(result + first, row, static_cast<size_t>(p_.grid.nx) * sizeof(R));
      if (p_.mask.data == nullptr) return;
      for (int64_t x = 0; x < p_.grid.nx; ++x) p_.mask.data[first + x] = row[x] > R(0) ? 1 : 0;
    }));
    segmentation::Ending ending;
    ending.inside = words_[segmentation::kInside];
    ending.change = words_[segmentation::kChange];
    ending.sums = words_.data() + segmentation::kSum;
    ending.totals = totals_.data();
    ending.entries = entries_.data();
    ending.last_entry = last;
    ending.iterations = iterations_;
    segmentation::write_report(p_, setup_, weights_.data(), SegmentVariant::cpu, ending);
    return {};
  }

  CpuDevice& device_;
  const SegmentParameters& p_;
  Control& control_;
  const SegmentKernels<R>& kernels_;
  int64_t points_;
  const R* image_;
  Workspace memory_[3];
  Padded<R> buffer_[3];
  segmentation::Setup setup_;
  segmentation::Flow<R> flow_{};
  std::vector<double> weights_;
  std::vector<R> rounded_weights_, centres_;
  std::vector<int64_t> totals_, words_, entries_;
  int64_t iterations_ = 0;
};

}  // namespace

Status imaging_segment(Device& device, const SegmentParameters& p, Control& control) {
  if (p.variant != SegmentVariant::automatic && p.variant != SegmentVariant::cpu) {
    return {Code::unsupported, std::string("variant ") + kSegmentVariantNames[static_cast<int>(p.variant)] + " needs a GPU", "variant"};
  }
  CpuDevice& cpu = static_cast<CpuDevice&>(device);
  return p.type == ScalarType::float32 ? SegmentCall<float>(cpu, p, control).run() : SegmentCall<double>(cpu, p, control).run();
}

int64_t imaging_segment_workspace(const Device&, const SegmentParameters& p) {
  const int64_t elements = (p.grid.nx + 2) * (p.grid.ny + 2) * (p.grid.nz > 1 ? p.grid.nz + 2 : 1);
  return (p.reinitialize_every > 0 ? 3 : 2) * elements * scalar_bytes(p.type);
}

}  // namespace warploom::cpu
