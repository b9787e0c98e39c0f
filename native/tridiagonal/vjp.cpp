// tridiagonal.vjp on the cpu backend: the solve with the adjoint matrix, then the gradients of each band.
#include "cuda/tridiagonal/vjp.h"

#include "cuda/core/operations.h"
#include "cuda/tridiagonal/vjp_sums.h"
#include "native/tridiagonal/matrix_run.h"

namespace warploom::cpu {
namespace {

using operation::BandGradient;
using operation::GradientBand;
using operation::GradientTerm;
using operation::VjpParameters;

/// Terms per task.
constexpr int64_t kTaskEntries = int64_t{1} << 15;

/// Calls body(begin, end) for ranges that cover 0 … count-1.
template <class Body>
Status in_tasks(CpuDevice& device, int64_t count, int64_t each, Control& control, const Body& body) {
  const int64_t tasks = (count + each - 1) / each;
  const auto task = [&](int64_t index, int) {
    body(index * each, std::min(count, (index + 1) * each));
    return Status();
  };
  return device.threads().run(tasks, task, control, 0, 0);
}

template <class R>
Status sum_gradient(CpuDevice& device, const BandGradient<R>& g, Control& control) {
  if (g.terms <= 1) {
    return in_tasks(device, g.entries, kTaskEntries, control, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) g.store(at, g.terms == 0 ? GradientTerm() : g.term(at, 0));
    });
  }
  Workspace memory(device);
  WARPLOOM_TRY(memory.reserve(g.entries * operation::gradient_partials(g.terms) * static_cast<int64_t>(sizeof(GradientTerm))));
  const GradientTerm* from = nullptr;
  GradientTerm* to = memory.as<GradientTerm>();
  for (int64_t terms = g.terms, runs = 0; runs != 1; terms = runs) {
    runs = operation::gradient_runs(terms);
    const int64_t each = std::max<int64_t>(1, kTaskEntries / operation::kGradientRun);
    WARPLOOM_TRY(in_tasks(device, runs * g.entries, each, control, [&](int64_t begin, int64_t end) {
      for (int64_t index = begin; index < end; ++index) {
        const int64_t c = index / g.entries, at = index - c * g.entries;
        to[index] = operation::gradient_run(terms, runs, c, [&](int64_t k) {
          return from == nullptr ? g.term(at, k) : from[k * g.entries + at];
        });
      }
    }));
    from = to;
    to += runs * g.entries;
  }
  for (int64_t at = 0; at < g.entries; ++at) g.store(at, from[at]);
  return {};
}

int64_t rows_of(const VjpParameters& p) {
  if (p.offsets.data == nullptr) return p.n * p.batch;
  return p.batch == 0 ? 0 : p.offsets.data[p.batch] - p.offsets.data[0];
}

template <class R>
Status gradients(CpuDevice& device, const VjpParameters& p, Control& control) {
  const struct {
    GradientBand band;
    const View& view;
  } outputs[] = {{GradientBand::lower, p.lower_gradient},
                 {GradientBand::diagonal, p.diagonal_gradient},
                 {GradientBand::upper, p.upper_gradient}};
  for (const auto& output : outputs) {
    if (output.view.data == nullptr) continue;
    const auto gradient = operation::band_gradient<R>(p, output.band, output.view, rows_of(p));
    if (gradient.entries > 0) WARPLOOM_TRY(sum_gradient(device, gradient, control));
  }
  return {};
}

}  // namespace

Status tridiagonal_vjp(Device& device, const VjpParameters& p, Control& control) {
  WARPLOOM_TRY(tridiagonal_solve(device, adjoint_solve(p), control));
  const Stopwatch stopwatch(control);
  auto& cpu = static_cast<CpuDevice&>(device);
  return is_single(p.type) ? gradients<float>(cpu, p, control) : gradients<double>(cpu, p, control);
}

int64_t tridiagonal_vjp_workspace(const Device& device, const VjpParameters& p) {
  int64_t most = 0;
  for (const View* view : {&p.lower_gradient, &p.diagonal_gradient, &p.upper_gradient}) {
    if (view->data == nullptr) continue;
    const auto gradient = operation::band_gradient<double>(p, GradientBand::diagonal, *view, rows_of(p));
    const int64_t words = gradient.entries * operation::gradient_partials(gradient.terms);
    if (gradient.terms > 1) most = std::max(most, words * static_cast<int64_t>(sizeof(GradientTerm)));
  }
  return most + tridiagonal_solve_workspace(device, adjoint_solve(p));
}

}  // namespace warploom::cpu
