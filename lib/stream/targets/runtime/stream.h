// What a compiled stream program and its runtime (stream.cpp) know of each other. Programs are printed (lib/stream/targets/cpp.ts) and
// include this file; the runtime is compiled once.
#pragma once

/// One kind of scalars of a channel: where they lie, and bytes of them in an item. In the order of the channels.
struct wl_array {
  void* data;
  int channel, bytes;
};

/// What each thread has of its own: by channel and stream the index of the next item that is read and written, turns that loops may yet
/// make, the arrays of channels.
struct wl_own {
  int* ix;
  double* steps;
  const wl_array* arrays;
};

/// External streams, numbered behind the channels.
enum class wl_role { input, output, reader, writer };

/// One kind of scalars of an external stream: its place among the external streams, and bytes of them in an item. Functions take the
/// addresses of all of them, in this order.
struct wl_stream {
  int external, bytes;
};

struct wl_program {
  int channels, externals, nodes, groups, arrays, streams;
  /// Steady states that can run in one go.
  int multiplicity;
  /// By channel: items on it at the start.
  const int* initial;
  /// By group: iterations in a steady state.
  const int* iterations;
  /// By site: lines that end with what it prints.
  const int* lines;
  const wl_role* roles;
  const wl_stream* of_streams;
  /// By node: the state of its random numbers.
  int* random;
  wl_own (*own)();
  /// Fires a node by its prework; false where it has none.
  bool (*first)(int node, void* const* streams);
  void (*fire)(int node, int n, void* const* streams);
  /// Iterations of a group: of programs for launches.
  void (*group)(int id, int n, void* const* streams);
  /// So many whole steady states: of all others.
  void (*steady)(int n, void* const* streams);
};

/// The programs of the file, defined by it.
extern const wl_program* const wl_programs[];
extern const int wl_program_count;

/// Raises the fault of a site.
[[noreturn]] void wl_trap(int site, double value);
/// Notes a value to be printed; prints those noted at a site.
void put(double value);
void print(int site);
/// Makes room for so many items more on a channel of this thread.
void room(int channel, int items, int capacity);
