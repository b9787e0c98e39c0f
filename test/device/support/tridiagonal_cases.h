// Cases of the tridiagonal operations on diagonally dominant systems.
#pragma once
#include "test/device/support/tridiagonal_batches.h"

namespace cases {

template <class T>
std::string run_solve_case(tridiagonal::SolveParameters p, Device& device, std::string* digest) {
  const HostBatch<T> host(p.n, p.batch, p.structure == tridiagonal::Structure::positive_definite);
  const DeviceBatch<T> on(device, host);
  set_matrix(p, host, on);
  OnDevice<double> error(device, static_cast<size_t>(p.batch));
  tridiagonal::SolveReport report;
  p.rhs = view_of(on.rhs, p.n);
  p.solution = view_of(on.solution, p.n);
  p.status = {on.status.data(), on.status.length()};
  p.row = {on.row.data(), on.row.length()};
  p.report = &report;
  if (p.check) p.backward_error = {error.data(), error.length()};
  const std::string failure = run_operation(device, simt_backend().operations.tridiagonal_solve, p);
  if (!failure.empty()) return failure;
  if (p.check) {
    for (const double value : error.host()) {
      if (!(value <= 1e-5)) return "backward error " + std::to_string(value);
    }
    digest_of(error.host(), digest);
  }
  return judge(host, on, p.periodic, p.transpose != tridiagonal::Transpose::none, digest);
}

/// One system with a NaN on its right-hand side: its words say where, the others are solved.
inline std::string run_poisoned_case(tridiagonal::SolveParameters p, Device& device, std::string* digest) {
  HostBatch<double> host(p.n, p.batch, false);
  const int64_t system = p.batch / 2, row = p.n - 2;
  host.rhs[static_cast<size_t>(system * p.n + row)] = std::nan("");
  const DeviceBatch<double> on(device, host);
  set_matrix(p, host, on);
  p.rhs = view_of(on.rhs, p.n);
  p.solution = view_of(on.solution, p.n);
  p.status = {on.status.data(), on.status.length()};
  p.row = {on.row.data(), on.row.length()};
  const std::string failure = run_operation(device, simt_backend().operations.tridiagonal_solve, p);
  if (!failure.empty()) return failure;
  digest_of(on.status.host(), digest);
  digest_of(on.row.host(), digest);
  for (int64_t s = 0; s < p.batch; ++s) {
    const int32_t status = on.status.host()[static_cast<size_t>(s)], at = on.row.host()[static_cast<size_t>(s)];
    const bool right = s == system ? status == static_cast<int32_t>(tridiagonal::SystemStatus::non_finite) && at == row
                                   : status == 0 && at == -1;
    if (!right) return "system " + std::to_string(s) + " has status " + std::to_string(status) + " row " + std::to_string(at);
  }
  return {};
}

/// In place, with a NaN in every third right-hand side: those systems say where, the others are as ever.
template <class T>
std::string run_faulty_case(tridiagonal::SolveParameters p, Device& device, std::string* digest) {
  HostBatch<T> host(p.n, p.batch, false);
  const auto bad_row = [&](int64_t s) { return s % 3 == 1 ? (s * 101 + p.n - 2) % p.n : -1; };
  std::vector<T> rhs = host.rhs;
  for (int64_t s = 1; s < p.batch; s += 3) rhs[static_cast<size_t>(s * p.n + bad_row(s))] = T(NAN);
  std::swap(rhs, host.rhs);
  const DeviceBatch<T> on(device, host);
  std::swap(rhs, host.rhs);
  set_matrix(p, host, on);
  p.rhs = p.solution = view_of(on.rhs, p.n);
  p.status = {on.status.data(), on.status.length()};
  p.row = {on.row.data(), on.row.length()};
  const std::string failure = run_operation(device, simt_backend().operations.tridiagonal_solve, p);
  if (!failure.empty()) return failure;
  const std::vector<T> x = on.rhs.host();
  const std::vector<int32_t> status = on.status.host(), row = on.row.host();
  digest_of(status, digest);
  digest_of(row, digest);
  for (int64_t s = 0; s < p.batch; ++s) {
    const auto at = static_cast<size_t>(s);
    if (row[at] != bad_row(s)) return "system " + std::to_string(s) + " reports row " + std::to_string(row[at]);
    if ((status[at] & 0xff) != (bad_row(s) < 0 ? 0 : 2)) return "system " + std::to_string(s) + " has status " + std::to_string(status[at]);
    for (int64_t i = 0; bad_row(s) < 0 && i < p.n; ++i) {
      const T residual = host.product(x, s, i, false, false) - host.at(host.rhs, s, i);
      if (!(std::abs(residual) <= residual_limit<T>())) return "system " + std::to_string(s) + " is wrong";
    }
  }
  return {};
}

template <class T>
std::string run_factor_case(tridiagonal::FactorParameters p, Device& device, std::string* digest) {
  const HostBatch<T> host(p.n, p.batch, p.structure == tridiagonal::Structure::positive_definite);
  const DeviceBatch<T> on(device, host);
  set_matrix(p, host, on);
  OnDevice<uint8_t> factors(device, static_cast<size_t>(tridiagonal::factor_bytes(p.type, p.n, p.batch, p.periodic, p.factorisation)));
  p.factors = {factors.data(), factors.length()};
  p.status = {on.status.data(), on.status.length()};
  p.row = {on.row.data(), on.row.length()};
  std::string failure = run_operation(device, simt_backend().operations.tridiagonal_factor, p);
  if (!failure.empty()) return "factor: " + failure;
  tridiagonal::SolveFactoredParameters q;
  q.type = p.type;
  q.n = p.n;
  q.batch = p.batch;
  q.periodic = p.periodic;
  q.factorisation = p.factorisation;
  q.factors = {factors.data(), factors.length()};
  q.rhs = view_of(on.rhs, p.n);
  q.solution = view_of(on.solution, p.n);
  q.status = {on.status.data(), on.status.length()};
  failure = run_operation(device, simt_backend().operations.tridiagonal_solve_factored, q);
  if (!failure.empty()) return "solve_factored: " + failure;
  return judge(host, on, p.periodic, false, digest);
}

/// One matrix and more right-hand sides than blocks, in place: blocks take several in turn. `bad_row` >= 0: every third has a NaN
/// there, for which rows are read again before a neighbour writes over them.
inline std::string run_many_rhs_case(int64_t n, bool periodic, int64_t bad_row, Device& device, std::string* digest) {
  const int64_t count = 70;
  const auto is_bad = [=](int64_t side) { return bad_row >= 0 && side % 3 == 1; };
  HostBatch<double> host(n, count, false);
  const std::vector<double> good = host.rhs;
  for (int64_t r = 0; r < count; ++r) {
    if (is_bad(r)) host.rhs[static_cast<size_t>(r * n + bad_row)] = NAN;
  }
  const DeviceBatch<double> on(device, host);
  tridiagonal::FactorParameters p;
  set_matrix(p, host, on);
  p.batch = 1, p.periodic = periodic;
  for (View* const band : {&p.lower, &p.diagonal, &p.upper}) band->extents[0] = 1;
  OnDevice<uint8_t> factors(device, static_cast<size_t>(tridiagonal::factor_bytes(p.type, n, 1, periodic, p.factorisation)));
  p.factors = {factors.data(), factors.length()};
  std::string failure = run_operation(device, simt_backend().operations.tridiagonal_factor, p);
  if (!failure.empty()) return "factor: " + failure;
  tridiagonal::SolveFactoredParameters q;
  q.type = p.type;
  q.n = n;
  q.batch = 1, q.rhs_count = count;
  q.periodic = periodic;
  q.factors = {factors.data(), factors.length()};
  q.rhs = view_of(on.rhs, n);
  lay_out(&q.rhs, {1, count, n});
  q.solution = q.rhs;
  q.status = {on.status.data(), count};
  q.row = {on.row.data(), count};
  failure = run_operation(device, simt_backend().operations.tridiagonal_solve_factored, q);
  if (!failure.empty()) return "solve_factored: " + failure;
  const std::vector<double> x = on.rhs.host();
  const std::vector<int32_t> status = on.status.host(), row = on.row.host();
  digest_of(status, digest);
  digest_of(row, digest);
  for (int64_t r = 0; r < count; ++r) {
    const auto at = static_cast<size_t>(r);
    if (status[at] != (is_bad(r) ? 2 : 0) || row[at] != (is_bad(r) ? bad_row : -1)) {
      return "right-hand side " + std::to_string(r) + ": status " + std::to_string(status[at]) + ", row " + std::to_string(row[at]);
    }
    if (is_bad(r)) continue;
    const std::vector<double> own(x.begin() + r * n, x.begin() + (r + 1) * n);
    for (int64_t i = 0; i < n; ++i) {
      const double residual = host.product(own, 0, i, periodic, false) - good[static_cast<size_t>(r * n + i)];
      if (!(std::abs(residual) <= residual_limit<double>())) return "right-hand side " + std::to_string(r) + " is wrong";
    }
  }
  return {};
}

template <class T>
std::string run_multiply_case(tridiagonal::MultiplyParameters p, Device& device, std::string* digest) {
  const HostBatch<T> host(p.n, p.batch, p.structure == tridiagonal::Structure::positive_definite);
  const DeviceBatch<T> on(device, host);
  set_matrix(p, host, on);
  p.x = view_of(on.rhs, p.n);
  p.y = view_of(on.solution, p.n);
  const std::string failure = run_operation(device, simt_backend().operations.tridiagonal_multiply, p);
  if (!failure.empty()) return failure;
  const std::vector<T> y = on.solution.host();
  digest_of(y, digest);
  for (int64_t s = 0; s < p.batch; ++s) {
    for (int64_t i = 0; i < p.n; ++i) {
      const T expected = host.product(host.rhs, s, i, p.periodic, p.transpose != tridiagonal::Transpose::none);
      if (!(std::abs(host.at(y, s, i) - expected) <= residual_limit<T>())) return "row " + std::to_string(i) + " is wrong";
    }
  }
  return {};
}

template <class T>
std::string run_condition_case(tridiagonal::ConditionParameters p, Device& device, std::string* digest) {
  const HostBatch<T> host(p.n, p.batch, false);
  const DeviceBatch<T> on(device, host);
  set_matrix(p, host, on);
  OnDevice<double> reciprocal(device, static_cast<size_t>(p.batch));
  p.reciprocal_condition = {reciprocal.data(), reciprocal.length()};
  const std::string failure = run_operation(device, simt_backend().operations.tridiagonal_condition, p);
  if (!failure.empty()) return failure;
  digest_of(reciprocal.host(), digest);
  for (const double value : reciprocal.host()) {  // dominance by 3.25 against 2: the condition number is below 8
    if (!(value > 0.1 && value <= 1.0)) return "reciprocal condition " + std::to_string(value);
  }
  return {};
}

template <class Parameters>
std::string text_of(const char* operation, const Parameters& p, const std::string& suffix) {
  return std::string(operation) + " " + kScalarTypeNames[static_cast<int>(p.type)] + " " + std::to_string(p.batch) + "x" +
         std::to_string(p.n) + (p.periodic ? " periodic" : "") + suffix;
}

template <class T>
void add_solve_case(std::vector<Case>* all, const tridiagonal::SolveParameters& p, bool quick) {
  const std::string name = text_of("solve", p, std::string(" ") + tridiagonal::kAlgorithmNames[static_cast<int>(p.algorithm)] +
      (p.depth != 0 ? " depth=" + std::to_string(p.depth) : "") + (p.stable ? " stable" : "") + (p.check ? " check" : "") +
      (p.refine ? " refine" : "") + (p.transpose != tridiagonal::Transpose::none ? " transpose" : "") +
      (p.structure == tridiagonal::Structure::positive_definite ? " positive-definite" : ""));
  all->push_back({name, quick, [p](Device& device, std::string* digest) { return run_solve_case<T>(p, device, digest); }});
}

template <class T>
void add_algorithm_cases(std::vector<Case>* all, tridiagonal::Algorithm algorithm, int depth, const std::vector<int64_t>& sizes) {
  int turn = static_cast<int>(scalar_type<T>());
  for (const int64_t n : sizes) {
    // Under AddressSanitizer each element type takes every second size, the quick ones apart.
    if (kAddressSelection && scalar_type<T>() != ScalarType::float64 && ++turn % 2 != 0) continue;
    tridiagonal::SolveParameters p;
    p.type = scalar_type<T>();
    p.algorithm = algorithm;
    p.depth = depth;
    p.n = n;
    p.batch = n < 200 ? 5 : 2;
    const bool quick = scalar_type<T>() == ScalarType::float64 && (n == 17 || n == 37 || n == 300 || n == 301 || n == 1030);
    add_solve_case<T>(all, p, quick);
    if (n != 37 && n != 300 && n != 301) continue;
    p.batch = n == 37 ? 220 : 20;  // several systems for every warp and block: what one leaves, the next finds
    add_solve_case<T>(all, p, quick);
    all->push_back({all->back().name + " in place, with NaN", quick,
                    [p](Device& device, std::string* digest) { return run_faulty_case<T>(p, device, digest); }});
  }
}

template <class T>
void add_typed_cases(std::vector<Case>* all) {
  using tridiagonal::Algorithm;
  const std::vector<int64_t> sizes = {1, 2, 3, 17, 37, 64, 129, 300, 513};
  for (const Algorithm a : {Algorithm::automatic, Algorithm::cr, Algorithm::pcr, Algorithm::cr_pcr, Algorithm::pcr_thomas,
                            Algorithm::thomas, Algorithm::pivoting}) {
    add_algorithm_cases<T>(all, a, 0, sizes);
  }
  for (const int depth : {0, 2, 4, 8, 16, 32}) add_algorithm_cases<T>(all, Algorithm::cr_regpack, depth, sizes);
  add_algorithm_cases<T>(all, Algorithm::cr_regpack, 4, {301});  // no whole vectors: through the stage, by blocks
  add_algorithm_cases<T>(all, Algorithm::partition, 0, {300, 1030, 20000});
  tridiagonal::SolveParameters p;
  p.type = scalar_type<T>();
  p.n = 37;
  p.batch = 3;
  const bool quick = scalar_type<T>() == ScalarType::float64;
  for (int feature = 0; feature < 6; ++feature) {
    tridiagonal::SolveParameters q = p;
    q.stable = feature == 0;
    q.check = feature == 1;
    q.periodic = feature == 2;
    if (feature == 3) q.transpose = tridiagonal::Transpose::transpose;
    if (feature == 4) q.structure = tridiagonal::Structure::positive_definite;
    q.refine = feature == 5;
    if (q.refine && sizeof(typename RealPart<T>::Type) == 8) continue;
    add_solve_case<T>(all, q, quick || q.refine);
  }
  tridiagonal::SolveParameters cyclic = p;  // fills its lanes
  cyclic.periodic = true;
  cyclic.n = 64;
  cyclic.batch = 220;
  add_solve_case<T>(all, cyclic, quick);
  for (const int64_t n : {1, 2, 37, 300}) {
    for (int kind = 0; kind < 3; ++kind) {
      tridiagonal::FactorParameters f;
      f.type = scalar_type<T>();
      f.n = n;
      f.batch = 3;
      f.factorisation = static_cast<tridiagonal::Factorisation>(kind);
      if (kind == 2) f.structure = tridiagonal::Structure::positive_definite;
      all->push_back({text_of("factor", f, std::string(" ") + tridiagonal::kFactorisationNames[kind]), quick && n == 37,
                      [f](Device& device, std::string* digest) { return run_factor_case<T>(f, device, digest); }});
    }
    for (int kind = 0; kind < 3; ++kind) {
      tridiagonal::MultiplyParameters m;
      m.type = scalar_type<T>();
      m.n = n;
      m.batch = 3;
      m.periodic = kind == 1;
      if (kind == 2) m.transpose = tridiagonal::Transpose::transpose;
      all->push_back({text_of("multiply", m, kind == 2 ? " transpose" : ""), quick && n == 37,
                      [m](Device& device, std::string* digest) { return run_multiply_case<T>(m, device, digest); }});
    }
    tridiagonal::ConditionParameters c;
    c.type = scalar_type<T>();
    c.n = n;
    c.batch = 3;
    all->push_back({text_of("condition", c, ""), quick && n == 37,
                    [c](Device& device, std::string* digest) { return run_condition_case<T>(c, device, digest); }});
  }
}

inline void add_poisoned_cases(std::vector<Case>* all) {
  using tridiagonal::Algorithm;
  tridiagonal::SolveParameters tiled;  // larger than a block holds
  tiled.type = ScalarType::float64;
  tiled.algorithm = Algorithm::pcr_thomas;
  tiled.n = 5000;
  tiled.batch = 1;
  add_solve_case<double>(all, tiled, true);
  tiled.algorithm = Algorithm::pivoting;  // several segments, as the factored solve below
  add_solve_case<double>(all, tiled, true);
  tiled.n = 600;  // several warps judge one system
  tiled.batch = 3;
  add_solve_case<double>(all, tiled, true);
  tiled.algorithm = Algorithm::partition;
  tiled.n = 720;
  tiled.batch = 8;  // the last one with a NaN in row 705: the second warp finds it, after all other barriers
  all->push_back({text_of("solve", tiled, " partition in place, with NaN"), true,
                  [tiled](Device& device, std::string* digest) { return run_faulty_case<double>(tiled, device, digest); }});
  tridiagonal::FactorParameters f;
  f.type = ScalarType::float64;
  f.n = 5000;
  f.batch = 1;
  all->push_back({text_of("factor", f, " regpack"), true,
                  [f](Device& device, std::string* digest) { return run_factor_case<double>(f, device, digest); }});
  all->push_back({"factor float64 1x37 periodic, 70 right-hand sides, with NaN", true,
                  [](Device& device, std::string* digest) { return run_many_rhs_case(37, true, 30, device, digest); }});
  // Two warps of vectors each, the second of them with few rows.
  all->push_back({"factor float64 1x300, 70 right-hand sides, with NaN", true,
                  [](Device& device, std::string* digest) { return run_many_rhs_case(300, false, 260, device, digest); }});
  for (const Algorithm a : {Algorithm::cr, Algorithm::pcr, Algorithm::cr_pcr, Algorithm::pcr_thomas, Algorithm::thomas,
                            Algorithm::cr_regpack, Algorithm::partition, Algorithm::pivoting}) {
    for (const int64_t n : {37, 1030}) {
      tridiagonal::SolveParameters p;
      p.algorithm = a;
      p.n = n;
      p.batch = 3;
      all->push_back({text_of("solve", p, std::string(" poisoned ") + tridiagonal::kAlgorithmNames[static_cast<int>(a)]),
                      n == 37, [p](Device& device, std::string* digest) { return run_poisoned_case(p, device, digest); }});
    }
  }
}

inline void add_tridiagonal_cases(std::vector<Case>* all) {
  add_poisoned_cases(all);
  add_typed_cases<double>(all);
  add_typed_cases<float>(all);
  add_typed_cases<std::complex<float>>(all);
  add_typed_cases<std::complex<double>>(all);
}

}  // namespace cases
