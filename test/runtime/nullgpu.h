/* The drivers of the tests, libnullcuda.so and libnullhip.so: what their files share, and what
 * tests ask of them. Both are built of the same files and one of their own (nullcuda.c, nullhip.c,
 * with NULL_HIP). Sections by file.
 */
#ifndef LOOM_TEST_NULLGPU_H
#define LOOM_TEST_NULLGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/driver.h"
#include "runtime/runtime.h"

#define NULL_EXPORT __attribute__((visibility("default")))
#define NULL_DEVICES 4

#ifdef NULL_HIP
#define NULL_SYMBOL(CUDA, HIP) HIP
#else
#define NULL_SYMBOL(CUDA, HIP) CUDA
#endif

/* The driver's functions are called null_NAME here, and exported under their symbols. */
#define LOOM_DRIVER(NAME, CUDA, HIP, PARAMETERS)                                                   \
  NULL_EXPORT int null_##NAME PARAMETERS __asm__(NULL_SYMBOL(CUDA, HIP));
#include "runtime/driver.def"
#undef LOOM_DRIVER
#ifdef NULL_HIP
#define LOOM_HIP(NAME, SYMBOL, PARAMETERS) NULL_EXPORT int null_##NAME PARAMETERS __asm__(SYMBOL);
#include "runtime/hip.def"
#undef LOOM_HIP
#else
#define LOOM_CUDA(NAME, SYMBOL, PARAMETERS) NULL_EXPORT int null_##NAME PARAMETERS __asm__(SYMBOL);
#include "runtime/cuda.def"
#undef LOOM_CUDA
#endif

/* ---- nullgpu.c ---- */

/* The call of `symbol` behind `skip` others fails with this status, once. */
NULL_EXPORT void loom_nullgpu_fail(const char *symbol, int skip, int error);
/* Has that call come? */
NULL_EXPORT bool loom_nullgpu_failed(void);
/* How many there are: "memory", "stream", "event", "module", "link", "graph", "exec" (of a graph),
 * "context". What the driver gives back later
 * counts until then. */
NULL_EXPORT long loom_nullgpu_live(const char *what);
/* How often a function was called so far. */
NULL_EXPORT long loom_nullgpu_calls(const char *symbol);
/* Work that was ordered and has not run. */
NULL_EXPORT long loom_nullgpu_pending(void);
/* What the runtime has to leave as it was: CUDA's contexts on this thread's stack, HIP's current
 * device. */
NULL_EXPORT int loom_nullgpu_depth(void);
/* The error that the thread's next who asks for the last one would see; CUDA's driver keeps none.
 */
NULL_EXPORT int loom_nullgpu_last(void);
/* What the driver says of itself: its version, devices, their architecture (90: sm_90; 0x90a:
 * gfx90a). */
NULL_EXPORT void loom_nullgpu_describe(int version, int devices, int architecture);
/* What this stream gets to do is kept and not run, as while it is captured into a graph; NULL:
 * none. It cannot be waited for, memory is there at once, and what is freed stays. */
NULL_EXPORT void loom_nullgpu_capture(void *stream);
/* A kernel as a function of C, in place of what a module has under this name, whose lists have so
 * many words. */
NULL_EXPORT void loom_nullgpu_kernel(const char *name, loom_kernel_fn function, uint32_t buffers,
                                     uint32_t params, uint32_t threads, uint32_t flags);

/* Around each function of the driver: the lock, and the failure that was asked for. */
int null_enter(const char *name, bool needs_device);
void null_leave(int *unused);

#define NULL_CALL(NAME, NEEDS_DEVICE)                                                              \
  __attribute__((cleanup(null_leave))) int null_error = null_enter(#NAME, NEEDS_DEVICE);           \
  if (null_error) return null_error

/* The thread's last error, until somebody asks for it. */
extern _Thread_local int null_last;
extern int null_version, null_devices, null_architecture;
/* Every later call fails with this error. */
void null_break(int error);
int null_broken_now(void);

enum {
  NULL_MEMORY,
  NULL_STREAM,
  NULL_EVENT,
  NULL_MODULE,
  NULL_LINK,
  NULL_GRAPH,
  NULL_EXEC,
  NULL_KINDS
};
/* Objects of each kind, to tell handles from other numbers. */
bool null_add(int kind, void *object);
bool null_has(int kind, const void *object);
void null_remove(int kind, const void *object);

/* ---- nullgpu_module.c ---- */

typedef struct null_function {
  char name[128];
  loom_kernel_fn run;
  uint32_t buffers, params; /* words of its lists */
  uint32_t threads, flags;  /* of a block; LOOM_PLAN_KERNEL_* */
  uint32_t maps, shared;    /* that it gets by value; bytes that a launch gives it, */
  uint32_t allowed;         /* and may give it */
} null_function;

/* Words that a launch hands over: both lists, and its maps. */
size_t null_words(const null_function *f);
/* NULL: the handle is no function of a loaded module. */
const null_function *null_function_of(const void *handle);

/* ---- nullgpu_stream.c ---- */

/* A launch with its arguments, or (`function` NULL) a copy on the device. */
typedef struct null_work {
  const null_function *function;
  unsigned grid;
  uint64_t *words; /* malloc'ed: both lists, maps */
  int64_t begin, end;
  uint64_t status;
  uint64_t to, from;
  size_t size;
} null_work;

/* Takes the arguments of a launch of blocks of one dimension, as many bytes as the kernel has. A
 * status of the driver. */
int null_read_launch(const void *function, const unsigned grid[3], const unsigned block[3],
                     void **parameters, null_work *out);
/* Orders it on a stream, and takes `words`, also where that fails. */
int null_order(void *stream, const null_work *work);
/* Orders a copy from one device's memory to another's: both are what they are said to be. */
int null_order_peer(void *stream, uint64_t to, int to_device, uint64_t from, int from_device,
                    size_t size);
int null_launch(void *stream, const void *function, const unsigned grid[3], const unsigned block[3],
                void **parameters);

/* ---- nullgpu_graph.c ---- */

/* Nodes of a graph, behind those that are named, and changes of what was made of it. They take
 * `words`, also where that fails. */
int null_graph_add(void **node, void *graph, void *const *before, size_t count,
                   const null_work *work);
int null_graph_set(void *exec, void *node, const null_work *work);

/* ---- nullcuda.c or nullhip.c ---- */

extern const int null_first; /* the handle of device 0 */
/* The thread's current device; -1: none. */
int null_current(void);
long null_contexts_live(void);
const char *null_error_name(int error, bool text);
/* A number of the environment as loom_nullgpu_describe() takes it. */
int null_parse_architecture(const char *text);
/* Is the image code for a device of this driver? `text`: where the compiler's code for this machine
 * may be, with a NUL at its end. */
bool null_image_check(const void *image, const char **text);
/* Bytes of an image that the driver copies when it loads it; 0: it reads the caller's. */
size_t null_image_size(const void *image);
/* Is this kernel in the image, as a launch needs it? */
bool null_image_has(const void *image, const null_function *function);

#endif
