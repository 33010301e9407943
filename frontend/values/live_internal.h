/* Of objects that existed before the call: what the files of this folder share. */
#ifndef LOOM_FRONTEND_VALUES_LIVE_INTERNAL_H
#define LOOM_FRONTEND_VALUES_LIVE_INTERNAL_H

#include "frontend/values/live.h"

struct apart; /* below */

/* ---- aside.c: code that is followed now and runs later ---- */

value *aside_seen(tracer *t, value *v); /* aside_see(); gives v */
/* To be called before a list, dict, set, cell or iterator changes, and before an attribute of a
 * live object, or a global variable, is assigned. False: capture has broken, or starts again. */
bool aside_may_change(tracer *t, const value *v);
bool aside_may_assign(tracer *t, PyObject *object, PyObject *name, bool attribute);

/* ---- liveiter.c: iterators that existed before the call ---- */

/* A recipe for an iterator over a tuple or list, in front of item `index` (behind it, going
 * backwards, with `reverse`). */
recipe *iter_recipe(tracer *t, value *sequence, Py_ssize_t index, bool reverse);
/* A live iterator as a value; NULL with nothing pending: it is no iterator that capture follows. */
value *live_iter_wrap(tracer *t, PyObject *object, const source *s);
/* Guards that iterators which the function has advanced are no other objects that it has read. */
bool live_iter_apart(tracer *t, struct apart *a);
void live_iter_finish(tracer *t);

/* ---- livedict.c: dictionaries that existed before the call ---- */

/* The value of `object`, an instance of dict. `owner`: the live object whose __dict__ it is; or
 * NULL. */
value *live_new(tracer *t, PyObject *object, const source *s, value *owner);
/* live_is_read() for the dictionary that holds the attributes of an object or a module. If so,
 * attributes have to be read from and stored in that dictionary value. */
bool live_holds_attributes(const tracer *t, PyObject *object, bool changed);
/* 1 found, 0 not, -1 failed; `item_out` may be NULL. */
int live_find(tracer *t, live_dict *d, value *key, value **item_out);
/* live_whole() with the gaps in its table (dict_gaps.c). */
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
value *dict_owner(const value *v); /* the object whose attributes it holds, or NULL */

/* ---- livesteps.c: what is done to such a dictionary, in order ---- */

/* Performs the steps on a dict made here; false: failed. */
bool live_steps_again(tracer *t, const live_steps *s, value *dict);
void live_steps_walk(roll_walk *w, const live_steps *s);
/* Turns the steps into changes of the dictionary that `dict` reads. */
void live_steps_finish(tracer *t, const live_steps *s, const source *dict);
/* Of OrderedDict.move_to_end(), of clear(), and of clear() where it changes nothing but the table.
 */
bool live_step_move(tracer *t, live_steps *s, value *key, bool last);
bool live_step_clear(tracer *t, live_steps *s, bool ordered); /* of an OrderedDict? */
bool live_step_renew(tracer *t, live_steps *s);

/* ---- shadow.c: changes to what existed before the call ---- */

/* A model object that stands for a live deque, or for a live defaultdict (`items` is NULL). Changes
 * to its items and to its setting (maxlen, default_factory) become changes of `object`. */
bool shadow_open_model(tracer *t, value *v, PyObject *object, value *items);
/* The source of the live deque whose items are now this list value; NULL: there is none. */
const source *shadow_model_source(tracer *t, const value *items);
/* Performs the operations that were made on a live set on its table, which is as before the call.
 * False: the order is not known. */
bool shadow_set_order(tracer *t, value *set);
/* shadow_open() for a set. Notes the change, which is a call of this method of sets. */
bool shadow_set(tracer *t, value *set, const char *method, value *const *args, Py_ssize_t count);
/* `v` has just been made of `object`. When shadow_method() has appended to that before, `v` gets
 * those items. */
bool shadow_catch_up(tracer *t, value *v, PyObject *object);
/* Notes a cell made inside as one that gets its content at the end, when everything else has been
 * made. A function in it may refer to the cell itself. */
bool shadow_fill(tracer *t, value *cell);
/* Notes a call of a live object whose result capture knows already: the run makes the call at its
 * end. */
bool shadow_again(tracer *t, value *callee, value *const *args, Py_ssize_t count,
                  PyObject *kwnames);
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

/* ---- overlay.c: attributes and variables that were assigned or deleted ---- */

/* `existed`: before the call. */
bool overlay_delete(tracer *t, overlay *o, PyObject *key, bool existed);
void overlay_walk(roll_walk *w, const tracer *t);
bool overlay_apart(tracer *t, struct apart *a);
void overlay_finish(tracer *t);
uint32_t overlay_count(const overlay *o); /* `o` may be NULL */
const overlay_slot *overlay_at(const overlay *o, uint32_t i);

/* ---- apart.c: guards that two objects stay two ---- */

/* An object that the captured code changes. */
typedef struct apart_changed {
  PyObject *object;
  const source *source;
} apart_changed;

struct apart {
  const pointer_map *unread; /* live object -> the lazy value through which it is changed */
  apart_changed *changed;
  uint32_t count, capacity;
  int pairs; /* guards of two objects so far */
};

/* Notes an object that is changed. Its own dictionary and the globals are kept apart from it at
 * once. False after a break. */
bool apart_from_all(tracer *t, PyObject *object, const source *s, struct apart *a);
/* Adds the guards. To be called when all objects that change have been noted. */
bool apart_finish(tracer *t, struct apart *a);

#endif
