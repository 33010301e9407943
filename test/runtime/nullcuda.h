/* What the files of the CUDA driver of the tests share, and what tests ask of it. Sections by file.
 */
#ifndef LOOM_TEST_NULLCUDA_H
#define LOOM_TEST_NULLCUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/cuda.h"
#include "runtime/runtime.h"

#define NULL_EXPORT __attribute__((visibility("default")))

/* ---- nullcuda.c ---- */

/* The call of `symbol` behind `skip` others fails with this CUresult, once. */
NULL_EXPORT void loom_nullcuda_fail(const char *symbol, int skip, int error);
/* Has that call come? */
NULL_EXPORT bool loom_nullcuda_failed(void);
/* How many there are: "memory", "stream", "event", "module", "host", "link", "context". What the
 * driver gives back later counts until then. */
NULL_EXPORT long loom_nullcuda_live(const char *what);
/* How often a function was called so far. */
NULL_EXPORT long loom_nullcuda_calls(const char *symbol);
/* Work that was ordered and has not run. */
NULL_EXPORT long loom_nullcuda_pending(void);
/* How many contexts are on this thread's stack. */
NULL_EXPORT int loom_nullcuda_depth(void);
/* What the driver says of itself: CUDA's version, devices, their architecture (90: sm_90). */
NULL_EXPORT void loom_nullcuda_describe(int version, int devices, int architecture);
/* A kernel as a function of C, in place of what a module has under this name. */
NULL_EXPORT void loom_nullcuda_kernel(const char *name, loom_kernel_fn function, uint32_t threads,
                                      uint32_t flags);

/* Around each function of the driver: the lock, and the failure that was asked for. */
int null_enter(const char *symbol, bool needs_context);
void null_leave(int *unused);

#define NULL_CALL(SYMBOL, NEEDS_CONTEXT)                                                           \
  __attribute__((cleanup(null_leave))) int null_error = null_enter(SYMBOL, NEEDS_CONTEXT);         \
  if (null_error) return null_error

extern int null_architecture;
/* Every later call fails with this error. */
void null_break(int error);
int null_broken_now(void);

enum { NULL_MEMORY, NULL_STREAM, NULL_EVENT, NULL_MODULE, NULL_HOST, NULL_LINK, NULL_KINDS };
/* Objects of each kind, to tell handles from other numbers. */
bool null_add(int kind, void *object);
bool null_has(int kind, const void *object);
void null_remove(int kind, const void *object);

/* ---- nullcuda_module.c ---- */

typedef struct null_function {
  char name[128];
  loom_kernel_fn run;
  uint32_t threads, flags; /* of a block; LOOM_PLAN_KERNEL_* */
} null_function;

/* NULL: the handle is no function of a loaded module. */
const null_function *null_function_of(const void *handle);

#endif
