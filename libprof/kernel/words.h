// Words of memory that a signal's handler or another thread may change, and registers that no C++ names.

#ifndef LIBPROF_WORDS_H
#define LIBPROF_WORDS_H

#include <stdint.h>

namespace libprof {

inline uint64_t thread_pointer() {
  uint64_t word;
  asm volatile("mov %%fs:0, %0" : "=r"(word));
  return word;
}

inline uint64_t time_stamp() {
  uint32_t low, high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return uint64_t(high) << 32 | low;
}

// One instruction each: a signal handler sees them done or not done. Other threads never write these words.
inline void add(uint64_t* p, uint64_t value) { asm volatile("addq %1, %0" : "+m"(*p) : "er"(value) : "cc", "memory"); }
// Whether it is 0 then.
inline bool increment_to_zero(uint32_t* p) {
  bool is_zero;
  asm volatile("incl %1" : "=@ccz"(is_zero), "+m"(*p) : : "memory");
  return is_zero;
}
template <class T>
inline bool exchange_if(T* p, T expected, T desired) {
  bool done;
  asm volatile("cmpxchg %3, %1" : "=@ccz"(done), "+m"(*p), "+a"(expected) : "r"(desired) : "memory");
  return done;
}
// The same for words that another thread may write.
template <class T>
inline bool exchange_if_shared(T* p, T expected, T desired) {
  return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}
// Keeps the compiler from moving stores; the processor keeps them in order by itself.
inline void ordered() { asm volatile("" ::: "memory"); }

template <class T>
inline T load(const T* p) {
  return *static_cast<const volatile T*>(p);
}
template <class T>
inline void store(T* p, T value) {
  *static_cast<volatile T*>(p) = value;
}

}  // namespace libprof

#endif
