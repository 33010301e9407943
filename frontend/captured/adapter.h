/* The libraries whose arrays are captured, each a table of functions. */
#ifndef LOOM_FRONTEND_CAPTURED_ADAPTER_H
#define LOOM_FRONTEND_CAPTURED_ADAPTER_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "graph/graph.h"
#include "runtime/runtime.h"

typedef struct tracer tracer;
typedef struct roll_walk roll_walk;
typedef struct value value;

struct loom_adapter {
  const char *name;
  bool (*init)(void); /* at import; false with an exception set */
  /* Makes a value of a live object of this library (arrays, scalars, dtypes, ufuncs, functions);
   * NULL without a raise or break when the object is not this library's. */
  value *(*wrap)(tracer *t, PyObject *object, const source *s);
  /* An object of the library that never changes (a dtype, a ufunc): guarded by identity; its
   * attributes are read, and it is compared and hashed, by the library's own C code. */
  bool (*immutable)(PyObject *object);
  /* Are two objects the same for capture, as keys of dictionaries? (Devices, of which each tensor
   * makes new ones.) Runs no Python. */
  bool (*same_key)(PyObject *a, PyObject *b);
  /* Has a Python function or a class a row in names.def? Then it is not inlined, and calls go to
   * `call`. */
  bool (*has_row)(PyObject *callee);
  /* A call of one of the library's C callables (or of a function with a row in names.def) that
   * reached the generic call of a constant. Sets *mine to false when it is not this library's. */
  value *(*call)(tracer *t, PyObject *callee, value *self, value *const *args, Py_ssize_t count,
                 PyObject *kwnames, bool *mine);
  /* A call of a user's function that is not captured: `fake` (NULL: the function itself) is called
   * on made-up arrays, to learn the shapes and dtypes of its results. */
  value *(*opaque)(tracer *t, PyObject *callable, PyObject *fake, const char *name,
                   value *const *args, Py_ssize_t count, PyObject *kwnames);
  /* The function has returned: adds the effects on arrays that were written. Called before the
   * result is rebuilt; false after a raise or break. */
  bool (*finish)(tracer *t);
  /* All results and changes have been rebuilt. False after a raise or break. */
  bool (*complete)(tracer *t);
  /* Adds what the adapter itself remembers of the capture to the state of a loop (values/walk.c).
   */
  void (*walk)(tracer *t, roll_walk *w);
  /* Which of the caller's blocks of memory the capture has written so far: bit i for the i-th block
   * that capture has looked at (the first 64). *count: how many blocks it has looked at. */
  uint64_t (*written)(tracer *t, uint32_t *count);
  /* Marks these blocks as written from here on, with the elements that they hold now. False after a
   * break. */
  bool (*write_back)(tracer *t, uint64_t which);
  /* A known number of the library as a value of the graph. NULL with nothing pending: it is no such
   * number. */
  value *(*walk_scalar)(tracer *t, PyObject *object);
  /* The truth of an object of the library, unknown at capture, as a bool of the graph.
   * LOOM_NO_VALUE with nothing pending: the object has no such truth. */
  loom_value (*condition)(tracer *t, value *v);
  /* A value that is `yes` where `condition` (a bool of the graph) holds and `no` where it does not:
   * two objects of the library, of one type. NULL with nothing pending: they are something else. */
  value *(*choose)(tracer *t, loom_value condition, value *yes, value *no);
  /* Reads a SOURCE_DERIVED of a live object: a new reference. NULL without an exception: the object
   * has no such part. */
  PyObject *(*derived)(PyObject *base, PyObject *key);
  /* Checks a live array against the payload of GUARD_ARRAY: flat C, no Python. */
  bool (*guard_array)(PyObject *object, const void *payload);
  /* A GUARD_ARRAY in words, "a: float32[16, 4]": a new string. */
  PyObject *(*describe)(PyObject *name, const void *payload);
  /* A hash of what matters to capture in an object of this library; 0 when it is not one. */
  Py_hash_t (*fingerprint)(PyObject *object);
  /* For GUARD_SIZE: reads a size or stride of a live array whose GUARD_ARRAY held. False: it has no
   * such axis. */
  bool (*size)(PyObject *object, size_field field, int axis, int64_t *out);
  /* Which sizes of a live object fail a GUARD_ARRAY whose other conditions hold? A bit for each
   * axis: sizes, and strides that do not follow from them. False: something else fails. */
  bool (*sizes_differ)(PyObject *object, const void *payload, uint32_t *sizes, uint32_t *strides);
  int64_t (*guarded_size)(const void *payload, size_field field, int axis); /* of a GUARD_ARRAY */
  /* "float32[3]"; NULL without an exception when it is no array. */
  PyObject *(*words)(PyObject *object);
  /* GUARD_DISJOINT: the memory extents of two live arrays do not overlap. */
  bool (*disjoint)(PyObject *a, PyObject *b);
  bool (*apart)(PyObject *const *objects, uint32_t written, uint32_t count); /* GUARD_APART */
  bool (*guard)(const void *payload, PyObject *object);
  /* Data pointer of element [0, ..., 0] of a live array whose guard held. */
  void *(*data)(PyObject *array);
  /* The bits of a number of the library for a LOOM_INPUT_SCALAR of `dtype`; false: the object is no
   * such number. With `dtype` LOOM_DTYPE_COUNT: the bits in the number's own type, to see whether
   * two numbers differ. */
  bool (*scalar_bits)(PyObject *number, loom_dtype dtype, uint64_t *out);
  /* For a GUARD_CUSTOM of a number: is the object a different number of the same type? */
  bool (*number_differs)(const void *payload, PyObject *object);
  /* The guarded number: a new object. Of another GUARD_CUSTOM, a str that says what holds:
   * "requires a gradient". */
  PyObject *(*number)(const void *payload);
  /* A new array for an output: allocates from the runtime's blocks, sets *data. `symbols`: this
   * call's, of `graph`. */
  PyObject *(*new_output)(const void *payload, const loom_graph *graph, const int64_t *symbols,
                          void **data);
  int (*threads)(void); /* the most that kernels of a call use; 0: no limit */
  /* RECIPE_SCALAR, RECIPE_VIEW, EFFECT_WRITE_ARRAY. */
  PyObject *(*scalar)(const void *payload, const void *data);
  PyObject *(*view)(PyObject *base, const void *payload, const loom_graph *graph,
                    const int64_t *symbols);
  /* Lists that loops captured once append to (values/rows.c). row_at: where the content is stored
   * of an array that was made inside and owns its memory, or of a number of the library; NULL: it
   * is another value. parts: objects that two aliases of it have in common. */
  loom_value *(*row_at)(value *v, const void *parts[2]);
  /* Have two such values one kind, type and layout? */
  bool (*row_like)(const value *a, const value *b);
  value *(*row_new)(tracer *t, const value *like, loom_value node);
  /* The type of a stack of `rows` values like this one. */
  bool (*row_fits)(tracer *t, const value *like, loom_type *stack, int64_t rows);
  /* Arrays and numbers of the library as items of a list that a loop goes through
   * (values/gather.c). lender: the value that owns the memory block; NULL: the value cannot be a
   * row. */
  value *(*lender)(value *v);
  /* A live list of alike items as arrays, which are inputs of the graph: one for each array or
   * number in an item. The result is one of them; NULL: the list is no such list. *like: an item;
   * *count: a number of the graph, how many items there are. */
  value *(*stack_live)(tracer *t, PyObject *list, const source *s, value **like, loom_value *stacks,
                       uint32_t room, int64_t *count);
  /* Is the value so small that a copy costs next to nothing? */
  bool (*row_is_small)(tracer *t, const value *v);
  loom_value (*read)(tracer *t, value *v); /* the elements of a value as a value of the graph */
  /* `count` known numbers as a constant array of the graph. */
  loom_value (*numbers)(tracer *t, loom_dtype dtype, const uint64_t *bits, int64_t count);
  /* A RECIPE_ROW of a stack. *output: the graph's output for the stack, -1 before there is one. */
  recipe *(*row_recipe)(tracer *t, const value *like, loom_value stack, int64_t *output);
  PyObject *(*row)(const void *payload, const loom_graph *graph, const int64_t *symbols,
                   const void *stack, int64_t i);
  bool (*write)(PyObject *target, const loom_type *type, const int64_t *strides, const void *data,
                bool uncounted);
  /* The data of `target` when a run may write the elements straight into it: it has this type and
   * these strides (in elements), is aligned and writeable. Else NULL. `uncounted`, here and above:
   * the library does not count the write. */
  void *(*direct)(PyObject *target, const loom_type *type, const int64_t *strides, bool uncounted);
  /* Does the library's error state report one of these floating-point flags (loom_fp_flag bits)? 1,
   * 0, or -1 on error. */
  int (*flags_matter)(uint32_t flags);
  /* For flags that are reported: shown[i] gets those of `rows[i]` (NULL: of any) that warning i of
   * the capture would show, in a function with these globals. *matter: the flags that are reported
   * at all. False: they are reported by other means than warnings. */
  bool (*warnings_shown)(const struct capture *c, PyObject *globals, uint32_t flags,
                         const uint32_t *rows, uint32_t *matter, uint32_t *shown);
  /* Reports floating-point flags as the operation would have from the user's line, by the row that
   * an effect's `report` names; -1 with an exception set. */
  int (*report)(PyObject *row, uint32_t flags);
  /* Runs a captured graph in the reference interpreter on arrays: a tuple of new arrays. */
  PyObject *(*graph_run)(const struct capture *c, PyObject *const *args, Py_ssize_t count);
  /* A read-only array of a buffer that `owner` keeps alive. */
  PyObject *(*buffer_wrap)(const loom_buffer *buffer, PyObject *owner);
  /* Copies an array or a number into a buffer; false with a TypeError or ValueError that calls it
   * `what`. */
  bool (*buffer_store)(const loom_buffer *buffer, PyObject *from, const char *what);
  /* Host calls: runs the function in the slot on buffers (numpy/host.c). The owners of memory of
   * results that have no buffer of the plan go to the list *kept, which is made when it is NULL. */
  int (*host_call)(void *context, const char *name, uint32_t slot, void **buffers, uint32_t reads,
                   uint32_t count, int64_t *symbols, PyObject **kept);
  /* What runs of the capture draw numbers from: a new object, or NULL with nothing set. Its state,
   * a new object or NULL with an exception; and back to such a state. May be NULL, all of them. */
  PyObject *(*drawn_from)(const struct capture *c);
  PyObject *(*drawn)(PyObject *from); /* a run begins, which ends with drawn_end() */
  void (*draw_again)(PyObject *from, PyObject *state);
  void (*drawn_end)(void);
};

#define LOOM_MAX_ADAPTERS 4
const loom_adapter *const *loom_adapters(void); /* NULL-terminated */
/* Adds an adapter to these, and calls its init(): false with an exception. */
bool loom_adapter_register(const loom_adapter *adapter);

#endif
