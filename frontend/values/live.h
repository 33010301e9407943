/* Objects that existed before the call ("live" ones): dictionaries, iterators, attributes and
 * variables. Capture changes none of them: it notes the changes, and a run makes them at its end.
 */
#ifndef LOOM_FRONTEND_VALUES_LIVE_H
#define LOOM_FRONTEND_VALUES_LIVE_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"

/* ---- aside.c: code that is followed now and runs later ---- */

/* Between these calls such code is followed. aside_begin() gives false where capture has found that
 * such code reads what is changed behind it. */
bool aside_begin(tracer *t);
void aside_end(tracer *t);
/* Does nobody else get what such code has read and the function has made, so that nobody can change
 * it? Else false, and capture starts again. */
bool aside_stays(tracer *t);
/* Between these calls is a piece of code whose changes are watched. live_span_end() says: has it
 * changed something that was there before it, be it from before the call or made inside? */
bool live_span_begin(tracer *t);
bool live_span_end(tracer *t);
/* To be called for what code reads; aside_see_variable(): a global variable of this name. */
void aside_see(tracer *t, value *v);
void aside_see_variable(tracer *t, PyObject *name);

/* ---- livedict.c: dictionaries that existed before the call ---- */

typedef struct live_dict live_dict;

/* The live dictionary behind a dict value; NULL: it was made inside. */
live_dict *dict_live(const value *v);
/* Has capture read `dict` as a dictionary of its own, not as the __dict__ of an object? With
 * `changed`: has it stored something in it? */
bool live_is_read(const tracer *t, const PyObject *dict, bool changed);

/* ---- livesteps.c: what is done to such a dictionary, in order ---- */

typedef enum live_way {
  LIVE_SET,
  LIVE_UPDATE,
  LIVE_DELETE,
  LIVE_POP,
  LIVE_CLEAR,
  LIVE_RENEW, /* clear(), if it is empty */
  LIVE_LAST,
  LIVE_FIRST
} live_way;

typedef struct live_steps {
  struct live_step *steps;
  uint32_t count, capacity;
} live_steps;

/* `key`: for LIVE_UPDATE a tuple of `count` keys, for LIVE_CLEAR and LIVE_RENEW NULL. The places of
 * the items that are stored, to be filled in before the end (None is stored where one stays empty);
 * NULL: failed. */
value **live_step_add(tracer *t, live_steps *s, live_way way, value *key, Py_ssize_t count);
/* Of dict.update() with `other`, which has these keys. */
value **live_step_update(tracer *t, live_steps *s, value *keys, const value *other);

/* ---- shadow.c: changes to what existed before the call ---- */

/* To be called before the content of a list or cell changes, whether it is live or not. False after
 * a break. */
bool shadow_open(tracer *t, value *v);
/* Is this a method that changes a list or set without reading it (append, add)? */
bool shadow_takes(const value *lazy, PyObject *name);
/* That method, bound to a list or set that capture has not read. */
value *shadow_method(tracer *t, value *lazy);
/* Does this list value hold the items that were appended to an unread live list (shadow_method)? */
bool shadow_is_pending(const tracer *t, const value *list);
void shadow_walk(roll_walk *w, const tracer *t);
void shadow_finish(tracer *t);

/* ---- overlay.c: attributes and variables that were assigned or deleted ---- */

/* The attributes of an object, or the items of a dictionary of variables, that were assigned or
 * deleted. */
typedef struct overlay overlay;

typedef struct overlay_slot {
  PyObject *key;
  value *item; /* NULL: deleted */
  bool moved;  /* it was deleted before it was set again: it comes last in the order */
  bool hidden; /* stored in __dict__ under the name of a descriptor of the class */
} overlay_slot;

/* The changes of an object's attributes, or of the items of a dictionary of variables. NULL: there
 * are none. */
overlay *overlay_of(const tracer *t, PyObject *object, bool attributes);
overlay *overlay_open(tracer *t, PyObject *object, const source *s, bool attributes);
overlay_slot *overlay_find(const overlay *o, PyObject *key); /* `o` may be NULL */
bool overlay_put(tracer *t, overlay *o, PyObject *key, value *item);
bool overlay_put_variable(tracer *t, PyObject *globals, PyObject *name, value *item);

#endif
