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

/* ---- liveiter.c: iterators that existed before the call ---- */

/* A recipe for an iterator over a tuple or list, in front of item `index` (behind it, going
 * backwards, with `reverse`). */
recipe *iter_recipe(tracer *t, value *sequence, Py_ssize_t index, bool reverse);
/* A live iterator as a value; NULL with nothing pending: it is no iterator that capture follows. */
value *live_iter_wrap(tracer *t, PyObject *object, const source *s);
/* Guards that iterators which the function has advanced are no other objects that it has read. */
bool live_iter_apart(tracer *t, const pointer_map *unread, int *pairs);
void live_iter_finish(tracer *t);

/* ---- livedict.c: dictionaries that existed before the call ---- */

typedef struct live_dict live_dict;

/* The live dictionary behind a dict value; NULL: it was made inside. */
live_dict *dict_live(const value *v);
value *dict_owner(const value *v); /* the object whose attributes it holds, or NULL */
/* The value of `object`, an instance of dict. `owner`: the live object whose __dict__ it is; or
 * NULL. */
value *live_new(tracer *t, PyObject *object, const source *s, value *owner);
/* Has capture read `dict` as a dictionary of its own, not as the __dict__ of an object? With
 * `changed`: has it stored something in it? */
bool live_is_read(const tracer *t, const PyObject *dict, bool changed);
/* live_is_read() for the dictionary that holds the attributes of an object or a module. If so,
 * attributes have to be read from and stored in that dictionary value. */
bool live_holds_attributes(const tracer *t, PyObject *object, bool changed);
/* 1 found, 0 not, -1 failed; `item_out` may be NULL. */
int live_find(tracer *t, live_dict *d, value *key, value **item_out);
/* As live_whole(), with the gaps in its table (dict_gaps.c). */
value *live_again(tracer *t, live_dict *d);
bool live_put(tracer *t, live_dict *d, value *key, value *item);
bool live_update(tracer *t, live_dict *d, value *other); /* dict.update() with one made here */
bool live_remove(tracer *t, live_dict *d, value *key);   /* raises KeyError */
/* live_remove() of the last key, by popitem(). */
bool live_pop(tracer *t, live_dict *d, value *key);
/* OrderedDict.move_to_end() of a key that it has. */
bool live_move(tracer *t, live_dict *d, value *key, bool last);
bool live_clear(tracer *t, live_dict *d);
value *live_keys(tracer *t, live_dict *d); /* a new list */
/* A dict value with all items as they are now. */
value *live_whole(tracer *t, live_dict *d);
Py_ssize_t live_length(tracer *t, live_dict *d);
void live_walk(roll_walk *w, const tracer *t);
/* The next dictionary that was changed, or NULL; moves `from` on. */
value *live_changed(live_dict **from);
/* Turns the changes of a dictionary into changes of the capture. */
void live_finish(tracer *t, const live_dict *d);

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
bool live_step_move(tracer *t, live_steps *s, value *key, bool last);
bool live_step_clear(tracer *t, live_steps *s, bool ordered); /* of an OrderedDict? */
bool live_step_renew(tracer *t, live_steps *s);
/* Does the same to a dict made here; false: failed. */
bool live_steps_again(tracer *t, const live_steps *s, value *dict);
void live_steps_walk(roll_walk *w, const live_steps *s);
/* Turns the steps into changes of the dictionary that `dict` reads. */
void live_steps_finish(tracer *t, const live_steps *s, const source *dict);

/* ---- shadow.c: changes to what existed before the call ---- */

/* To be called before the content of a list or cell changes, whether it is live or not. False after
 * a break. */
bool shadow_open(tracer *t, value *v);
/* A model object that stands for a live deque, or for a live defaultdict (`items` is NULL). Changes
 * to its items and to its setting (maxlen, default_factory) become changes of `object`. */
bool shadow_open_model(tracer *t, value *v, PyObject *object, value *items);
/* The source of the live deque whose items are now this list value; NULL: there is none. */
const source *shadow_model_source(tracer *t, const value *items);
/* shadow_open() for a set. Notes the change, which is a call of this method of sets. */
/* Does again to the table of a live set, which is as it was before the call, what was done to the
 * set. False: the order is not known. */
bool shadow_set_order(tracer *t, value *set);
bool shadow_set(tracer *t, value *set, const char *method, value *const *args, Py_ssize_t count);
/* Is this a method that changes a list or set without reading it (append, add)? */
bool shadow_takes(const value *lazy, PyObject *name);
/* That method, bound to a list or set that capture has not read. */
value *shadow_method(tracer *t, value *lazy);
/* `v` has just been made of `object`. When shadow_method() has appended to that before, `v` gets
 * those items. */
bool shadow_catch_up(tracer *t, value *v, PyObject *object);
/* Notes a cell made inside as one that gets its content at the end, when everything else has been
 * made. A function in it may refer to the cell itself. */
bool shadow_fill(tracer *t, value *cell);
/* Notes a call of a live object whose result capture knows already: the run makes the call at its
 * end. */
bool shadow_again(tracer *t, value *callee, value *const *args, Py_ssize_t count);
/* The source of a value, or of the live cell that a cell value stands for. */
const source *shadow_source(const value *v);
/* Has its content been changed, or is it about to be? */
bool shadow_is_open(const tracer *t, const value *v);
/* Adds a change: the iterator that `s` reads is advanced by `count` items. */
void shadow_advance(tracer *t, const source *s, Py_ssize_t count);
/* Adds a change: an item of the dictionary that `s` reads is set, or deleted (`item` NULL).
 * shadow_named() does it for an attribute, or a variable in a dictionary of globals. */
void shadow_item(tracer *t, const source *s, value *key, value *item);
void shadow_named(tracer *t, const source *s, PyObject *key, value *item, bool attribute);
/* Adds a change: this method of the object that `s` reads is called. */
void shadow_call_of(tracer *t, const source *s, const char *method, value *const *args,
                    Py_ssize_t count);
/* Adds a change: the dictionary that `s` reads is cleared, if it is empty. */
void shadow_renew(tracer *t, const source *s);
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
uint32_t overlay_count(const overlay *o); /* `o` may be NULL */
const overlay_slot *overlay_at(const overlay *o, uint32_t i);
overlay *overlay_open(tracer *t, PyObject *object, const source *s, bool attributes);
overlay_slot *overlay_find(const overlay *o, PyObject *key); /* `o` may be NULL */
bool overlay_put(tracer *t, overlay *o, PyObject *key, value *item);
bool overlay_put_variable(tracer *t, PyObject *globals, PyObject *name, value *item);
/* `existed`: before the call. */
bool overlay_delete(tracer *t, overlay *o, PyObject *key, bool existed);
void overlay_walk(roll_walk *w, const tracer *t);
bool overlay_apart(tracer *t, const pointer_map *unread, int *pairs);
void overlay_finish(tracer *t);

/* ---- apart.c: guards that two objects stay two ---- */

/* Guards that `object`, which is changed, is neither another object that capture has read nor one
 * in `unread`. False after a break. */
bool apart_from_all(tracer *t, PyObject *object, const source *s, const pointer_map *unread,
                    int *pairs);

#endif
