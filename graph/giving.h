/* When memory that is dead goes back to the system: asked where a plan is made (passes/plan_trim.c)
 * and where plans share an arena (runtime/blocks.c).
 *
 * Every page that is given back is a page fault when it is touched again, in the same call or the
 * next one. */
#ifndef LOOM_GIVING_H
#define LOOM_GIVING_H

#include <stdbool.h>
#include <stdint.h>

#define GIVING_LEAST (8 << 20)  /* bytes that are worth their page faults in any call */
#define GIVING_LARGE (32 << 20) /* the highest point of calls that are long beside the faults */

/* Are so many bytes worth it in a call whose highest point is `highest` bytes? */
static inline bool loom_giving_is_worth(uint64_t bytes, uint64_t highest) {
  return bytes >= GIVING_LEAST || highest >= GIVING_LARGE;
}

#endif
