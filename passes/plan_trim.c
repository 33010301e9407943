/* Which parts of the arena a plan gives back to the system while it runs.
 *
 * Pages of the arena stay once they were touched, until the call ends and in the next call, which
 * then has no page faults. In the backward pass of a training step they add to gradients that are
 * there already and activations that are still there. Where that makes the highest point of a call
 * higher than what is live asks for, dead parts are given back just before: those that are used
 * again last of all come first, and no more than is needed, since every page given back is a page
 * fault later. Where that saves little memory in a short call nothing is given back: the faults of
 * 2 MiB take as long as a dozen passes over them. Each step is visited once. */
#include "graph/giving.h"
#include "passes/plan.h"

#include <stdlib.h>
#include <string.h>

#define TRIM_GRANULE (64 << 10) /* bytes: the unit in which the arena is looked at */
#define TRIM_GRANULES 4096
#define TRIM_GAIN 32 /* what is saved has to be one part in so many of the highest point */

typedef struct trim_state {
  const plan_life *life;
  int64_t granule, budget, resident_bytes;
  int granules;
  bool *resident;
  int *live_until, *next_use; /* by granule: the last step of what lies there; when it is used next,
                                 `steps` when never */
  int *by_first;              /* spans in the order of their first steps */
  plan_trim *trims;
  int trim_count;
  uint32_t trim_capacity;
} trim_state;

static void trim_range(const trim_state *s, const plan_span *span, int *begin, int *end) {
  *begin = (int)(span->offset / s->granule);
  *end = (int)((span->offset + span->size + s->granule - 1) / s->granule);
  if (*end > s->granules) *end = s->granules;
}

static _Thread_local const plan_span *trim_sort_base; /* qsort passes no context */

static int trim_earlier_first(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b;
  int difference = trim_sort_base[x].first - trim_sort_base[y].first;
  return difference ? difference : x - y;
}

/* Marks the granules of spans that begin at `step`; the bytes that become resident. */
static int64_t trim_begin(trim_state *s, int step, int *next_span) {
  int64_t grown = 0;
  for (; *next_span < s->life->span_count; ++*next_span) {
    const plan_span *span = &s->life->spans[s->by_first[*next_span]];
    int begin, end;
    if (span->first > step) break;
    trim_range(s, span, &begin, &end);
    for (int g = begin; g < end; g++) {
      if (span->last > s->live_until[g]) s->live_until[g] = span->last;
      if (!s->resident[g]) grown += s->granule;
      s->resident[g] = true;
    }
  }
  return grown;
}

static int64_t trim_live(const trim_state *s, int step) {
  int64_t live = 0;
  for (int g = 0; g < s->granules; g++)
    live += s->live_until[g] >= step ? s->granule : 0;
  return live;
}

static void trim_reset(trim_state *s) {
  for (int g = 0; g < s->granules; g++) {
    s->live_until[g] = -1;
    s->resident[g] = true; /* another call has left it so */
  }
  s->resident_bytes = s->granules * s->granule;
}

/* The highest point when nothing is given back, and when all that is dead is. */
static void trim_bounds(trim_state *s, int64_t *highest, int64_t *lowest) {
  int next_span = 0;
  *highest = *lowest = 0;
  trim_reset(s);
  for (int step = 0; step < s->life->steps; step++) {
    trim_begin(s, step, &next_span);
    int64_t others = s->life->others[step], live = others + trim_live(s, step);
    if (others + s->resident_bytes > *highest) *highest = others + s->resident_bytes;
    if (live > *lowest) *lowest = live;
  }
}

static void trim_find_next_uses(trim_state *s, int step) {
  for (int g = 0; g < s->granules; g++)
    s->next_use[g] = s->life->steps;
  for (int i = 0; i < s->life->span_count; i++) {
    const plan_span *span = &s->life->spans[i];
    int begin, end;
    if (span->first <= step) continue;
    trim_range(s, span, &begin, &end);
    for (int g = begin; g < end; g++)
      if (span->first < s->next_use[g]) s->next_use[g] = span->first;
  }
}

static bool trim_add(trim_state *s, int step, int begin, int end) {
  if (!loom_grow(&s->trims, (size_t)s->trim_count, &s->trim_capacity, sizeof *s->trims))
    return false;
  int64_t offset = begin * s->granule, limit = end * s->granule;
  if (limit > s->life->arena) limit = s->life->arena;
  s->trims[s->trim_count++] = (plan_trim){step, offset, limit - offset};
  return true;
}

/* Gives back at least `excess` bytes of dead memory if there are so many: whole runs of granules,
 * first those that are used again latest. */
static bool trim_release(trim_state *s, int step, int64_t excess) {
  trim_find_next_uses(s, step);
  while (excess > 0) {
    int best = -1;
    for (int g = 0; g < s->granules; g++)
      if (s->resident[g] && s->live_until[g] < step &&
          (best < 0 || s->next_use[g] > s->next_use[best]))
        best = g;
    if (best < 0) return true;
    int end = best;
    for (; end < s->granules && s->resident[end] && s->live_until[end] < step &&
           s->next_use[end] == s->next_use[best];
         end++) {
      s->resident[end] = false;
      s->resident_bytes -= s->granule;
      excess -= s->granule;
    }
    if (!trim_add(s, step, best, end)) return false;
  }
  return true;
}

static bool trim_allocate(trim_state *s, const plan_life *life) {
  s->life = life;
  s->granule = (life->arena / TRIM_GRANULES / TRIM_GRANULE + 1) * TRIM_GRANULE;
  s->granules = (int)((life->arena + s->granule - 1) / s->granule);
  size_t count = (size_t)s->granules + 1;
  s->resident = malloc(sizeof *s->resident * count);
  s->live_until = malloc(sizeof *s->live_until * count);
  s->next_use = malloc(sizeof *s->next_use * count);
  s->by_first = malloc(sizeof *s->by_first * ((size_t)life->span_count + 1));
  if (!s->resident || !s->live_until || !s->next_use || !s->by_first) return false;
  for (int i = 0; i < life->span_count; i++)
    s->by_first[i] = i;
  trim_sort_base = life->spans;
  qsort(s->by_first, (size_t)life->span_count, sizeof *s->by_first, trim_earlier_first);
  return true;
}

static bool trim_steps(trim_state *s, int64_t lowest) {
  int next_span = 0;
  s->budget = lowest;
  trim_reset(s);
  for (int step = 0; step < s->life->steps; step++) {
    s->resident_bytes += trim_begin(s, step, &next_span);
    int64_t excess = s->life->others[step] + s->resident_bytes - s->budget;
    if (excess > 0 && !trim_release(s, step, excess)) return false;
  }
  return true;
}

bool plan_choose_trims(const plan_life *life, plan_trim **out, int *count, int64_t *peak) {
  trim_state s = {0};
  int64_t highest = 0, lowest = 0;
  bool good = trim_allocate(&s, life);
  *count = 0;
  *out = NULL;
  if (good) trim_bounds(&s, &highest, &lowest);
  *peak = highest;
  int64_t saved = highest - lowest;
  if (good && saved > highest / TRIM_GAIN &&
      loom_giving_is_worth((uint64_t)saved, (uint64_t)highest)) {
    good = trim_steps(&s, lowest);
    *out = s.trims;
    *count = s.trim_count;
    *peak = lowest;
  }
  free(s.resident);
  free(s.live_until);
  free(s.next_use);
  free(s.by_first);
  return good;
}
