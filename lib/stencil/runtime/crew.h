// Threads of a run.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace wl_stencil {

/// Threads that work on the tiles of one pass after the other.
class Crew {
 public:
  explicit Crew(int threads) : threads_(threads) {
    for (int i = 1; i < threads; ++i) {
      try {
        others_.emplace_back([this, i] { serve(i); });
      } catch (const std::system_error&) {
        break;  // the threads that there are do the work
      }
    }
  }

  /// Calls `work` for every number below `count`, with the number of the thread that does it.
  template <class Work>
  void run(int count, const Work& work) {
    const auto each = [&](int thread) {
      for (int i; (i = next_.fetch_add(1)) < count;) work(i, thread);
    };
    next_ = 0;
    if (others_.empty() || count < 2) {
      each(0);
      return;
    }
    Caller<decltype(each)> caller{each};
    {
      std::lock_guard<std::mutex> lock(mutex_);
      call_ = &caller;
      busy_ = (int)others_.size();
      ++round_;
    }
    begin_.notify_all();
    each(0);
    for (int i = 0; i < kSpins && busy_ > 0; ++i) std::this_thread::yield();
    std::unique_lock<std::mutex> lock(mutex_);
    end_.wait(lock, [this] { return busy_ == 0; });
  }

  ~Crew() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
      ++round_;
    }
    begin_.notify_all();
    for (std::thread& each : others_) each.join();
  }

  int threads() const { return (int)others_.size() + 1; }

 private:
  static constexpr int kSpins = 200;

  struct AnyCaller {
    virtual void call(int thread) const = 0;
    virtual ~AnyCaller() = default;
  };
  template <class F>
  struct Caller final : AnyCaller {
    const F& f;
    explicit Caller(const F& given) : f(given) {}
    void call(int thread) const override { f(thread); }
  };

  void serve(int thread) {
    for (long long seen = 0;;) {
      for (int i = 0; i < kSpins && round_ == seen; ++i) std::this_thread::yield();
      std::unique_lock<std::mutex> lock(mutex_);
      begin_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
      if (is_over_) return;
      const AnyCaller* const call = call_;
      lock.unlock();
      call->call(thread);
      if (busy_.fetch_sub(1) == 1) {
        lock.lock();
        end_.notify_one();
      }
    }
  }

  int threads_;
  std::vector<std::thread> others_;
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  std::atomic<long long> round_{0};
  std::atomic<int> next_{0}, busy_{0};
  const AnyCaller* call_ = nullptr;
  bool is_over_ = false;
};

}  // namespace wl_stencil
