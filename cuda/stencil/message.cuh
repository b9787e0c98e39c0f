// Numbers of cells as messages between blocks.
#pragma once
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

template <class T>
WARPLOOM_DEVICE device::Message message_of(const T& value, unsigned int tag) {
  constexpr int kWords = sizeof(T) / 4;
  unsigned int words[kWords];
  memcpy(words, &value, sizeof(T));
  return {{words[0], kWords > 1 ? words[kWords - 1] : 0u, 0u}, tag};
}
template <class T>
WARPLOOM_DEVICE T value_of(const device::Message& message) {
  unsigned int words[sizeof(T) / 4];
  WARPLOOM_UNROLL
  for (int i = 0; i < static_cast<int>(sizeof(T) / 4); ++i) words[i] = message.word[i];
  T value;
  memcpy(&value, words, sizeof(T));
  return value;
}

}  // namespace warploom::WARPLOOM_TARGET::stencil
