/* What existed before the call: dictionaries, iterators, attributes and variables, and their
 * changes. */
#ifndef LOOM_FRONTEND_VALUES_LIVE_H
#define LOOM_FRONTEND_VALUES_LIVE_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"

/* ---- liveiter.c: iterators that existed before the call ---- */

recipe *iter_recipe(tracer *t, value *sequence, Py_ssize_t index, bool reverse);
value *live_iter_wrap(tracer *t, PyObject *object,
                      const source *s); /* NULL, nothing pending: none */
bool live_iter_apart(tracer *t, const pointer_map *unread, int *pairs);
void live_iter_finish(tracer *t);

/* ---- livedict.c: dictionaries that existed before the call ---- */

typedef struct live_dict live_dict;

live_dict *dict_live(const value *v); /* NULL: made inside */
value *dict_owner(const value *v);    /* the object whose attributes it holds, or NULL */
/* `object`, an instance of dict, as a value; `owner`: the live object whose __dict__ it is. */
value *live_new(tracer *t, PyObject *object, const source *s, value *owner);
/* Is `dict` read as a dictionary of its own, and (`changed`) was something stored in it? */
bool live_is_read(const tracer *t, const PyObject *dict, bool changed);
/* The same of the dictionary that holds an object's or a module's attributes: these have to be read
 * or stored where that is not known. */
bool live_holds_attributes(const tracer *t, PyObject *object, bool changed);
/* 1 found, 0 not, -1 failed; `item_out` may be NULL. */
int live_find(tracer *t, live_dict *d, value *key, value **item_out);
bool live_put(tracer *t, live_dict *d, value *key, value *item);
bool live_remove(tracer *t, live_dict *d, value *key); /* raises KeyError */
bool live_clear(tracer *t, live_dict *d);
value *live_keys(tracer *t, live_dict *d); /* a new list */
value *live_keys_before(tracer *t, live_dict *d);
value *live_whole(tracer *t, live_dict *d);
Py_ssize_t live_length(tracer *t, live_dict *d);
void live_walk(roll_walk *w, const tracer *t);
value *live_changed(live_dict **from); /* the next one that was changed, or NULL */
void live_finish(tracer *t, const live_dict *d);

/* ---- shadow.c: changes to what existed before the call ---- */

/* To be asked before the content of a list or cell is changed; false after a break. */
bool shadow_open(tracer *t, value *v);
/* A model of a live deque, or of a live defaultdict (`items` NULL): what is done to its items, and
 * what it keeps beside them, is done to the object. */
bool shadow_open_model(tracer *t, value *v, PyObject *object, value *items);
/* Of the live deque that has these items now; NULL: of none. */
const source *shadow_model_source(tracer *t, const value *items);
/* The same for a set, with the operation: a method of sets. */
bool shadow_set(tracer *t, value *set, const char *method, value *const *args, Py_ssize_t count);
bool shadow_takes(const value *lazy, PyObject *name); /* a method that needs not look at it */
value *shadow_method(tracer *t, value *lazy);
/* `v` has just been made of an object that may have been changed unseen. */
bool shadow_catch_up(tracer *t, value *v, PyObject *object);
/* A cell made inside gets its content when all else has been made: functions in it may hold it. */
bool shadow_fill(tracer *t, value *cell);
/* A call of a live object, of which the result is known, is made again at the end. */
bool shadow_again(tracer *t, value *callee, value *const *args, Py_ssize_t count);
const source *shadow_source(const value *v);
bool shadow_is_open(const tracer *t, const value *v); /* it is being changed */
/* As a change: the iterator that `s` reads is taken so many items further. */
void shadow_advance(tracer *t, const source *s, Py_ssize_t count);
/* As changes: an item of the dictionary that `s` reads, set or (NULL) deleted; an attribute, or a
 * variable, of a name. */
void shadow_item(tracer *t, const source *s, value *key, value *item);
void shadow_named(tracer *t, const source *s, PyObject *key, value *item, bool attribute);
/* What has been appended to a list that was not looked at. */
bool shadow_is_pending(const tracer *t, const value *list);
void shadow_walk(roll_walk *w, const tracer *t);
void shadow_finish(tracer *t);

/* ---- overlay.c: attributes and variables that were assigned or deleted ---- */

/* Attributes, or items of a dictionary, that were assigned or deleted. */
typedef struct overlay overlay;

typedef struct overlay_slot {
  PyObject *key;
  value *item; /* NULL: deleted */
  bool moved;  /* was deleted before: comes last */
  bool hidden; /* behind a descriptor of the class: an item of __dict__ */
} overlay_slot;

/* Of attributes, or of the items of a dictionary of variables. NULL: nothing has been. */
overlay *overlay_of(const tracer *t, PyObject *object, bool attributes);
uint32_t overlay_count(const overlay *o); /* `o` may be NULL */
const overlay_slot *overlay_at(const overlay *o, uint32_t i);
overlay *overlay_open(tracer *t, PyObject *object, const source *s, bool attributes);
overlay_slot *overlay_find(const overlay *o, PyObject *key); /* `o` may be NULL */
bool overlay_put(tracer *t, overlay *o, PyObject *key, value *item);
bool overlay_put_variable(tracer *t, PyObject *globals, PyObject *name, value *item);
bool overlay_delete(tracer *t, overlay *o, PyObject *key, bool existed); /* before the call */
void overlay_walk(roll_walk *w, const tracer *t);
bool overlay_apart(tracer *t, const pointer_map *unread, int *pairs);
void overlay_finish(tracer *t);

/* ---- apart.c: guards that two objects stay two ---- */

/* Guards that nothing else that capture has read, nor what is in `unread`, is the object, which is
 * changed; false after a break. */
bool apart_from_all(tracer *t, PyObject *object, const source *s, const pointer_map *unread,
                    int *pairs);

#endif
