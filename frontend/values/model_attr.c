/* Attributes of an OrderedDict, which it has beside its items: those of one made inside are a dict
 * of its model's, those of a live one are read and changed as an instance's are. */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

#define OWN_PART "_own" /* of the model: the attributes of one made inside */

static bool own_is_kept(const value *v) {
  return value_is_instance((value *)v) &&
         model_real(object_class((value *)v)) == (PyObject *)&PyODict_Type;
}

bool model_has_attribute(tracer *t, value *v, PyObject *name) {
  bool outside = t->frame && !model_owns(t->frame->function->globals);
  return outside && own_is_kept(v) && model_owns(object_class(v)) && PyUnicode_CheckExact(name) &&
         !_PyType_Lookup(&PyODict_Type, name);
}

/* The live object that an OrderedDict stands for; NULL: it was made inside. */
static PyObject *own_live(tracer *t, value *v) {
  value *items = v->source ? model_part(t, v, "_dict") : NULL;
  return items ? items->object : NULL;
}

/* NULL with nothing pending: it has no such attribute. */
static value *own_find(tracer *t, value *v, PyObject *name) {
  PyObject *live = own_live(t, v);
  if (live) return object_beside_get(t, live, v->source, name);
  value *own = model_part(t, v, OWN_PART), *key = own ? value_const(t, name) : NULL;
  return key ? dict_get(t, own, key) : NULL;
}

static void *own_missing(tracer *t, PyObject *name) {
  return trace_raise(t, PyExc_AttributeError, "'%s' object has no attribute '%s'",
                     PyODict_Type.tp_name, PyUnicode_AsUTF8(name));
}

value *model_get_attribute(tracer *t, value *v, PyObject *name) {
  value *item = own_find(t, v, name);
  return item || trace_pending(t) ? item : own_missing(t, name);
}

bool model_set_attribute(tracer *t, value *v, PyObject *name, value *item) {
  if (!item && !own_find(t, v, name)) {
    if (!trace_pending(t)) own_missing(t, name);
    return false;
  }
  PyObject *live = own_live(t, v);
  if (live) return object_beside_put(t, live, v->source, name, item);
  value *own = model_part(t, v, OWN_PART);
  if (!own && (!(own = value_dict(t)) || !model_give_attributes(t, v, own))) return false;
  value *key = value_const(t, name);
  return key && (item ? dict_put(t, own, key, item) : dict_remove(t, own, key));
}

/* Of a live one that has none yet a guard says that it goes on to have none. */
static value *own_of_live(tracer *t, PyObject *live, const source *s) {
  if (object_beside_none(t, live, s) || trace_pending(t)) return NULL;
  value *v = value_object_new(t, (PyObject *)&PyODict_Type);
  if (!v) return NULL;
  v->object = live;
  v->source = s;
  return object_dict(t, v);
}

value *model_attributes(tracer *t, value *v) {
  if (!own_is_kept(v)) return NULL;
  PyObject *live = own_live(t, v);
  if (live) return own_of_live(t, live, v->source);
  return model_part(t, v, OWN_PART);
}

bool model_give_attributes(tracer *t, value *v, value *attributes) {
  value *part = value_str(t, OWN_PART);
  return part && dict_put(t, v->any.b, part, attributes);
}

/* ---- as a result ----------------------------------------------------------------------------- */

/* gave(made, attributes): the OrderedDict, with these attributes. */
static PyObject *own_give(PyObject *module, PyObject *const *args, Py_ssize_t count) {
  PyObject *key, *item;
  if (count != 2 || !PyDict_Check(args[1])) return PyErr_BadArgument(), NULL;
  for (Py_ssize_t pos = 0; PyDict_Next(args[1], &pos, &key, &item);)
    if (object_give(args[0], key, item)) return NULL;
  return Py_NewRef(args[0]);
}

/* function(made, argument) */
static recipe *own_completed(tracer *t, recipe *made, recipe *function, recipe *argument) {
  recipe *r = made && function && argument ? trace_recipe(t, RECIPE_CALL) : NULL;
  if (!r) return trace_pending(t) ? NULL : trace_fail(t);
  if (!(r->items = calloc(3, sizeof *r->items))) return trace_fail(t);
  r->items[r->count++] = function;
  r->items[r->count++] = made;
  r->items[r->count++] = argument;
  return r;
}

/* The model's `__rest__` gives a function and what it is called with, behind the object itself. */
static recipe *own_rest(tracer *t, value *v, recipe *made) {
  PyObject *name = name_interned(t, "__rest__");
  if (!name || !made || !_PyType_Lookup((PyTypeObject *)object_class(v), name)) return made;
  value *rest = trace_method(t, v, "__rest__", NULL, 0);
  if (!rest || !value_is_tuple(rest) || rest->seq.count != 2)
    return trace_pending(t) ? NULL : trace_fail(t);
  recipe *function = trace_rebuild(t, rest->seq.items[0]);
  return own_completed(t, made, function, function ? trace_rebuild(t, rest->seq.items[1]) : NULL);
}

recipe *model_rebuild_attributes(tracer *t, value *v, recipe *made) {
  static PyMethodDef method = {"gave", (PyCFunction)(void (*)(void))own_give, METH_FASTCALL, NULL};
  value *own = made && own_is_kept(v) ? model_part(t, v, OWN_PART) : NULL; /* made inside */
  if (!own) return trace_pending(t) ? NULL : own_rest(t, v, made);
  recipe *give = trace_rebuild_const(t, PyCFunction_New(&method, NULL));
  return own_completed(t, made, give, give ? trace_rebuild(t, own) : NULL);
}
