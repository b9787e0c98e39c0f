// Counting checks, and child processes for what a sanitizer ends.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace harness {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
inline constexpr int kRaceExit = 66;     ///< exit code of a child that TSan ended
inline constexpr int kAddressExit = 67;  ///< of one that ASan ended
inline constexpr unsigned int kChildSeconds = 120;

struct Counts {
  int passed = 0, failed = 0, skipped = 0;
};
inline Counts& counts() {
  static Counts counts;
  return counts;
}

inline void check(bool condition, const std::string& what, const std::string& detail = {}) {
  if (condition) {
    ++counts().passed;
    return;
  }
  ++counts().failed;
  std::printf("FAILED %s%s%s\n", what.c_str(), detail.empty() ? "" : ": ", detail.c_str());
  std::fflush(stdout);
}
inline void skip(const std::string& what, const std::string& why) {
  ++counts().skipped;
  std::printf("skipped %s: %s\n", what.c_str(), why.c_str());
}
/// Prints the totals; the program's exit code.
inline int summary() {
  std::printf("%d passed, %d failed, %d skipped\n", counts().passed, counts().failed, counts().skipped);
  return counts().failed == 0 && counts().passed > 0 ? 0 : 1;
}

struct ChildResult {
  int exit_code = -1;  ///< -1: killed by a signal
  int signal = 0;
  std::string output;  ///< what the function returned through `out`
};

/// Runs `body` in a child process. Its return value is the exit code, `out` comes back. TSan sees nothing in children
/// of a process that has fibers, so a TSan program does all its device work in children.
inline ChildResult in_child(const std::function<int(std::string* out)>& body, bool quiet = false) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  std::fflush(stdout);
  std::fflush(stderr);
  const pid_t child = fork();
  if (child < 0) std::abort();
  if (child == 0) {
    close(ends[0]);
    if (quiet && freopen("/dev/null", "w", stderr) == nullptr) _exit(99);
    alarm(kChildSeconds);
    std::string out;
    const int code = body(&out);
    size_t at = 0;
    while (at < out.size()) {
      const ssize_t written = write(ends[1], out.data() + at, out.size() - at);
      if (written <= 0) _exit(99);
      at += static_cast<size_t>(written);
    }
    std::fflush(stdout);
    _exit(code);
  }
  close(ends[1]);
  ChildResult result;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    result.output.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  int state = 0;
  while (waitpid(child, &state, 0) < 0) {
  }
  if (WIFEXITED(state)) result.exit_code = WEXITSTATUS(state);
  if (WIFSIGNALED(state)) result.signal = WTERMSIG(state);
  return result;
}

}  // namespace harness

#if defined(__SANITIZE_THREAD__)
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "halt_on_error=1:exitcode=66:report_signal_unsafe=0:history_size=4";
}
#endif
#if defined(__SANITIZE_ADDRESS__)
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "exitcode=67:detect_leaks=1:detect_stack_use_after_return=0";
}
#endif
