// The paper's variants of swept.advance against a plain march, bit for bit: classic, classic-graph, shared, hybrid, register.
//   swept_paper [variant]
#include "test/device/support/operations.h"
#include "test/device/swept_matrix.h"

namespace warploom::test {
namespace {

/// Small sizes all, then around warps, nodes and blocks.
std::vector<int64_t> sizes(Equation equation, std::vector<int64_t> more) {
  if (harness::kThreadSanitizer) return {swept::least_points(equation), 8, 33, 70};
  std::vector<int64_t> all = sizes_up_to(equation, 40);
  if (harness::kAddressSanitizer) {  // the plain build has the others
    std::vector<int64_t> some;
    for (size_t i = 0; i < all.size(); i += i < 6 ? 1 : 4) some.push_back(all[i]);
    all = some;
  }
  for (const int64_t n : more) all.push_back(n);
  return all;
}

void classic(const Devices& devices) {
  for (const Variant variant : {Variant::classic, Variant::classic_graph}) {
    for (const Equation equation : kEquations) {
      Matrix m{variant, equation, sizes(equation, {63, 64, 65, 127, 257})};
      m.shapes = {{0, 2, 32}, {0, 7, 64}, {}};  // depth: of a graph
      m.most_updates = 1000;
      m.cases_per_size = kSanitized ? 1 : 3;
      run_matrices(devices, m);
    }
    cancel(*devices.device[0], variant, {}, 20, 300, variant == Variant::classic ? std::vector<int>{0, 1, 7} : std::vector<int>{0});
    find_bad_steps<double>(*devices.device[1], variant, {0, 0, 32}, 9, {Equation::heat, Equation::euler});
  }
}

void shared(const Devices& devices) {
  for (const Equation equation : kEquations) {
    Matrix m{Variant::shared, equation, sizes(equation, {61, 64, 67, 95, 96, 97, 128, 129, 191, 257, 512})};
    m.shapes = {{0, 0, 32}, {0, 0, 64}, {0, 1, 32}, {0, 2, 64}, {}};
    m.cases_per_size = kSanitized ? 1 : 4;
    run_matrices(devices, m);
  }
  cancel(*devices.device[2], Variant::shared, {0, 0, 32}, 101, 300, {0});
  find_bad_steps<double>(*devices.device[2], Variant::shared, {0, 0, 32}, 37, {Equation::heat, Equation::euler});
  find_bad_steps<double>(*devices.device[0], Variant::shared, {}, 7, {Equation::kuramoto_sivashinsky});
}

void by_warps(const Devices& devices) {
  for (const Equation equation : {Equation::heat, Equation::kuramoto_sivashinsky}) {
    Matrix m{Variant::register_, equation, sizes(equation, {63, 64, 65, 66, 95, 97, 127, 128, 131, 257, 512})};
    m.shapes = {{0, 0, 32}, {0, 0, 64}, {0, 1, 32}, {0, 2, 128}, {}};
    if (equation == Equation::heat) m.ends = {{Boundary::periodic, Boundary::periodic}};
    m.cases_per_size = kSanitized ? 1 : 4;
    m.most_updates = 25000;  // several phases of 16 steps
    run_matrices(devices, m);
    // As high as the paper's nodes of 32: n/2 levels of heat, four time steps of KS.
    Problem p;
    p.equation = equation;
    p.n = 96;
    Truth<double> truth(p, 3);
    const Outcome<double> outcome = judge<double>(*devices.device[0], p, {Variant::register_, 40}, truth, kOrders[0]);
    harness::check(outcome.depth() == (equation == Equation::heat ? 16 : 4), "steps of a phase", std::to_string(outcome.depth()));
  }
  cancel(*devices.device[1], Variant::register_, {0, 0, 32}, 101, 300, {0});
  find_bad_steps<double>(*devices.device[2], Variant::register_, {}, 70, {Equation::heat, Equation::kuramoto_sivashinsky});
  Problem p;
  p.n = 40;
  p.ends = {Boundary::reflective, Boundary::dirichlet};
  refuse(*devices.device[0], Variant::register_, p);
  p.equation = Equation::euler;
  refuse(*devices.device[0], Variant::register_, p);
}

void hybrid(const Devices& devices) {
  for (const Equation equation : {Equation::heat, Equation::euler}) {
    Matrix m{Variant::hybrid, equation, sizes(equation, {61, 64, 67, 95, 96, 97, 129, 191, 257, 512})};
    m.shapes = {{0, 0, 32}, {0, 0, 64}, {0, 1, 32}, {0, 2, 64}, {}};
    m.cases_per_size = kSanitized ? 1 : 4;
    run_matrices(devices, m);
  }
  cancel(*devices.device[1], Variant::hybrid, {0, 0, 32}, 101, 300, {0});
  find_bad_steps<double>(*devices.device[0], Variant::hybrid, {0, 0, 32}, 70, {Equation::heat, Equation::euler});
  Problem p;
  p.n = 40;
  p.equation = Equation::kuramoto_sivashinsky;
  refuse(*devices.device[0], Variant::hybrid, p);
}

struct Part {
  Variant variant;
  void (*run)(const Devices&);
};

}  // namespace
}  // namespace warploom::test

int main(int argc, char** argv) {
  using namespace warploom;
  using test::Part;
  const std::string wanted = argc > 1 ? argv[1] : "";
  const test::Devices devices;
  const Part parts[] = {{swept::Variant::classic, test::classic}, {swept::Variant::shared, test::shared},
                        {swept::Variant::register_, test::by_warps}, {swept::Variant::hybrid, test::hybrid}};
  for (const Part& part : parts) {
    if (wanted.empty() || wanted == swept::kVariantNames[static_cast<int>(part.variant)]) part.run(devices);
  }
  return harness::summary();
}
