/* Two functions of newer versions of the GNU C library that LLVM and the C++ runtime call, so that
 * the compiler library runs with 2.34. They are hidden: nobody else gets them. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/random.h>

/* Of 2.36. LLVM names temporary files with it: the names only have to differ. */
uint32_t arc4random(void) {
  static atomic_uint next; /* where the system has no random numbers */
  uint32_t value;
  bool random = getrandom(&value, sizeof value, 0) == sizeof value;
  return random ? value : atomic_fetch_add(&next, 1);
}

/* Of 2.35. The unwinder asks it first, and searches by itself when it knows of nothing. */
int _dl_find_object(void *address, void *result) { return -1; }
