// Keeps the addon loadable with glibc 2.28. The linker takes the newest version of a symbol, although older systems have
// the function too; so it is told to route calls of these functions (--wrap, for the CUDA runtime's as well) through the
// jumps below, which name the version that every system has. CMakeLists.txt reads the list from this file, and
// scripts/check-addon.mjs says which symbols are missing in it.
#ifdef WARPLOOM_OLD_GLIBC
#include <cerrno>
#include <ctime>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define WARPLOOM_FIRST "GLIBC_2.2.5"
#define WARPLOOM_FIRST_DLMOPEN "GLIBC_2.3.4"
#define WARPLOOM_JUMP(name) "jmp *" name "@GOTPCREL(%rip)\n"
#elif defined(__aarch64__)
#define WARPLOOM_FIRST "GLIBC_2.17"
#define WARPLOOM_FIRST_DLMOPEN WARPLOOM_FIRST
#define WARPLOOM_JUMP(name) "adrp x16, :got:" name "\nldr x16, [x16, :got_lo12:" name "]\nbr x16\n"
#endif

#define WARPLOOM_OLD_AS(name, version)                                                                        \
  __asm__(".symver warploom_old_" #name ", " #name "@" version "\n.pushsection .text." #name ", \"ax\", %progbits\n" \
          ".globl __wrap_" #name "\n.hidden __wrap_" #name "\n.type __wrap_" #name ", %function\n"               \
          "__wrap_" #name ":\n" WARPLOOM_JUMP("warploom_old_" #name)                                             \
          ".size __wrap_" #name ", . - __wrap_" #name "\n.popsection");
#define WARPLOOM_OLD(name) WARPLOOM_OLD_AS(name, WARPLOOM_FIRST)

WARPLOOM_OLD(__pthread_key_create)
WARPLOOM_OLD(dladdr)
WARPLOOM_OLD(dlclose)
WARPLOOM_OLD(dlerror)
WARPLOOM_OLD_AS(dlmopen, WARPLOOM_FIRST_DLMOPEN)
WARPLOOM_OLD(dlopen)
WARPLOOM_OLD(dlsym)
WARPLOOM_OLD(dlvsym)
WARPLOOM_OLD(pthread_condattr_setpshared)
WARPLOOM_OLD(pthread_create)
WARPLOOM_OLD(pthread_detach)
WARPLOOM_OLD(pthread_getspecific)
WARPLOOM_OLD(pthread_join)
WARPLOOM_OLD(pthread_key_create)
WARPLOOM_OLD(pthread_key_delete)
WARPLOOM_OLD(pthread_kill)
WARPLOOM_OLD(pthread_mutex_trylock)
WARPLOOM_OLD(pthread_mutexattr_destroy)
WARPLOOM_OLD(pthread_mutexattr_init)
WARPLOOM_OLD(pthread_mutexattr_setpshared)
WARPLOOM_OLD(pthread_mutexattr_settype)
WARPLOOM_OLD(pthread_once)
WARPLOOM_OLD(pthread_rwlock_destroy)
WARPLOOM_OLD(pthread_rwlock_init)
WARPLOOM_OLD(pthread_rwlock_rdlock)
WARPLOOM_OLD(pthread_rwlock_timedrdlock)
WARPLOOM_OLD(pthread_rwlock_timedwrlock)
WARPLOOM_OLD(pthread_rwlock_tryrdlock)
WARPLOOM_OLD(pthread_rwlock_trywrlock)
WARPLOOM_OLD(pthread_rwlock_unlock)
WARPLOOM_OLD(pthread_rwlock_wrlock)
WARPLOOM_OLD(pthread_rwlockattr_destroy)
WARPLOOM_OLD(pthread_rwlockattr_init)
WARPLOOM_OLD(pthread_rwlockattr_setpshared)
WARPLOOM_OLD(pthread_setspecific)
WARPLOOM_OLD(pthread_sigmask)
WARPLOOM_OLD(pthread_spin_destroy)
WARPLOOM_OLD(pthread_spin_init)
WARPLOOM_OLD(pthread_spin_lock)
WARPLOOM_OLD(pthread_spin_trylock)
WARPLOOM_OLD(pthread_spin_unlock)
WARPLOOM_OLD(sem_destroy)
WARPLOOM_OLD(sem_init)
WARPLOOM_OLD(sem_post)
WARPLOOM_OLD(sem_timedwait)
WARPLOOM_OLD(sem_trywait)
WARPLOOM_OLD(sem_wait)
WARPLOOM_OLD(shm_open)
WARPLOOM_OLD(shm_unlink)

// What older systems do not have under another version: WARPLOOM_WRITTEN lists them for the linker.
#define WARPLOOM_WRITTEN(type, name) extern "C" __attribute__((visibility("hidden"))) type __wrap_##name

/// Of glibc 2.32: the C++ library omits atomic operations while it is true.
extern "C" {
char __libc_single_threaded = 0;
}

/// Of glibc 2.30.
WARPLOOM_WRITTEN(int, pthread_cond_clockwait)(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* end) {
  constexpr long kSecond = 1000000000;
  timespec now{}, real{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  real.tv_sec += end->tv_sec - now.tv_sec;
  real.tv_nsec += end->tv_nsec - now.tv_nsec;
  if (real.tv_nsec < 0) --real.tv_sec, real.tv_nsec += kSecond;
  if (real.tv_nsec >= kSecond) ++real.tv_sec, real.tv_nsec -= kSecond;
  const int result = pthread_cond_timedwait(condition, mutex, &real);
  if (result != ETIMEDOUT) return result;
  // The time of day may have been set meanwhile: woken too early is woken for no reason.
  clock_gettime(clock, &now);
  const bool over = now.tv_sec > end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
  return over ? ETIMEDOUT : 0;
}

/// Of glibc 2.33.
WARPLOOM_WRITTEN(int, fstat64)(int file, void* result) { return static_cast<int>(syscall(SYS_fstat, file, result)); }

#ifdef DLFO_STRUCT_HAS_EH_DBASE
namespace {

int find_object(dl_phdr_info* info, size_t, void* wanted) {
  auto* const found = static_cast<dl_find_object*>(wanted);
  const auto address = reinterpret_cast<uintptr_t>(found->dlfo_map_start);
  const ElfW(Phdr)* frames = nullptr;
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_GNU_EH_FRAME) frames = &segment;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    inside = inside || (segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_memsz);
  }
  if (!inside || frames == nullptr) return 0;
  found->dlfo_eh_frame = reinterpret_cast<void*>(info->dlpi_addr + frames->p_vaddr);
  return 1;
}

}  // namespace

/// Of glibc 2.35: where the code that unwinds exceptions finds the tables of the function at `address`.
WARPLOOM_WRITTEN(int, _dl_find_object)(void* address, dl_find_object* result) {
  *result = {};
  result->dlfo_map_start = address;
  return dl_iterate_phdr(find_object, result) == 1 ? 0 : -1;
}
#endif
#endif  // WARPLOOM_OLD_GLIBC
