/* What the files of this folder share. */
#ifndef LOOM_FRONTEND_TENSOR_INTERNAL_H
#define LOOM_FRONTEND_TENSOR_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/numpy.h"
#include "frontend/torch/torch.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

/* A result that requires a gradient, and how a run makes it: a tensor that owns its memory, an
 * output of the graph; or a view whose history is not that of a view, whose elements are `node`. */
typedef struct tensor_result {
  value *v;
  recipe *output;
  loom_value node; /* LOOM_NO_VALUE: what its memory holds at the end */
} tensor_result;

/* A tensor that stands for a number of Python, each for another node, or one over an array. */
typedef struct tensor_foreign {
  value *tensor;
  uint32_t version; /* of its storage when it was made */
} tensor_foreign;

/* What a capture knows of tensors besides their values. */
typedef struct tensor_state {
  pointer_map metas;  /* array of a tensor -> the tensor without memory that stands for it */
  pointer_map values; /* such a tensor -> the value */
  pointer_map asked;  /* sources of tensors of which a guard says whether they require a gradient */
  torch_modes modes;  /* at the begin of the call, which a guard compares */
  bool records;       /* gradients are recorded now */
  bool ran_backward;  /* the function has called backward() */
  PyObject *calls;    /* list (borrowed): all operations so far, as they are called */
  PyObject *numbers;  /* list (borrowed): the objects that stand for numbers among the arguments of
                         a call */
  tensor_foreign *foreign; /* tensors that no operation of torch's makes */
  uint32_t foreign_count, foreign_room;
  PyObject *elements;     /* (borrowed) the object that knows the elements of constants; or NULL */
  PyObject *autocast;     /* (borrowed) the object that follows autocast */
  PyObject *levels;       /* list (borrowed): the levels of vmap, each `(size, randomness)` */
  int transforms;         /* functions around that are differentiated by torch.func */
  value **leaves;         /* tensors from before the call that require a gradient */
  value **made;           /* leaves that the function has made */
  pointer_map parameters; /* arrays of those that are of class Parameter */
  pointer_map grads;      /* array of such a leaf -> what it has in `grad` */
  tensor_result *results;
  value **copies;    /* tensors of which results are copies */
  pointer_map roots; /* of these, those of which there are views -> the copy */
  uint32_t leaf_count, leaf_room, made_count, made_room, result_count, result_room, copy_count,
      copy_room, kept_count;
  struct tensor_watch *watch;     /* code whose changes are watched (functions.c); or NULL */
  struct tensor_section *section; /* a backward() of the user's is being followed; or NULL */
  struct tensor_kept *kept;       /* tensors from before the call, where a checkpoint has begun */
  recipe *attached;               /* the call that makes all results known to autograd; or NULL */
  value **placed;                 /* copies that stand for views whose place is data */
  uint32_t placed_count, placed_room;
} tensor_state;

/* Payload of a GUARD_CUSTOM: torch's modes, or whether a tensor requires a gradient. */
typedef struct tensor_guard {
  bool of_tensor,
    requires;
  torch_modes modes;
} tensor_guard;

/* ---- adapter.c: live tensors as values; the adapter's table ---- */

extern loom_adapter loom_tensor_adapter; /* filled by tensor_init() */
/* NULL after a break: torch is in a state in which nothing is captured. */
tensor_state *tensor_state_of(tracer *t);
/* Does a live tensor require a gradient? Guarded. */
bool tensor_requires(tracer *t, PyObject *live, const source *s);

/* ---- live.c: live tensors, without values ---- */

/* Is torch imported, in a version that this file knows? */
bool tensor_ready(void);
/* An object that a module of the package has under a name. */
typedef struct tensor_name {
  const char *name;
  PyObject **object;
} tensor_name;
/* Reads these objects, which live as long as the process. False with an exception. */
bool tensor_import(const char *module, const tensor_name *names, size_t count);
/* Describes a live tensor; false: capture does not take such a tensor. Strides in bytes. */
bool tensor_describe(PyObject *object, numpy_array_payload *out);
/* Fills the entries of the adapter's table that runs and guards use. */
void tensor_fill_live(loom_adapter *adapter);

/* ---- value.c: the value type ---- */

extern const value_type tensor_value_type;
bool tensor_is(const value *v);
/* The user's tensor that a value is; NULL: it is a view, or was made inside. Borrowed. */
PyObject *tensor_live(const value *v);
/* A tensor that owns its memory; `strides` in bytes, NULL: C order. NULL where `node` is
 * LOOM_NO_VALUE. */
value *tensor_new(tracer *t, loom_value node, const int64_t *strides);

/* A function that tensors have, bound to one. */
value *tensor_bound(tracer *t, value *v, PyObject *descriptor);
bool tensor_is_method(PyObject *descriptor);     /* of the class of tensors */
value *tensor_iter_unbound(tracer *t, value *v); /* over the tensors that unbind() gives */
/* Is it an attribute that the tensor without memory has as the user's tensor? */
bool tensor_attribute_follows(const char *name);

/* ---- batched.c: elements of tensors, as functions under vmap see them ---- */

bool tensor_batched_init(void); /* false with an exception */
bool tensor_is_batched(const value *v);
/* The tensor, or the element of a level further out, of which a value is an element. */
value *tensor_batched_inner(const value *v);
/* The object that stands for an element, given what stands for its tensor. A new reference. */
PyObject *tensor_batched_argument(const value *v, PyObject *inner);
/* What stands for the tensor of such an object: a new reference. NULL: it is another object. */
PyObject *tensor_batched_result(PyObject *o);
value *tensor_batched_of(tracer *t, PyObject *o, value *inner);
/* Is it one of the functions of which the model of vmap consists? */
bool tensor_is_batch_call(const PyObject *callee);
value *tensor_batch_call(tracer *t, const PyObject *callee, value *const *args, Py_ssize_t count);

/* ---- call.c: calls of torch's functions ---- */

bool tensor_call_init(void); /* false with an exception */
/* What autocast is at the begin of a call: a new object. */
PyObject *tensor_autocast_new(void);
/* Is autocast as it was then? */
bool tensor_autocast_is_as_before(const tensor_state *state);
/* Is it a function or class written in Python that is called as a whole? */
bool tensor_has_row(PyObject *callee);
/* Is it an object of torch that never changes: a dtype, a device, ...? */
bool tensor_is_constant(PyObject *object);
bool tensor_is_device(PyObject *object);
value *tensor_call_object(tracer *t, PyObject *callee, value *self, value *const *args,
                          Py_ssize_t count, PyObject *kwnames, bool *mine);
/* function(*args) of a function of torch's. */
value *tensor_call(tracer *t, PyObject *function, value *const *args, Py_ssize_t count);
/* function(*args) of a function of Python's module operator. */
value *tensor_operator(tracer *t, const char *name, value *const *args, Py_ssize_t count);
/* function(self, *args) of a function that tensors have. */
value *tensor_method(tracer *t, PyObject *function, value *self, value *const *args,
                     Py_ssize_t count, PyObject *kwnames);
/* A call of the method `name` of a tensor. */
value *tensor_call_method(tracer *t, value *v, const char *name, value *const *args,
                          Py_ssize_t count);
/* Notes a tensor that no operation of torch's makes. */
bool tensor_add_foreign(tracer *t, value *v);
/* An attribute, read from the tensor without memory that stands for this one. */
value *tensor_attribute(tracer *t, value *v, PyObject *name);

/* For a tensor that is computed from constants alone, a tensor of torch with its elements;
 * borrowed. NULL with nothing pending: it depends on more than constants. */
PyObject *tensor_elements(tracer *t, value *v);
/* A break with the exception that a call of torch has raised. Always NULL. */
void *tensor_call_failed(tracer *t, PyObject *function);

/* ---- numbers.c: from tensors to numbers of Python ---- */

bool tensor_numbers_init(void);
/* item() or tolist() of a tensor; NULL with nothing pending: another method, or not followed. */
value *tensor_numbers(tracer *t, PyObject *function, const char *name, value *v);
/* float() or int() of a tensor: the slot `number`. */
value *tensor_number(tracer *t, value *v, PyTypeObject *to);

/* ---- exchange.c: tensors as arrays and arrays as tensors ---- */

bool tensor_exchange_init(void);
/* numpy(), cpu() and their like of a tensor; NULL with nothing pending: another method, or it
 * raises. */
value *tensor_exchanged(tracer *t, const char *name, value *v);
/* The array in the memory of a tensor, as numpy() gives it; NULL with nothing pending: it raises,
 * or gives something else. */
value *tensor_as_array(tracer *t, value *v);
/* Is it a function that makes a tensor of an array, called with one? */
bool tensor_is_exchange(PyObject *callee, value *const *args, Py_ssize_t count);
value *tensor_from_array(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                         PyObject *kwnames);

/* ---- late.c: sizes that depend on elements ---- */

bool tensor_late_init(void);
/* A call whose sizes depend on elements, or that is followed in parts (_tensor_late.py); NULL with
 * nothing pending: another one. Behind the `count` arguments are `named` ones, by kwnames. */
value *tensor_late(tracer *t, PyObject *function, value *const *args, Py_ssize_t count,
                   Py_ssize_t named, PyObject *kwnames);
bool tensor_is_late_part(const PyObject *callee); /* of which its models consist */
value *tensor_late_part(tracer *t, const PyObject *callee, value *const *args, Py_ssize_t count);

/* ---- placed.c: views whose place depends on elements ---- */

bool tensor_placed_init(void);
bool tensor_is_placed_part(const PyObject *callee); /* of which the model of indices consists */
value *tensor_placed_part(tracer *t, value *const *args, Py_ssize_t count);
/* What was written into such views is written into the tensors that they are of. */
bool tensor_write_placed(tracer *t);

/* ---- sizes.c: symbolic sizes, as torch sees them ---- */

bool tensor_sizes_init(void); /* false with an exception */
/* A number of the graph as torch is given it: an int, or a torch.SymInt. A new reference. */
PyObject *tensor_size_object(int64_t number);
PyObject *tensor_size_numbers(tracer *t, const int64_t *numbers, int count); /* a new tuple */
/* The symbolic number that such a SymInt is. False with nothing pending: another object. */
bool tensor_size_number(PyObject *o, int64_t *out);
bool tensor_has_sizes(tracer *t); /* are there symbolic sizes in this capture? */
/* Capture starts again with all of them constant, for a reason that explain() shows. */
void tensor_know_sizes(tracer *t, const char *why);
/* While a thread makes calls of torch's for a capture. enter() gives what leave() takes. */
tracer *tensor_sizes_enter(tracer *t);
void tensor_sizes_leave(tracer *before);

/* ---- models.c: functions in place of which others are followed ---- */

bool tensor_models_init(void); /* false with an exception */
bool tensor_has_model(PyObject *callee);
/* Is it one of the two functions between which a checkpointed call is? */
bool tensor_is_checkpoint(const PyObject *callee);
value *tensor_checkpoint(tracer *t, const PyObject *callee, value *const *args, Py_ssize_t count);
value *tensor_call_model(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                         PyObject *kwnames);

/* ---- made.c: tensors that Python makes of others ---- */

bool tensor_made_init(void); /* false with an exception */
bool tensor_is_parameter_class(const PyObject *callee);
value *tensor_parameter(tracer *t, value *const *args, Py_ssize_t count, PyObject *kwnames);
PyTypeObject *tensor_made_type(tracer *t, const value *v); /* of a tensor that the function makes */
/* The function whose result decides what this one gives, a bool; NULL: it is another function. */
PyObject *tensor_decision(PyObject *function);
value *tensor_decided(tracer *t, value *v); /* that bool, given such a result */
value *tensor_copy(tracer *t, value *v, struct copy_memo *memo); /* the slot `copy` */

/* ---- functions.c: torch.autograd.Function ---- */

bool tensor_functions_init(void); /* false with an exception */
/* Is it one of the functions of which the model of such a call consists? */
bool tensor_is_function_part(const PyObject *callee);
/* Results of such a call that share memory with arguments get a history of their own. */
bool tensor_is_function_end(const PyObject *function);
void tensor_function_ended(tracer *t, const value *results);
value *tensor_function_part(tracer *t, const PyObject *callee, value *const *args,
                            Py_ssize_t count);

/* ---- backward.c: backward() inside of the function, and `grad` of tensors ---- */

bool tensor_backward_init(void); /* false with an exception */
/* Is it backward(), of tensors or of torch.autograd? */
bool tensor_is_backward(const PyObject *function);
value *tensor_backward(tracer *t, PyObject *function, PyObject *args, PyObject *kwargs);
/* Is it the function that gives gradients, torch.autograd.grad()? */
bool tensor_is_gradient(const PyObject *function);
/* Do the gradients that torch.autograd.grad() was asked for depend on nothing that autograd has
 * recorded before the call? Else false, behind a break. */
bool tensor_gradient_stays_inside(tracer *t, PyObject *args, PyObject *kwargs);
/* Is it the method by which a tensor becomes a leaf, requires_grad_()? */
bool tensor_is_leaf_maker(const PyObject *function);
/* Makes a tensor a leaf that requires a gradient. Gives the tensor. */
value *tensor_make_leaf(tracer *t, value *v);
/* Is it a leaf that the function has made, or a view of one? */
bool tensor_is_made_leaf(const tensor_state *state, const value *v);
value *tensor_grad(tracer *t, value *v);
value *tensor_is_leaf(tracer *t, value *v, PyObject *name); /* the attribute of this name */
bool tensor_set_grad(tracer *t, value *v, value *item);
/* For the adapter's `derived`. */
PyObject *tensor_derived(PyObject *base, PyObject *key);

/* ---- gradient.c: results that require a gradient ---- */

bool tensor_gradient_init(void); /* false with an exception */
/* Does autograd record what is computed of this tensor without memory? */
bool tensor_is_recorded(PyObject *meta);
/* What stands for a tensor from before the call requires a gradient from here on. */
bool tensor_gradient_leaf(tracer *t, value *v, PyObject *meta);
/* The tensors without memory that stand for these: a new tuple. */
PyObject *tensor_metas(tracer *t, value *const *tensors, uint32_t count);
/* For the adapter's `finish` and `complete`. */
bool tensor_gradient_check_writes(tracer *t);
bool tensor_gradient_complete(tracer *t);
/* A recipe with room for `count` items; appends one, NULL: false. */
recipe *tensor_recipe_items(tracer *t, recipe_kind kind, uint32_t count);
bool tensor_recipe_append(recipe *r, recipe *item);

/* ---- results.c: how results are made again ---- */

bool tensor_results_init(void); /* false with an exception */
recipe *tensor_rebuild(tracer *t, value *v);
/* Shares no other result the memory that one is a copy of? Else false, behind a break. */
bool tensor_copies_stand_apart(tracer *t, const tensor_state *state);

/* ---- watched.c: what backward() of a function has read ---- */

bool tensor_watched_init(void); /* false with an exception */
/* Computes gradients like `program`, as long as nothing of it has changed. */
recipe *tensor_watched(tracer *t, recipe *program);

#endif
