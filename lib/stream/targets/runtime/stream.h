// The interface between a compiled stream program and its runtime (stream.cpp). Printed programs (lib/stream/targets/cpp.ts) include this
// file; the runtime is compiled once.
#pragma once

/// The scalars of one kind on a channel: their address, and their bytes in each item. Sorted by channel.
struct wl_array {
  void* data;
  int channel, bytes;
};

/// What each thread has of its own: the indices of the next items to read and write, by channel and stream; the remaining iterations of
/// loops with unknown trip counts; the arrays of the channels.
struct wl_own {
  int* ix;
  double* steps;
  const wl_array* arrays;
};

/// External streams, numbered after the channels.
enum class wl_role { input, output, reader, writer };

/// The scalars of one kind in an external stream: the number of the stream among the external ones, and their bytes in each item. Functions
/// take the addresses of all of them, in this order.
struct wl_stream {
  int external, bytes;
};

struct wl_program {
  int channels, externals, nodes, groups, arrays, streams;
  /// The maximum number of steady states in one call.
  int multiplicity;
  /// By channel: initial items.
  const int* initial;
  /// By group: iterations per steady state.
  const int* iterations;
  /// By site: lines completed by what it prints.
  const int* lines;
  const wl_role* roles;
  const wl_stream* of_streams;
  /// By node: state of the random number generator.
  int* random;
  wl_own (*own)();
  /// Fires a node's prework; returns false if it has none.
  bool (*first)(int node, void* const* streams);
  void (*fire)(int node, int n, void* const* streams);
  /// Runs iterations of a group; only in programs for launches.
  void (*group)(int id, int n, void* const* streams);
  /// Runs whole steady states; in all other programs.
  void (*steady)(int n, void* const* streams);
};

/// The programs, defined by the printed file.
extern const wl_program* const wl_programs[];
extern const int wl_program_count;

/// Raises the fault of a site.
[[noreturn]] void wl_trap(int site, double value);
/// `put` queues a value for printing; `print` prints the queued values at a site.
void put(double value);
void print(int site);
/// Makes room for `items` more items on a channel of this thread.
void room(int channel, int items, int capacity);
