// What every generated C++ program begins with: arithmetic as the intermediate representation has it, and the files of a run.
import { mostPrinted } from '../interpret/engine.ts';

export interface PreludeSizes {
  /** Floats are cut to ints somewhere. */
  readonly cuts: boolean;
  readonly streams: number;
  readonly externals: number;
  readonly nodes: number;
  /** Ends of channels at the start: first item and end, by channel. */
  readonly ends: readonly number[];
  readonly multiplicity: number;
  /** For several threads: each has ends of its own, and faults are thrown. */
  readonly isThreaded: boolean;
}

const arithmetic = `
[[noreturn]] static void wl_fail(int site, double value);
static inline int wl_add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
static inline int wl_sub(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
static inline int wl_mul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
static inline int wl_div(int a, int b, int site) { if (b == 0) wl_fail(site, a); return b == -1 ? wl_sub(0, a) : a / b; }
static inline int wl_rem(int a, int b, int site) { if (b == 0) wl_fail(site, a); return b == -1 ? 0 : a % b; }
static inline int wl_shl(int a, int b) { return (int)((unsigned)a << (b & 31)); }
static inline int wl_at(int i, int n, int site) { if (i < 0 || i >= n) wl_fail(site, i); return i; }
static inline int wl_abs(int a) { return a < 0 ? wl_sub(0, a) : a; }
static inline int wl_max(int a, int b) { return a > b ? a : b; }
static inline int wl_min(int a, int b) { return a < b ? a : b; }
template <class T> static inline T wl_max_of(T a, T b) { return a > b ? a : b > a ? b : a == b ? (std::signbit(a) ? b : a) : a != a
  ? a : b; }
template <class T> static inline T wl_min_of(T a, T b) { return a < b ? a : b < a ? b : a == b ? (std::signbit(a) ? a : b) : a != a
  ? a : b; }
static inline float wl_max(float a, float b) { return wl_max_of(a, b); }
static inline float wl_min(float a, float b) { return wl_min_of(a, b); }
static inline double wl_max(double a, double b) { return wl_max_of(a, b); }
static inline double wl_min(double a, double b) { return wl_min_of(a, b); }
static inline int wl_int(double a) { return a >= 2147483647.0 ? 2147483647 : a <= -2147483648.0 ? (-2147483647 - 1) : a != a ? 0 : (int)a; }
template <class T> static inline T wl_rint(T a) { return std::nearbyint(a); }
static inline double wl_pow(double a, double b) { return b != b || ((a == 1 || a == -1) && std::isinf(b)) ? __builtin_nan("") : pow(a, b); }
static inline unsigned wl_mix(int state) {
  const unsigned s = (unsigned)state;
  unsigned t = (s ^ (s >> 15)) * (1u | s);
  t = (t + (t ^ (t >> 7)) * (61u | t)) ^ t;
  return t ^ (t >> 14);
}
static inline float wl_unit(unsigned bits) { return (float)(bits >> 8) / 16777216.0f; }
static inline int wl_range(unsigned bits, int n, int site) {
  if (n <= 0) wl_fail(site, n);
  return (int)std::floor((double)bits / 4294967296.0 * n);
}
static inline double wl_hypot(double a, double b) { return hypot(a, b); }
static inline double wl_half_root(double a, double b) { return sqrt((sqrt(a * a + b * b) + fabs(a)) / 2); }
static inline double wl_csqrt_re(double r, double a, double b) { return r == 0 ? 0 : a >= 0 ? r : fabs(b) / (2 * r); }
static inline double wl_csqrt_im(double r, double a, double b) { return r == 0 ? 0 : a >= 0 ? b / (2 * r) : b < 0 ? -r : r; }
`.trim();

const files = `
static const long long wl_no_limit = 1LL << 60;
static struct {
  long long steady_states, lines, turns;
  int seed, init_steps, tail_steps;
  const long long* items;
  const int* init;
  const int* tail;
  const int* launches;
} wl_run;
static std::vector<char> wl_input;
static size_t wl_taken;
static const char* wl_result_path;
static double wl_nanoseconds;
static long long wl_lines;
static std::vector<double> wl_printed;
static const void* wl_bytes(size_t count) {
  if (wl_taken + count > wl_input.size()) exit(2);
  const void* at = wl_input.data() + wl_taken;
  wl_taken += (count + 63) / 64 * 64;
  return at;
}
template <class T> static T* wl_take(size_t count) { return (T*)wl_bytes(count * sizeof(T)); }
template <class T> static T* wl_make(size_t count) {
  T* made = (T*)calloc(count + 16, sizeof(T));
  // Touched, so that the clock does not count how the system finds memory.
  for (size_t at = 0; made != nullptr && at < count * sizeof(T); at += 4096) ((volatile char*)made)[at] = 0;
  return made;
}
static void wl_print(int site, std::initializer_list<double> values) {
  if (site < 0) return;
  if (wl_printed.size() > ${mostPrinted}) wl_fail(site, 0);
  wl_printed.push_back(site);
  wl_printed.push_back((double)values.size());
  wl_printed.insert(wl_printed.end(), values);
}
static int wl_finish(int status, int site, double value, void (*rest)(FILE*)) {
  FILE* file = fopen(wl_result_path, "wb");
  if (file == nullptr) return 2;
  const double head[8] = {(double)status, (double)site, value, wl_nanoseconds, (double)wl_printed.size(), (double)wl_lines, 0, 0};
  fwrite(head, sizeof(double), 8, file);
  fwrite(wl_printed.data(), sizeof(double), wl_printed.size(), file);
  if (rest != nullptr) rest(file);
  return fclose(file) == 0 ? 0 : 2;
}
template <class T> static void wl_front(T* items, int r, int w, int stride) {
  memmove(items, items + (size_t)r * stride, (size_t)(w - r) * stride * sizeof(T));
}
__attribute__((noinline)) static void wl_move(void* to, const void* from, size_t bytes) { memmove(to, from, bytes); }
__attribute__((noinline)) static void wl_to_front(void* items, int c, size_t size) {
  memmove(items, (char*)items + (size_t)wl_ix[2 * c] * size, (size_t)(wl_ix[2 * c + 1] - wl_ix[2 * c]) * size);
}
static inline void wl_room(int c, int need, int capacity, int* i, float* f, double* d, int ci, int cf, int cd) {
  const int r = wl_ix[2 * c], w = wl_ix[2 * c + 1];
  if (w + need <= capacity) return;
  if (ci > 0) wl_front(i, r, w, ci);
  if (cf > 0) wl_front(f, r, w, cf);
  if (cd > 0) wl_front(d, r, w, cd);
  wl_ix[2 * c] = 0;
  wl_ix[2 * c + 1] = w - r;
  if (w - r + need > capacity) wl_fail(-1, c);
}
static bool wl_open(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == nullptr || fseek(file, 0, SEEK_END) != 0) return false;
  wl_input.resize((size_t)ftell(file));
  rewind(file);
  const bool is_read = fread(wl_input.data(), 1, wl_input.size(), file) == wl_input.size();
  fclose(file);
  if (!is_read) return false;
  const long long* head = (const long long*)wl_bytes(8 * 8);
  wl_run.steady_states = head[0];
  wl_run.lines = head[1];
  wl_run.turns = head[2];
  wl_run.seed = (int)head[3];
  wl_run.init_steps = (int)head[4];
  wl_run.tail_steps = (int)head[5];
  wl_steps = wl_run.turns;
  wl_run.items = (const long long*)wl_bytes(8 * (wl_externals + 1));
  wl_run.init = (const int*)wl_bytes(8 * (size_t)wl_run.init_steps);
  wl_run.tail = (const int*)wl_bytes(8 * (size_t)wl_run.tail_steps);
  wl_run.launches = (const int*)wl_bytes(4 * (size_t)head[6]);
  for (int node = 0; node < wl_nodes; ++node) wl_rs[node] = (int)((unsigned)wl_run.seed + (unsigned)node);
  return true;
}`.trim();

/** Heads of the standard library, before all programs of a file. */
export const cppIncludes = ['algorithm', 'chrono', 'cmath', 'cstdio', 'cstdlib', 'cstring', 'initializer_list', 'vector']
  .map((name) => `#include <${name}>`).join('\n');

const failures = {
  alone: `[[noreturn]] static void wl_fail(int site, double value) { _Exit(wl_finish(1, site, value, nullptr)); }`,
  thrown: `struct wl_fault { int site; double value; };
[[noreturn]] static void wl_fail(int site, double value) { throw wl_fault{site, value}; }`,
};

/** The beginning of one program. */
export function cppPrelude({ cuts, streams, externals, nodes, ends, multiplicity, isThreaded }: PreludeSizes): string {
  const own = isThreaded ? 'static thread_local' : 'static';
  return `static const int wl_externals = ${externals}, wl_nodes = ${nodes}, wl_multiplicity = ${multiplicity};
${own} int wl_ix[${Math.max(2 * streams, 1)}] = {${ends.join(', ')}};
static int wl_it[${Math.max(nodes, 1)}], wl_rs[${Math.max(nodes, 1)}];
${own} int wl_fired[${Math.max(nodes, 1)}];
${own} long long wl_steps;
// GCC makes (float)(int)x one truncation, which gives -0 where the int was 0; a zero that it cannot see keeps it from that.
static ${cuts ? 'volatile' : 'const'} int wl_zero = 0;
${arithmetic}
${files}
${isThreaded ? failures.thrown : failures.alone}`;
}
