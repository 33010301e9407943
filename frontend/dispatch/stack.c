/* How much of the C stack is left in this thread.
 *
 * Calls of Python functions take no C stack, but calls through a callable do. With a high recursion
 * limit the stack would end before Python checks the limit.
 */
#include "frontend/base/python.h"
#include "frontend/dispatch/callable_internal.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

/* bytes of C stack that CPython's count of calls is not lifted without */
#define LEND_STACK (2 << 20)
/* limit of a process's first stack up to which it is free for it */
#define FIRST_STACK (64 << 20)

/* Where the C stack may grow to when this is the process's first, or NULL. That begins behind the
 * name of the program, and the system keeps as much free as its limit allows, up to a bound. The C
 * library reads /proc/self/maps for it, which takes a good part of a first call. */
static char *stack_first(void) {
  const uintptr_t page = 4096;
  char here;
  struct rlimit limit;
  const char *name = (const char *)getauxval(AT_EXECFN);
  if (!name || getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur > FIRST_STACK) return NULL;
  uintptr_t top = ((uintptr_t)name + strlen(name) + page) / page * page;
  char *end = (char *)(top - limit.rlim_cur);
  return &here > end && &here < name ? end + limit.rlim_cur / 16 : NULL;
}

static char *stack_find(void) {
  pthread_attr_t attributes;
  void *start;
  size_t size;
  char *end = stack_first();
  if (end || pthread_getattr_np(pthread_self(), &attributes) != 0) return end;
  if (pthread_attr_getstack(&attributes, &start, &size) == 0) end = (char *)start + size / 16;
  pthread_attr_destroy(&attributes);
  return end;
}

_Thread_local char *stack_end __attribute__((tls_model("initial-exec")));

size_t callable_stack_left(void) {
  char here;
  if (!stack_end) stack_end = stack_find();
  if (!stack_end) return SIZE_MAX;
  return &here > stack_end ? (size_t)(&here - stack_end) : 0;
}

bool callable_stack_check(const callable *c) {
  if (callable_stack_left()) return true;
  PyErr_Format(PyExc_RecursionError, "recursion through the compiled function %U is too deep",
               c->function->func_qualname);
  return false;
}

int callable_go_deeper(void) {
  return python_recursion_is_low() && callable_stack_left() >= LEND_STACK ? python_recursion_lend()
                                                                          : 0;
}
