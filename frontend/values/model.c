/* Types and functions of the standard library that are written in C and that capture follows in
 * Python: python/frameloom/_models.py says what they mean. A call of the original is a call of the
 * model; an object of a model class says that it is one of the original's. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

#define MODEL_MAX 64

static struct {
  PyObject *model, *real;
} model_types[MODEL_MAX];
static int model_count;

/* The models of the standard library; those of torch come with the capture of tensors. */
static bool models_open(void) {
  static bool open;
  PyObject *module = open ? NULL : PyImport_ImportModule("frameloom._models");
  if (module) open = model_add_module(PyModule_GetDict(module));
  return open;
}

static bool model_remember(PyObject *model, PyObject *real) {
  for (int i = 0; i < model_count; i++)
    if (model_types[i].model == model) return true;
  if (model_count == MODEL_MAX) return false;
  model_types[model_count].model = Py_NewRef(model);
  model_types[model_count++].real = Py_NewRef(real);
  return true;
}

PyObject *model_real(PyObject *cls) {
  for (int i = 0; i < model_count; i++)
    if (model_types[i].model == cls) return model_types[i].real;
  return cls;
}

static bool model_is_strange(tracer *t, PyObject *cls) {
  return model_owns(cls) && !(t->frame && model_is_module(t->frame->function->globals));
}

PyObject *model_named(tracer *t, PyObject *cls, PyObject *name) {
  Py_ssize_t length = PyUnicode_GET_LENGTH(name);
  if (!model_is_strange(t, cls) || length < 5 || PyUnicode_READ_CHAR(name, 1) != '_') return name;
  PyObject *named = trace_keep(t, PyUnicode_FromFormat("_named%U", name));
  if (!named) return trace_fail(t), NULL;
  return _PyType_Lookup((PyTypeObject *)cls, named) ? named : name;
}

bool model_is_private(tracer *t, PyObject *cls, PyObject *name) {
  if (!model_is_strange(t, cls)) return false;
  return PyUnicode_GET_LENGTH(name) > 0 && PyUnicode_READ_CHAR(name, 0) == '_';
}

value *model_of_instance(tracer *t, value *v, PyObject *name) {
  value *content = object_content(v);
  bool in_model = t->frame && model_is_module(t->frame->function->globals);
  bool own = PyUnicode_GET_LENGTH(name) > 1 && PyUnicode_READ_CHAR(name, 0) == '_' &&
             PyUnicode_READ_CHAR(name, 1) != '_';
  if (!in_model || !own || !content || !value_is_instance(content)) return NULL;
  return model_part(t, content, PyUnicode_AsUTF8(name));
}

/* The functions of heapq look into a list, whatever a class over it says. */
static value **model_inside(tracer *t, const builtin_args *a) {
  Py_ssize_t count = a->count + (a->kwnames ? PyTuple_GET_SIZE(a->kwnames) : 0);
  value *content = a->count && strstr(a->name, "heap") ? object_content(a->args[0]) : NULL;
  value **args = trace_alloc(t, sizeof *args * (size_t)(count + 1));
  for (Py_ssize_t i = 0; args && i < count; i++)
    args[i] = a->args[i];
  if (args && content && value_is_list(content)) args[0] = content;
  return args;
}

value *builtin_model(tracer *t, const builtin_args *a) {
  if (!models_open()) return trace_fail(t);
  PyObject *model = model_find(a->name);
  if (!model || (PyType_Check(model) && !model_remember(model, a->callee)))
    return t->constants.not_implemented;
  const source *s = trace_source(t, SOURCE_CONST, NULL, model, NULL, 0);
  value *callee = s ? value_wrap(t, model, s) : NULL, **args = model_inside(t, a);
  return callee && args ? trace_call(t, callee, args, a->count, a->kwnames) : NULL;
}

/* ---- deques that existed before the call ---- */

/* Its items as a list of the model, each with its source. */
static value *deque_items(tracer *t, PyObject *object, const source *s) {
  Py_ssize_t count = Py_SIZE(object);
  guard_simple(t, GUARD_LENGTH, s, NULL, count);
  if (count > MODEL_MAX_ITEMS) return trace_break(t, BREAK_LIMIT, "a deque of %zd items", count);
  value *items = value_list(t, NULL, 0);
  for (Py_ssize_t i = 0; items && i < count; i++) {
    PyObject *item = trace_keep(t, deque_item(object, i));
    PyObject *key = item ? trace_keep(t, PyLong_FromSsize_t(i)) : NULL;
    const source *at = key ? trace_source(t, SOURCE_ITEM, s, NULL, key, 0) : NULL;
    value *v = at ? value_wrap(t, item, at) : NULL;
    if (!v || !seq_append(t, items, v)) return trace_pending(t) ? NULL : trace_fail(t);
  }
  return items;
}

/* ---- objects that existed before the call: the model's attributes lead to what they hold ---- */

static const char *model_name(PyTypeObject *type) {
  if (!python_type_is_builtin(type)) return NULL;
  if (!strcmp(type->tp_name, "collections.deque")) return "deque";
  if (!strcmp(type->tp_name, "collections.defaultdict")) return "defaultdict";
  return type == &PyODict_Type ? "OrderedDict" : NULL;
}

bool model_is_of(PyTypeObject *type) { return model_name(type) != NULL; }
bool object_is_modelled(PyObject *object) { return model_is_of(Py_TYPE(object)); }

static bool model_set(tracer *t, value *v, const char *name, value *item) {
  value *key = item ? value_str(t, name) : NULL;
  return key && dict_put(t, v->any.b, key, item);
}

/* An attribute of the object itself, kept by its type in C. */
static bool model_take(tracer *t, value *v, PyObject *object, const source *s, const char *name) {
  PyObject *key = trace_keep(t, PyUnicode_InternFromString(name));
  PyObject *item = key ? trace_keep(t, model_member(object, key)) : NULL;
  if (!item) key = NULL;
  const source *at = key ? trace_source(t, SOURCE_DERIVED, s, NULL, key, 0) : NULL;
  if (!at) return trace_fail(t);
  return model_set(t, v, name, value_wrap(t, item, at));
}

const char *model_setting(const PyObject *object) {
  return PyDict_Check(object) ? "default_factory" : "maxlen";
}

static bool model_fill(tracer *t, value *v, PyObject *object, const source *s) {
  bool dict = PyDict_Check(object), ordered = PyODict_Check(object);
  if (!ordered && !model_take(t, v, object, s, model_setting(object))) return false;
  value *inside = dict ? live_new(t, object, s, NULL) : deque_items(t, object, s);
  return inside && model_set(t, v, dict ? "_dict" : "_items", inside) &&
         (ordered || shadow_open_model(t, v, object, dict ? NULL : inside));
}

value *model_of_live(tracer *t, PyObject *object, const source *s, PyTypeObject *base) {
  if (!models_open()) return trace_fail(t);
  PyObject *model = model_find(model_name(base));
  if (!model || !model_remember(model, (PyObject *)base)) return trace_fail(t);
  value *v = value_object_new(t, model);
  if (!v || !(v->any.b = value_dict(t))) return NULL;
  v->source = s;
  return model_fill(t, v, object, s) ? v : NULL;
}

value *model_wrap(tracer *t, PyObject *object, const source *s) {
  guard_simple(t, GUARD_TYPE, s, (PyObject *)Py_TYPE(object), 0);
  return model_of_live(t, object, s, Py_TYPE(object));
}

value *model_part(tracer *t, value *v, const char *name) {
  value *own = value_str(t, name);
  return own ? dict_get(t, v->any.b, own) : NULL;
}

value *model_items(tracer *t, value *v) { return model_part(t, v, "_items"); }

/* real(*model.__model__()). */
static recipe *model_rebuild_items(tracer *t, value *v) {
  PyObject *real = model_real(object_class(v));
  value *made = real == object_class(v) ? NULL : trace_method(t, v, "__model__", NULL, 0);
  value *args = made ? trace_to_tuple(t, made) : NULL;
  if (!args)
    return trace_pending(t) ? NULL
                            : trace_break(t, BREAK_UNSUPPORTED_TYPE, "a %s is returned",
                                          ((PyTypeObject *)real)->tp_name);
  recipe *filled = gaps_rebuild_filled(t, real, args->seq.items, args->seq.count);
  if (filled || trace_pending(t)) return filled;
  recipe *r = trace_recipe(t, RECIPE_CALL), *cls = r ? trace_recipe(t, RECIPE_CONST) : NULL;
  if (!cls) return NULL;
  cls->object = Py_NewRef(real);
  r->items = calloc((size_t)args->seq.count + 1, sizeof *r->items);
  if (!r->items) return trace_fail(t);
  r->items[r->count++] = cls;
  for (Py_ssize_t i = 0; i < args->seq.count; i++)
    if (!(r->items[r->count++] = trace_rebuild(t, args->seq.items[i]))) return NULL;
  return r;
}

recipe *model_rebuild(tracer *t, value *v) {
  return model_rebuild_attributes(t, v, model_rebuild_items(t, v));
}
