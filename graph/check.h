/* The data that a checked kernel and the runtime exchange (passes/check.c, runtime/bounds.c).
 *
 * The word before the first entry of a launch's array of buffers is the address of its frame.
 * Checked code compares every access with the bounds in there; one that lies outside is written
 * down and goes to `spare` instead.
 */
#ifndef LOOM_CHECK_H
#define LOOM_CHECK_H

#include <stdint.h>

/* The bytes that an access by a pointer p may touch: [p + low, p + low + size). */
typedef struct loom_check_bounds {
  int64_t low;
  uint64_t size;
} loom_check_bounds;

typedef struct loom_check_frame {
  uint64_t taken; /* 0 until an access lies outside of its bounds */
  /* Of the first access that lies outside: its number among the sites, and its address. */
  uint64_t site, address;
  uint64_t ignored[2]; /* where later such accesses write theirs, which nobody reads */
  void *spare;         /* LOOM_CHECK_SPARE bytes that no buffer has */
  uintptr_t kernel;    /* the checked code itself; read by the runtime only */
  loom_check_bounds params, scratch;
  loom_check_bounds buffers[]; /* LOOM_CHECK_BUFFERS of them, in the order of the launch */
} loom_check_frame;

/* Bytes of a frame with all of its buffers. */
#define LOOM_CHECK_FRAME (sizeof(loom_check_frame) + LOOM_CHECK_BUFFERS * sizeof(loom_check_bounds))

/* Entries of the array of buffers and of the frame: those that a launch does not use are NULL, with
 * bounds of no byte. */
#define LOOM_CHECK_BUFFERS 80

/* Bytes of the spare memory: more than one access touches. */
#define LOOM_CHECK_SPARE 65536u

/* What a site accesses: a buffer by number, or one of these. */
#define LOOM_CHECK_PARAMS (-1)
#define LOOM_CHECK_SCRATCH (-2)
#define LOOM_CHECK_STACK (-3)
#define LOOM_CHECK_CONSTANT (-4) /* a table in the code */
#define LOOM_CHECK_SHARED (-5)   /* a GPU block's shared memory: the simulator compares */

#endif
