// Transfers in flight of a device that plays one with memory of its own: the host sees their effects as late as it may.
#pragma once
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

namespace warploom::simt {

class Transfers {
 public:
  /// A copy to the device, already made, whose host memory must stay as it is until `order`.
  void up(int64_t order, const void* host, int64_t bytes) {
    const auto* const begin = static_cast<const unsigned char*>(host);
    copies_.push_back({order, const_cast<void*>(host), {begin, begin + bytes}, false});
  }
  /// A copy from the device; `late`: it reads only when it must. In device order, earlier uploads from this host memory
  /// have completed. False if such memory has changed.
  bool down(int64_t order, void* host, const void* device, int64_t bytes, bool late) {
    bool unchanged = true;
    for (Copy& copy : copies_) {
      const bool apart = static_cast<char*>(copy.host) + copy.contents.size() <= static_cast<char*>(host) ||
                         static_cast<char*>(host) + bytes <= static_cast<char*>(copy.host);
      if (copy.is_down || apart) continue;
      unchanged = end(copy) && unchanged;
      copy.contents.clear();
    }
    copies_.push_back({order, host, {}, true, static_cast<const unsigned char*>(device), static_cast<size_t>(bytes)});
    if (!late) read(copies_.back());
    std::memset(host, kUnderWay, static_cast<size_t>(bytes));
    return unchanged;
  }
  /// Whether a copy has yet to read this device memory.
  bool reads(const unsigned char* memory, int64_t bytes) const {
    for (const Copy& copy : copies_) {
      if (copy.source >= memory && copy.source < memory + bytes) return true;
    }
    return false;
  }
  /// All copies read what they have not read yet.
  void read_all() {
    for (Copy& copy : copies_) read(copy);
  }
  /// Ends the copies up to a mark. False if host memory has changed on its way to the device.
  bool end(int64_t order) {
    bool unchanged = true;
    for (; !copies_.empty() && copies_.front().order <= order; copies_.pop_front()) unchanged = end(copies_.front()) && unchanged;
    return unchanged;
  }

 private:
  static constexpr unsigned char kUnderWay = 0xee;  // what the host sees of an unfinished download
  struct Copy {
    int64_t order;  // of the mark after it
    void* host;
    std::vector<unsigned char> contents;  // what it has read
    bool is_down;
    const unsigned char* source = nullptr;  // what a download has yet to read
    size_t bytes = 0;
  };
  static void read(Copy& copy) {
    if (copy.source != nullptr) copy.contents.assign(copy.source, copy.source + copy.bytes);
    copy.source = nullptr;
  }
  static bool end(Copy& copy) {
    read(copy);
    if (copy.contents.empty()) return true;
    if (!copy.is_down) return std::memcmp(copy.host, copy.contents.data(), copy.contents.size()) == 0;
    std::memcpy(copy.host, copy.contents.data(), copy.contents.size());
    return true;
  }

  std::deque<Copy> copies_;
};

}  // namespace warploom::simt
