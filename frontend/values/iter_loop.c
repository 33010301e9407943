/* Iterators in loops that are captured once (roll.c): how many items are left, the item of an
 * iteration whose index only the run knows, and items of lists that are lent to the loop as rows of
 * arrays (gather.c). */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/iter_internal.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/numbers.h"
#include "frontend/values/rolled.h"
#include "frontend/values/rolled_internal.h"
#include "frontend/values/values.h"

/* ---- items of sequences ---- */

static Py_ssize_t sequence_first(const iter_data *d) {
  return d->kind == ITER_REVERSED ? 0 : d->at;
}

/* An iterator that goes backwards from behind a list which has become shorter is at its end. */
static Py_ssize_t sequence_end(const iter_data *d) {
  Py_ssize_t count = d->base->seq.count;
  return d->kind != ITER_REVERSED ? count : d->at <= count ? d->at : 0;
}

/* Are the items ints in equal steps, or one object again and again? */
static bool sequence_step(tracer *t, iter_data *d, int64_t *first, int64_t *step) {
  bool back = d->kind == ITER_REVERSED;
  Py_ssize_t count = sequence_end(d) - sequence_first(d), at = back ? count - 1 : d->at;
  int64_t before = 0, now;
  *step = 0;
  for (Py_ssize_t i = 0; i < count; i++, before = now) {
    value *item = d->base->seq.items[back ? at - i : at + i];
    if (!value_is_const(item) || !PyLong_CheckExact(item->object) ||
        !value_size_of(t, item, &now) || llabs(now) >= 1ll << 52)
      return false;
    if (i == 0) *first = now;
    if (i == 1) *step = now - before;
    if (i > 1 && now - before != *step) return false;
  }
  return count > 0;
}

/* Are the items ints that Python has one object each of? */
static bool sequence_is_small(tracer *t, iter_data *d) {
  int64_t first, step;
  if (!sequence_step(t, d, &first, &step)) return false;
  int64_t last = first + step * (sequence_end(d) - sequence_first(d) - 1);
  return first >= -5 && first <= 256 && last >= -5 && last <= 256;
}

/* Item `at`, of numbers in equal steps, which is `number`. */
static value *sequence_number(tracer *t, iter_data *d, int64_t at, int64_t number) {
  value *v = value_size(t, number);
  if (!v || !d->place || sequence_is_small(t, d)) return v;
  v->lent = d->place;
  v->from = lent_new(t, NULL, d->base, at);
  if (value_is_list(d->base) && !d->base->lender) d->base->lender = d->place;
  return v->from ? v : NULL;
}

/* The values of a dictionary are others when that is changed. */
static bool sequence_gather(tracer *t, iter_data *d) {
  d->rows = gather_make(t, d->place, d->base, sequence_first(d), sequence_end(d));
  if (d->rows && d->what && !d->function->lender) d->function->lender = d->place;
  return d->rows != NULL;
}

/* An item that is known, lent all the same. */
static value *next_early(tracer *t, iter_data *d, int64_t at) {
  Py_ssize_t first = sequence_first(d), end = sequence_end(d);
  int64_t number, step;
  if (!d->place || at < first || at >= end || !list_settle(t, d->base)) return NULL;
  if (sequence_step(t, d, &number, &step)) return sequence_number(t, d, at, number);
  d->early = gather_holds(d->rows, d->base, first, end) || sequence_gather(t, d);
  return d->rows ? gather_item(t, d->rows, at) : NULL;
}

value *iter_lent_item(tracer *t, iter_data *d, int64_t at) {
  Py_ssize_t prefix;
  int64_t count;
  if (d->early) return next_early(t, d, at);
  if (!d->place || !long_direct(t, d->base, &prefix) || !long_count(t, d->base, &count))
    return NULL;
  if (LOOM_STRIDE_IS_SYM(count) || at < 0 || at >= count) return NULL;
  return long_item(t, d->place, d->base, at);
}

/* ---- loops ---- */

/* The shortest; where the lengths are not known, all have to be one number. */
static int64_t zip_left(tracer *t, iter_data *d) {
  int64_t least = -1;
  for (Py_ssize_t i = 0; i < d->count; i++) {
    int64_t left = iter_left(t, d->inner[i]);
    bool symbolic = LOOM_STRIDE_IS_SYM(left) || LOOM_STRIDE_IS_SYM(least);
    if (left == -1 || (i && left != least && (d->strict || symbolic))) return -1;
    if (!i || left < least) least = left;
  }
  return least;
}

/* Why its items are not rows, or NULL. */
static const char *sequence_refuses(tracer *t, iter_data *d) {
  Py_ssize_t first = sequence_first(d), end = sequence_end(d);
  if (d->looks == ITER_LOOKS || (d->looks && !d->why)) return d->why;
  d->looks++;
  return d->why = gather_refuses(t, d->base, first, end);
}

/* How many are left of a long list that has its items in rows; -1: no list like that. */
static int64_t long_left(tracer *t, const iter_data *d) {
  Py_ssize_t prefix;
  int64_t count;
  if (!long_direct(t, d->base, &prefix) || !long_count(t, d->base, &count)) return -1;
  if (d->kind == ITER_REVERSED) return LOOM_STRIDE_IS_SYM(count) || d->at <= count ? d->at : -1;
  return size_op(t, LOOM_EXPR_ADD, count, -(int64_t)d->at, &count) ? count : -1;
}

/* Are the items of the dictionary or set unchanged since the iterator was made? */
static bool iter_is_settled(tracer *t, const iter_data *d) {
  value *owner = d->function;
  if (iter_size(t, owner) != d->count || (d->moves && *d->moves != d->moved)) return false;
  return !d->what || (d->seen == owner->seq.changes && !dict_owner(owner));
}

static int64_t sequence_left(tracer *t, iter_data *d) {
  int64_t first, step, left;
  if (d->done || (d->function && !iter_is_settled(t, d))) return -1;
  left = long_left(t, d);
  if (left != -1 || trace_pending(t)) return left;
  if (!list_settle(t, d->base)) return -1;
  if (sequence_first(d) >= sequence_end(d)) return -1;
  if (!sequence_step(t, d, &first, &step) && sequence_refuses(t, d)) return -1;
  return sequence_end(d) - sequence_first(d);
}

static int64_t iterator_left(tracer *t, value *v) {
  int64_t left, unused;
  iter_data *d = v->any.a;
  switch (d->kind) {
  case ITER_SEQUENCE:
  case ITER_REVERSED: return sequence_left(t, d);
  case ITER_ENUMERATE: return value_size_of(t, d->counter, &unused) ? iter_left(t, d->base) : -1;
  case ITER_ZIP: return zip_left(t, d);
  case ITER_INDEX:
    if (d->done || d->count == -1) return -1;
    return size_op(t, LOOM_EXPR_ADD, d->count, -(int64_t)d->at, &left) ? left : -1;
  default: return -1;
  }
}

int64_t iter_left(tracer *t, value *v) {
  return !trace_pending(t) && v->type->loop ? v->type->loop->left(t, v) : -1;
}

int64_t iter_items(const value *v) {
  const iter_data *d = iter_of(v);
  if (!d) return -1;
  if (d->kind == ITER_ENUMERATE) return iter_items(d->base);
  if (d->kind == ITER_ZIP) {
    int64_t least = d->count ? INT64_MAX : 0;
    for (Py_ssize_t i = 0; i < d->count; i++) {
      int64_t left = iter_items(d->inner[i]);
      if (left < least) least = left;
    }
    return least;
  }
  bool items = d->base && value_is_sequence(d->base);
  bool known = items && (d->kind == ITER_SEQUENCE || d->kind == ITER_REVERSED);
  return known ? sequence_end(d) - sequence_first(d) : -1;
}

static value *zip_ahead(tracer *t, iter_data *d, int64_t ahead) {
  value *items = value_tuple(t, d->inner, d->count);
  for (Py_ssize_t i = 0; items && i < d->count; i++)
    if (!(items->seq.items[i] = iter_ahead(t, d->inner[i], ahead))) return NULL;
  return items;
}

static value *enumerate_ahead(tracer *t, iter_data *d, int64_t ahead) {
  int64_t number;
  value *pair[2] = {NULL, iter_ahead(t, d->base, ahead)};
  if (!pair[1] || !value_size_of(t, d->counter, &number) ||
      !size_op(t, LOOM_EXPR_ADD, number, ahead, &number))
    return NULL;
  pair[0] = value_size(t, number);
  return pair[0] ? value_tuple(t, pair, 2) : NULL;
}

/* The item `ahead` from here of a list or tuple. */
static value *sequence_ahead(tracer *t, iter_data *d, int64_t ahead) {
  int64_t number, step;
  bool back = d->kind == ITER_REVERSED;
  Py_ssize_t prefix;
  if (long_direct(t, d->base, &prefix) || d->rows) {
    if (back && !size_op(t, LOOM_EXPR_MUL, ahead, -1, &ahead)) return NULL;
    if (!size_op(t, LOOM_EXPR_ADD, d->at - back, ahead, &number)) return NULL;
    return d->rows ? gather_item(t, d->rows, number) : long_item(t, d->place, d->base, number);
  }
  if (!sequence_step(t, d, &number, &step) || !size_at_iteration(t, number, step, ahead, &number) ||
      (back && !size_op(t, LOOM_EXPR_MUL, ahead, -1, &ahead)) ||
      !size_op(t, LOOM_EXPR_ADD, d->at - back, ahead, &ahead))
    return NULL;
  return sequence_number(t, d, ahead, number);
}

/* Calls `of` for all iterators over sequences in one. */
static bool iter_each(tracer *t, value *v, bool (*of)(tracer *t, iter_data *d, uint16_t place),
                      uint16_t place) {
  iter_data *d = iter_of(v);
  bool any = false;
  if (!d) return false;
  if (d->kind == ITER_ENUMERATE) return iter_each(t, d->base, of, place);
  for (Py_ssize_t i = 0; d->kind == ITER_ZIP && i < d->count; i++)
    any |= iter_each(t, d->inner[i], of, place);
  return d->kind == ITER_SEQUENCE || d->kind == ITER_REVERSED ? of(t, d, place) : any;
}

static bool each_gathers(tracer *t, iter_data *d, uint16_t place) {
  int64_t first, step;
  return list_is_long(d->base) || !sequence_step(t, d, &first, &step);
}

static bool each_lends(tracer *t, iter_data *d, uint16_t place) {
  return each_gathers(t, d, place) || !sequence_is_small(t, d);
}

static bool each_is_known(tracer *t, iter_data *d, uint16_t place) {
  return !list_is_long(d->base) && each_lends(t, d, place);
}

static bool each_early(tracer *t, iter_data *d, uint16_t place) {
  d->early = !list_is_long(d->base);
  return true;
}

static bool each_lend(tracer *t, iter_data *d, uint16_t place) {
  d->place = place;
  return true;
}

/* True: it cannot be done. */
static bool each_fails(tracer *t, iter_data *d, uint16_t place) {
  Py_ssize_t first = sequence_first(d), end = sequence_end(d), prefix;
  if (long_direct(t, d->base, &prefix)) /* the ordinary items in front go first */
    return d->kind == ITER_REVERSED ? prefix > 0 : d->at < prefix;
  if (!each_gathers(t, d, 0) || gather_holds(d->rows, d->base, first, end)) return false;
  return !sequence_gather(t, d);
}

static bool each_over(tracer *t, iter_data *d, uint16_t place) {
  if (d->rows) gather_over(d->rows);
  if (d->base->lender == d->place) d->base->lender = 0;
  if (d->what && d->function->lender == d->place) d->function->lender = 0;
  return true;
}

bool iter_lends(tracer *t, value *v) { return iter_each(t, v, each_lends, 0); }
bool iter_is_known(tracer *t, value *v) { return iter_each(t, v, each_is_known, 0); }
void iter_lend_early(tracer *t, value *v) { iter_each(t, v, each_early, 0); }
void iter_lend(tracer *t, value *v, uint16_t place) { iter_each(t, v, each_lend, place); }
bool iter_prepare(tracer *t, value *v) { return !iter_each(t, v, each_fails, 0); }
void iter_lent_over(tracer *t, value *v) { iter_each(t, v, each_over, 0); }

const char *iter_refuses(const value *v) {
  const iter_data *d = iter_of(v);
  if (!d) return NULL;
  const char *why = d->kind == ITER_ENUMERATE ? iter_refuses(d->base) : d->why;
  for (Py_ssize_t i = 0; d->kind == ITER_ZIP && i < d->count && !why; i++)
    why = iter_refuses(d->inner[i]);
  return why;
}

value *iter_ahead(tracer *t, value *v, int64_t ahead) { return v->type->loop->ahead(t, v, ahead); }

bool iter_step(tracer *t, value *v, int64_t by) { return v->type->loop->step(t, v, by); }

void iter_finish(value *v) { v->type->loop->finish(v); }

void iter_walk_bases(roll_walk *w, value *v) { v->type->loop->walk_bases(w, v); }

bool iter_jumps(const value *v) { return v->type->loop->far; }

static value *iterator_ahead(tracer *t, value *v, int64_t ahead) {
  int64_t number;
  iter_data *d = v->any.a;
  if (d->kind == ITER_ZIP) return zip_ahead(t, d, ahead);
  if (d->kind == ITER_ENUMERATE) return enumerate_ahead(t, d, ahead);
  if (d->kind != ITER_INDEX) return sequence_ahead(t, d, ahead);
  if (!size_op(t, LOOM_EXPR_ADD, ahead, d->at, &number)) return NULL;
  value *key = value_size(t, number);
  return key ? trace_get_item(t, d->base, key) : NULL;
}

static bool iterator_step(tracer *t, value *v, int64_t by) {
  iter_data *d = v->any.a;
  bool good = true;
  if (LOOM_STRIDE_IS_SYM(by)) return size_know(t, by), false;
  if (d->kind == ITER_ENUMERATE) {
    value *more = value_int(t, by);
    d->counter = more ? trace_binary(t, 0, d->counter, more, false) : NULL;
    return d->counter && iter_step(t, d->base, by);
  }
  for (Py_ssize_t i = 0; d->kind == ITER_ZIP && i < d->count && good; i++)
    good = iter_step(t, d->inner[i], by);
  if (d->kind != ITER_ZIP) d->at += d->kind == ITER_REVERSED ? -by : by;
  return good;
}

static void iterator_finish(value *v) {
  iter_data *d = v->any.a;
  d->done = true;
  if (d->kind == ITER_ENUMERATE) iter_finish(d->base);
  for (Py_ssize_t i = 0; d->kind == ITER_ZIP && i < d->count; i++)
    iter_finish(d->inner[i]);
}

static void iterator_walk_bases(roll_walk *w, value *v) {
  iter_data *d = v->any.a;
  if (d->kind != ITER_ZIP && d->kind != ITER_ENUMERATE) {
    roll_value(w, &d->base);
    roll_value(w, &d->function);
  }
  if (d->kind == ITER_ENUMERATE) iter_walk_bases(w, d->base);
  for (Py_ssize_t i = 0; d->kind == ITER_ZIP && i < d->count; i++)
    iter_walk_bases(w, d->inner[i]);
}

const loop_slots iterator_loop = {.left = iterator_left,
                                  .ahead = iterator_ahead,
                                  .step = iterator_step,
                                  .finish = iterator_finish,
                                  .walk_bases = iterator_walk_bases};
