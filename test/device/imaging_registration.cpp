// imaging.registration, cosine, warp, resample and jacobian on the shim: the same bits in every thread order, and iterations of the
// registration against a plain one with direct sums of cosines.
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/core/view.h"
#include "test/device/support/operations.h"
#include "test/device/support/harness.h"
#include "test/device/support/simt_device.h"

namespace warploom::test {
namespace {

using namespace ::warploom::imaging;
using harness::check;

inline constexpr bool kSanitized = harness::kThreadSanitizer || harness::kAddressSanitizer;

template <class T>
View view_of(std::vector<T>& data) {
  View view;
  view.data = data.data();
  view.length = static_cast<int64_t>(data.size());
  lay_out(&view, {view.length});
  return view;
}
template <class T>
constexpr ScalarType type_of() { return sizeof(T) == 4 ? ScalarType::float32 : ScalarType::float64; }

/// A smooth image, moved by `shift`.
template <class T>
std::vector<T> picture(const Grid& g, double shift) {
  std::vector<T> image;
  for (int64_t i = 0; i < points_of(g); ++i) {
    const double x = static_cast<double>(i % g.nx) + shift, y = static_cast<double>(i / g.nx % g.ny) - shift / 2;
    const double z = static_cast<double>(i / (g.nx * g.ny)) + shift / 3;
    image.push_back(static_cast<T>(0.5 + 0.3 * std::sin(0.6 * x + 0.2 * z) * std::cos(0.5 * y) + 0.1 * std::cos(0.3 * z)));
  }
  return image;
}

template <class T>
void append(std::string& bits, const std::vector<T>& values) {
  bits.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

struct Settings {
  RegistrationVariant variant = RegistrationVariant::semi_implicit;
  Measure measure = Measure::ssd;
  bool accelerate = true;
  int64_t iterations = 3;
  double tolerance = 0;
};

template <class T>
std::vector<T> registered(Device& device, const Grid& g, const Settings& s, std::string* bits, double step = 0) {
  std::vector<T> reference = picture<T>(g, 0.7), image = picture<T>(g, 0), u(static_cast<size_t>(dimensions_of(g) * points_of(g)));
  std::vector<RegistrationEntry> history(static_cast<size_t>(s.iterations) + 1);
  RegistrationReport report;
  report.history = {history.data(), s.iterations + 1};
  RegistrationParameters p;
  p.type = type_of<T>();
  p.grid = g;
  p.variant = s.variant;
  p.measure = s.measure;
  p.accelerate = s.accelerate;
  p.iterations = s.iterations;
  p.tolerance = s.tolerance;
  p.step = step;
  p.reference = view_of(reference);
  p.image = view_of(image);
  p.result = view_of(u);
  p.report = &report;
  Control control;
  check(::warploom::imaging::check(p).ok(), "parameters");
  const Status status = simt::imaging_registration(device, p, control);
  check(status.ok(), "registration", status.message());
  append(*bits, u);
  history.resize(static_cast<size_t>(report.history.count));
  append(*bits, history);
  append(*bits, std::vector<double>{static_cast<double>(report.iterations), report.converged ? 1.0 : 0.0, report.step});
  return u;
}

template <class T>
void others(Device& device, const Grid& g, std::string* bits) {
  const int axes = dimensions_of(g);
  std::vector<T> image = picture<T>(g, 0), result(image.size()), back(image.size());
  Control control;
  CosineParameters c;
  c.type = type_of<T>();
  c.grid = g;
  c.values = view_of(image);
  c.result = view_of(result);
  check(simt::imaging_cosine(device, c, control).ok(), "cosine");
  append(*bits, result);
  c.inverse = true;
  c.values = view_of(result);
  c.result = view_of(back);
  check(simt::imaging_cosine(device, c, control).ok(), "inverse cosine");
  append(*bits, back);
  std::vector<T> u;
  for (int a = 0; a < axes; ++a) {
    const std::vector<T> component = picture<T>(g, 1 + a);
    u.insert(u.end(), component.begin(), component.end());
  }
  WarpParameters w;
  w.type = type_of<T>();
  w.grid = g;
  w.count = points_of(g);
  w.image = view_of(image);
  w.positions = view_of(u);
  w.result = view_of(result);
  check(simt::imaging_warp(device, w, control).ok(), "warp");
  append(*bits, result);
  std::vector<JacobianBounds> bounds(1);
  JacobianReport report;
  report.bounds = {bounds.data(), 1};
  JacobianParameters j;
  j.type = type_of<T>();
  j.grid = g;
  j.displacement = view_of(u);
  j.result = view_of(result);
  j.report = &report;
  check(simt::imaging_jacobian(device, j, control).ok(), "jacobian");
  append(*bits, result);
  append(*bits, bounds);
  ResampleParameters r;
  r.type = type_of<T>();
  r.grid = g;
  r.halve_z = axes == 3;
  std::vector<T> coarse(static_cast<size_t>(points_of(coarse_grid(r))));
  r.values = view_of(image);
  r.result = view_of(coarse);
  check(simt::imaging_resample(device, r, control).ok(), "halve");
  append(*bits, coarse);
  r.up = true;
  r.values = view_of(coarse);
  r.result = view_of(result);
  check(simt::imaging_resample(device, r, control).ok(), "double");
  append(*bits, result);
}

template <class T>
std::string everything(Device& device) {
  std::string bits;
  const Grid plane = {18, 7, 1}, volume = {5, 6, 4};
  const auto semi = RegistrationVariant::semi_implicit, stencil = RegistrationVariant::explicit_;
  registered<T>(device, plane, {semi, Measure::ssd, true, 3, 0}, &bits);
  registered<T>(device, volume, {semi, Measure::ncc, true, 2, 0}, &bits);
  registered<T>(device, plane, {stencil, Measure::ssd, false, 2, 0}, &bits);
  if (!harness::kThreadSanitizer) {
    registered<T>(device, plane, {semi, Measure::ssd, true, 40, 0.5}, &bits);
    registered<T>(device, volume, {stencil, Measure::ncc, false, 2, 0}, &bits);
    others<T>(device, volume, &bits);
  }
  others<T>(device, plane, &bits);
  return bits;
}

/// All bits in forward, reverse and random order.
template <class T>
void orders(const char* name) {
  std::string expected;
  for (const char* order : kOrders) {
    const std::unique_ptr<Device> device = open_simt(order);
    const std::string bits = everything<T>(*device);
    if (expected.empty()) expected = bits;
    else check(bits == expected, std::string(name) + " in order " + order);
  }
}

/// The plain flow in float64, with sums of cosines.
class PlainFlow {
 public:
  explicit PlainFlow(const Grid& g) : g_(g), reference_(picture<double>(g, 0.7)), image_(picture<double>(g, 0)) {
    for (auto& component : u_) component.assign(reference_.size(), 0);
  }

  void step(double alpha, double tau) {
    std::vector<double> moved[3];
    for (int a = 0; a < dimensions_of(g_); ++a) moved[a].resize(reference_.size());
    for (int64_t i = 0; i < points_of(g_); ++i) {
      double at[3] = {static_cast<double>(i % g_.nx), static_cast<double>(i / g_.nx % g_.ny), static_cast<double>(i / (g_.nx * g_.ny))};
      for (int a = 0; a < dimensions_of(g_); ++a) at[a] += u_[a][static_cast<size_t>(i)];
      const double residual = reference_[static_cast<size_t>(i)] - value(at);
      for (int a = 0; a < dimensions_of(g_); ++a) {
        double before[3] = {at[0], at[1], at[2]}, after[3] = {at[0], at[1], at[2]};
        before[a] -= 1;
        after[a] += 1;
        moved[a][static_cast<size_t>(i)] = u_[a][static_cast<size_t>(i)] + tau * residual * 0.5 * (value(after) - value(before));
      }
    }
    for (int a = 0; a < dimensions_of(g_); ++a) u_[a] = smoothed(moved[a], alpha * tau);
  }
  const std::vector<double>& component(int axis) const { return u_[axis]; }

 private:
  double value(const double (&at)[3]) const {
    const int64_t extent[3] = {g_.nx, g_.ny, g_.nz};
    double sum = 0;
    for (int corner = 0; corner < 8; ++corner) {
      double weight = 1;
      int64_t index = 0, stride = 1;
      for (int a = 0; a < 3; ++a) {
        const double below = std::floor(at[a]);
        const bool upper = (corner >> a & 1) != 0;
        weight *= upper ? at[a] - below : 1 - (at[a] - below);
        const double place = std::fmin(std::fmax(below + (upper ? 1 : 0), 0), static_cast<double>(extent[a] - 1));
        index += static_cast<int64_t>(place) * stride;
        stride *= extent[a];
      }
      sum += weight * image_[static_cast<size_t>(index)];
    }
    return sum;
  }

  /// One axis of the orthonormal cosine transform, or of its inverse.
  static std::vector<double> transformed(const std::vector<double>& values, int64_t n, int64_t stride, bool inverse) {
    std::vector<double> result(values.size(), 0);
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t k = static_cast<int64_t>(i) / stride % n, base = static_cast<int64_t>(i) - k * stride;
      for (int64_t x = 0; x < n; ++x) {
        const int64_t wave = inverse ? x : k, point = inverse ? k : x;
        const double scale = std::sqrt((wave == 0 ? 1.0 : 2.0) / static_cast<double>(n));
        result[i] += values[static_cast<size_t>(base + x * stride)] * scale *
                     std::cos(M_PI * static_cast<double>((2 * point + 1) * wave) / static_cast<double>(2 * n));
      }
    }
    return result;
  }

  std::vector<double> smoothed(std::vector<double> values, double weight) const {
    const int64_t extent[3] = {g_.nx, g_.ny, g_.nz}, stride[3] = {1, g_.nx, g_.nx * g_.ny};
    for (int a = 0; a < 3; ++a) values = transformed(values, extent[a], stride[a], false);
    for (size_t i = 0; i < values.size(); ++i) {
      double lambda = 0;
      for (int a = 0; a < 3; ++a) {
        const int64_t k = static_cast<int64_t>(i) / stride[a] % extent[a];
        lambda += 2 - 2 * std::cos(M_PI * static_cast<double>(k) / static_cast<double>(extent[a]));
      }
      values[i] /= 1 + weight * lambda * lambda;
    }
    for (int a = 0; a < 3; ++a) values = transformed(values, extent[a], stride[a], true);
    return values;
  }

  Grid g_;
  std::vector<double> reference_, image_, u_[3];
};

void against_plain_flow(const Grid& g) {
  const std::unique_ptr<Device> device = open_simt("forward");
  std::string bits;
  const std::vector<double> u = registered<double>(*device, g, {RegistrationVariant::semi_implicit, Measure::ssd, false, 3, 0}, &bits, 2.5);
  PlainFlow plain(g);
  for (int i = 0; i < 3; ++i) plain.step(0.1, 2.5);
  double worst = 0, size = 0;
  for (int a = 0; a < dimensions_of(g); ++a) {
    for (size_t i = 0; i < plain.component(a).size(); ++i) {
      worst = std::fmax(worst, std::fabs(plain.component(a)[i] - u[static_cast<size_t>(a) * plain.component(a).size() + i]));
      size = std::fmax(size, std::fabs(plain.component(a)[i]));
    }
  }
  check(size > 0.01 && worst < 1e-12 * std::fmax(size, 1),
        "plain flow on " + std::to_string(g.nx) + " x " + std::to_string(g.ny) + " x " + std::to_string(g.nz),
        std::to_string(worst) + " of " + std::to_string(size));
}

}  // namespace
}  // namespace warploom::test

int main() {
  using namespace warploom::test;
  orders<double>("float64");
  if (!kSanitized) orders<float>("float32");
  for (const warploom::imaging::Grid& g : {warploom::imaging::Grid{9, 7, 1}, {12, 1, 1}, {5, 4, 6}, {16, 11, 1}}) {
    if (kSanitized && g.nx == 16) continue;
    against_plain_flow(g);
  }
  return harness::summary();
}
