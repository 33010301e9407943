/* What a capture gives back: its graph, guards, recipes of results, effects; and its memory. */
#ifndef LOOM_FRONTEND_CAPTURED_CAPTURED_H
#define LOOM_FRONTEND_CAPTURED_CAPTURED_H

#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/guard.h"
#include "graph/graph.h"

typedef struct recipe recipe; /* how one Python object is rebuilt after a run (recipe.c) */

typedef enum recipe_kind {
  RECIPE_CONST,  /* object */
  RECIPE_SOURCE, /* source: the live object itself (an argument returned as it is) */
  RECIPE_OUTPUT, /* number: output of the graph as a new array (payload: the adapter's description)
                  */
  RECIPE_SCALAR, /* number: output of the graph (0-d) as a NumPy scalar or Python number */
  RECIPE_VIEW,   /* a view of items[0] with payload (shape, strides, offset) */
  RECIPE_TUPLE,  /* items */
  RECIPE_LIST,
  RECIPE_SET,
  RECIPE_FROZENSET,
  RECIPE_DICT, /* items: key, value, key, value, ... */
  RECIPE_SLICE,
  RECIPE_CALL,   /* items[0](*items[1:]): only for exact, pure constructors */
  RECIPE_SIZE,   /* number: an int that follows from the sizes of this call */
  RECIPE_ITEM,   /* item `number` of the list items[0] */
  RECIPE_SHARED, /* number: an earlier recipe of this capture: the same object (identity, cycles) */
  RECIPE_ROWS,   /* among the items of a list or tuple: the items are repeated `number` times, with
                    rows of outputs, from the row on that the payload, a number of the graph, names */
  RECIPE_ROW     /* within those, number: output of the graph: one row of it, as an array of its own
                    (payload of the adapter) or a Python number */
} recipe_kind;

struct recipe {
  recipe_kind kind;
  const source *source;
  PyObject *object;
  int64_t number;
  uint32_t count;
  recipe **items;
  void *payload;
  size_t payload_size;
};

/* Effects are made in order after a run with a good status, before the result is returned. */
typedef struct effect {
  enum {
    EFFECT_WRITE_ARRAY /* copy output `number` into the array `target` (source or view) */
  } kind;
  recipe *target;
  int64_t number;
  int64_t report; /* slot of `hosts`: how the library reports a floating-point exception of the one
                     operation that made the output, or -1 */
  bool uncounted; /* a tensor's own count of writes stays as it is: written by t.data or by NumPy */
  bool given; /* one operation of the library has written the output into the whole array, given as
                 out= */
} effect;

/* A change of another object than an array. Changes are made in order, when everything has been
 * read (effects.c). */
typedef enum change_kind {
  CHANGE_ATTR,  /* made: object, value; the attribute `key` is set, or deleted */
  CHANGE_ITEM,  /* made: dict, key, value: set, or deleted */
  CHANGE_RENEW, /* made: dict: cleared if it is empty, so that it forgets where it had its keys */
  CHANGE_CELL,  /* made: cell, content: set, or emptied */
  CHANGE_SLICE, /* made: list, items: they take the place of its items [from, to) */
  CHANGE_CALL, /* made: object of an exact builtin type, arguments of its method `key`; with a tuple
                  as `key` of the object itself, which names the last ones */
  CHANGE_ADVANCE /* made: iterator of a builtin type; taken `to` items further, or to its end */
} change_kind;

typedef struct change {
  change_kind kind;
  recipe *made;  /* a tuple; without the value where something is deleted */
  PyObject *key; /* owned */
  Py_ssize_t from, to;
} change;

typedef struct break_info {
  int reason; /* row of breaks.def; 0: none */
  char detail[256];
  loom_location location;
  int64_t step; /* how many instructions of the outermost frame were evaluated before the one that
                   broke; -1: it is not known, or capture cannot end there */
} break_info;

/* What became of a loop of the user: for logs and explain() (loops/roll_note.c). */
typedef enum loop_fate {
  LOOP_ROLLED,   /* its body is in the graph once */
  LOOP_UNROLLED, /* once for each iteration */
  LOOP_LEFT      /* Python runs it, around what is compiled of its body */
} loop_fate;

typedef struct loop_record {
  loom_location location; /* of its head */
  loop_fate fate;
  int64_t count; /* iterations; -1: not known at capture */
  char why[160]; /* why it is not rolled, or "" */
} loop_record;

typedef struct capture {
  /* The library whose arrays a run reads and makes; NULL: the first one that was registered. */
  const loom_adapter *adapter;
  loom_graph graph;  /* of a packed one only what runs need: loom_graph_interface() */
  loom_bytes packed; /* the whole graph; none: it is in `graph` */
  /* For each graph input: where its array or number comes from. */
  struct capture_input {
    const source *source;
    PyObject *constant; /* LOOM_INPUT_CONST, or a constant array: owned */
    int64_t size;       /* LOOM_INPUT_SCALAR without a source: the number itself */
    int64_t formula;    /* or 1 + the slot of the formula that gives this float; 0: none */
  } *inputs;
  uint32_t input_count;
  guard *guards;
  uint32_t guard_count;
  effect *effects;
  uint32_t effect_count;
  change *changes;
  uint32_t change_count;
  recipe *result;
  recipe **shared; /* RECIPE_SHARED targets */
  uint32_t shared_count;
  bool generators; /* its results include generators that have not begun */
  bool spent;      /* its own changes make one of its guards fail: it adds a key whose absence is
                      guarded */
  bool derived;    /* results have gradients, so a run is only a part of their cost */
  bool sized; /* some numbers of the graph are symbolic; a guard reads each of them, except the late
                 ones */
  uint64_t late;      /* a bit for each symbol that a host call determines */
  loop_record *loops; /* loop_count of them, in the order in which they were met */
  uint32_t loop_count;
  break_info broke; /* reason != 0: nothing else is valid */
  bool stopped;     /* it ends in front of `at`: the result is a tuple of what is present there */
  frame_shape at;
  /* List, by slot of a host call: what the adapter needs to run the call; or NULL. */
  PyObject *hosts;
  PyObject *formulas; /* list, by slot: numbers that Python computes of sizes (values/formula.c); or
                         NULL */
  uint32_t fp_ops; /* union of loom_node_fp over the graph, less what the function itself asked to
                      ignore: 0 means flags never matter */
  uint32_t fp_reported;    /* flags that matter whatever the caller's error state */
  struct capture_warning { /* a warning that the library may give: by one of its operations, on one
                              line of the function's module */
    const char *operation; /* a name that is never freed */
    int32_t line;
    uint32_t flags; /* the floating-point flags that the operation may raise */
  } *warnings;
  uint32_t warning_count;
  uint32_t fp_untold; /* flags of operations that have no row in `warnings` */
  void *tables;       /* sources and other owned storage */
  PyObject **weak;    /* weak_count objects, sorted by address: references to them are borrowed
                         wherever they stand (run/lifetime.c) */
  uint32_t weak_count;
} capture;

/* What a capture owns besides its graph, guards and inputs: capture->tables. */
typedef struct capture_tables {
  struct source_table *sources;
  PyObject *names; /* list: of files and functions, which locations point at */
  recipe **recipes;
  uint32_t recipe_count, recipe_capacity, guard_capacity, input_capacity, effect_capacity,
      change_capacity, shared_capacity;
} capture_tables;

/* ---- captured.c: memory and references of a capture ---- */

/* A SOURCE_FUNCTION without an object reads this: the function that is being called, where several
 * functions share one compiled version. */
extern _Thread_local PyFunctionObject *loom_function_now __attribute__((tls_model("initial-exec")));
/* How many instructions captures in this thread may still evaluate without finding an array
 * operation. 0: they have ended because none were left; -1: any number. */
extern _Thread_local int64_t loom_capture_patience __attribute__((tls_model("initial-exec")));
/* How many calls of disabled functions are on this thread's stack: nothing that they call is
 * compiled. */
extern _Thread_local int disabled_depth __attribute__((tls_model("initial-exec")));
void capture_free(capture *c);
/* capture_compact() gives back unused capacity of its arrays. capture_pack() keeps the graph as
 * packed bytes. Both change nothing when memory is short. */
void capture_compact(capture *c);
void capture_pack(capture *c);
/* Tells a graph, which is that of `c`, what the user calls its inputs. An input whose name is no
 * text has none. */
void capture_name_inputs(const capture *c, loom_graph *graph);
/* The whole graph: that of `c`, or one unpacked into *room, which the caller frees in either case.
 * NULL: out of memory. */
const loom_graph *capture_graph(const capture *c, loom_graph *room);
/* After a run has computed its outputs: does building the result read the object, or a source whose
 * root is the object? */
bool capture_reads(const capture *c, const PyObject *object);
/* Visits every reference that the capture owns. */
int capture_traverse(const capture *c, visitproc visit, void *arg);
/* Visits every reference of the capture, also borrowed ones; an object as often as the capture
 * refers to it. */
int capture_each(const capture *c, visitproc visit, void *arg);
bool capture_borrows(const capture *c, PyObject *object);
int object_order(const void *a, const void *b); /* for qsort() and bsearch(): objects by address */
/* The callback of a version's weak references, which is called when an object dies.
 * version_watches(): is `callback` that one? */
extern PyCFunction loom_version_died;
bool version_watches(PyObject *callback);
/* The plain function (borrowed) behind a compiled callable, NULL when the object is none; set by
 * callable.c. */
extern PyObject *(*loom_callable_unwrap)(PyObject *object);
/* Runs a graph where it is by an object that device/runner.c has made: the answer of a backend.
 * False: it is another object. `*good` is false with an exception. Set by runner.c. */
extern bool (*loom_direct_runner)(PyObject *runner, const loom_buffer *inputs, uint32_t input_count,
                                  const loom_buffer *outputs, uint32_t output_count,
                                  const int64_t *symbols, bool *good);
/* config.disable, or the stance: every function is a plain one (dispatch/stance.c). */
extern bool loom_all_eager;
/* The reason why a callable must not be captured (borrowed, perhaps ""); NULL: it may be. Set by
 * callable.c. */
extern PyObject *(*loom_callable_why_plain)(PyObject *object);

#endif
