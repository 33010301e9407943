/* The frontend: from a call of a compiled callable to a captured graph, guards and a recipe for the results.
 *
 * Knows Python and the captured graph (graph/), calls the runtime, never MLIR or LLVM. NumPy and torch live behind
 * the adapter table: nothing here but numpy/ includes their headers.
 *
 * Sections by file: source.c, guard.c, capture results (capture.c), value/ and trace.c (the evaluator), the adapter
 * table, recipe.c (results and effects), callable.c.
 */
#ifndef LOOM_FRONTEND_H
#define LOOM_FRONTEND_H

#include "frontend/error.h"
#include "frontend/python.h"
#include "graph/graph.h"
#include "runtime/runtime.h"
#include "targets/compiler.h"

typedef struct tracer tracer;
typedef struct roll_walk roll_walk;
typedef struct value value;

/* ==== sources: where a live object comes from; hash-consed, the only key for guards, rebuilding and aliasing ========= */

typedef enum source_kind {
  SOURCE_ARG,     /* index: argument slot (positional, then keyword-only, then *args tuple, then **kwargs dict) */
  SOURCE_GLOBAL,  /* key (a str) in the globals (then builtins) of `object` (a function's globals dict) */
  SOURCE_CELL,    /* index: closure cell of the function `base` */
  SOURCE_ATTR,    /* key: attribute of base: of a type, looked up along its MRO; of a module, in its dictionary; of a
                     function, its own (__code__, ...); else in the instance dictionary or a slot, never the type */
  SOURCE_ITEM,    /* key: constant item of base (tuple, list, dict, or what is over them); of a type, what its own
                     dictionary holds */
  SOURCE_DEFAULT, /* index: positional default of the function `base` */
  SOURCE_KWDEFAULT,
  SOURCE_FUNCTION, /* the compiled function itself */
  SOURCE_CONST,    /* `object` itself, owned: a root for attributes of types and modules that no source names */
  SOURCE_SELF,     /* __self__ of a bound method `base` */
  SOURCE_FUNC,     /* __func__ of a bound method `base` */
  SOURCE_DERIVED   /* key: name of a pure C accessor: "__class__" is the type, others are the adapters' (derived) */
} source_kind;

typedef struct source {
  source_kind kind;
  const struct source *base; /* or NULL */
  PyObject *object, *key;    /* owned by the source table of the capture */
  Py_ssize_t index;
} source;

/* "a.b[0]" as a user would write it; a new string. */
PyObject *source_name(const source *s);
/* Reads the source again on this call's arguments: a new reference, NULL without an exception when it is gone. Runs
 * no Python code. */
PyObject *source_read(const source *s, PyObject *const *args);
PyObject *source_attribute(PyObject *base, PyObject *name); /* as a SOURCE_ATTR is read */
/* What a SOURCE_FUNCTION without an object reads: the function that is called, where functions share what is compiled. */
extern _Thread_local PyFunctionObject *loom_function_now __attribute__((tls_model("initial-exec")));
PyObject *source_thread(void); /* an object whose derived sources read the state of the thread; borrowed */

/* ==== guards ============================================================================================================ */

#include "frontend/objects.h"

typedef enum guard_kind {
  GUARD_TYPE,      /* exact type is `object` */
  GUARD_IDENTITY,  /* is `object` */
  GUARD_NUMBER,    /* exact type and bits of an int, float, complex, bool, str, bytes or None equal `object`'s */
  GUARD_LENGTH,    /* the length that a list, tuple, dict or set has by itself is `number` */
  GUARD_DICT_KEYS, /* keys of a dict, in order, are the tuple `object` */
  GUARD_MISSING,   /* the source cannot be read */
  GUARD_PRESENT,   /* it can */
  GUARD_ARRAY,     /* adapter->guard_array(object read, payload) */
  GUARD_SAME,      /* source and source2 read one object (number 1) or two different ones (number 0) */
  GUARD_DISJOINT,  /* extents of two arrays (source and source2) do not overlap */
  GUARD_APART,     /* a guard_apart: of many arrays some overlap none */
  GUARD_NONZERO,   /* an exact float is not 0 */
  GUARD_IN_PARTS,  /* a guard_parts: what the object consists of (lifetime.c) */
  GUARD_SIZE,      /* a size_guard: reads a symbol, or compares sizes */
  GUARD_CUSTOM     /* adapter->guard(...) with payload: process state and the like */
} guard_kind;

/* Numbers that change from call to call are symbols of the graph. Payload of GUARD_SIZE; `left` and `right` are
 * numbers of the graph, constant or symbolic (see loom_stride in graph.h). */
typedef enum size_field {
  SIZE_OF_INT,
  SIZE_OF_DIM,
  SIZE_OF_STRIDE, /* in elements */
  SIZE_OF_FLOAT   /* no size: an exact float that is an input of the graph once it has changed */
} size_field;
typedef enum size_test {
  SIZE_BINDS,   /* what `field` of the source reads is `right` times the value of symbol `left`, which is in its range */
  SIZE_READS,   /* what is read equals `left` */
  SIZE_EQUAL,   /* left == right */
  SIZE_DIFFERS, /* left != right */
  SIZE_LESS,    /* left < right */
  SIZE_AT_MOST, /* left <= right */
  SIZE_COMPUTES, /* symbol `left` is the int that formula `right` gives, in its range */
  SIZE_ANSWERS  /* formula `right` gives the truth `left` */
} size_test;
typedef struct size_guard {
  size_test test;
  size_field field;
  int32_t axis;
  int64_t left, right;
} size_guard;
#define LOOM_MAX_SYMBOLS 48 /* of one capture */

/* Payload of GUARD_APART: the first `written` arrays overlap none of the `count`. */
typedef struct guard_apart {
  uint32_t written, count;
  const source *sources[];
} guard_apart;

/* Payload of GUARD_IN_PARTS: the object has this exact type, and consists of these (borrowed). */
#define GUARD_PARTS 16
typedef struct guard_parts {
  PyTypeObject *type;
  int count;
  PyObject *parts[GUARD_PARTS];
} guard_parts;
bool guard_parts_hold(const guard_parts *p, PyObject *object);
/* What a guard can look at in place of the object: how many pointers to `out`, with room for GUARD_PARTS; or -1. */
int object_parts(PyObject *object, PyObject **out);

typedef struct loom_adapter loom_adapter;

typedef struct guard {
  guard_kind kind;
  const source *source, *source2;
  PyObject *object; /* owned */
  int64_t number;
  const loom_adapter *adapter;
  void *payload; /* malloc'ed, owned, flat */
  size_t payload_size;
  loom_location location; /* the user's line that caused it */
  int64_t step;           /* the instruction of the outermost frame that did, as in break_info; -1: none */
} guard;

/* ==== what capture gives back ============================================================================================= */

typedef struct recipe recipe; /* how one Python object is rebuilt after a run (recipe.c) */
typedef enum recipe_kind {
  RECIPE_CONST,    /* object */
  RECIPE_SOURCE,   /* source: the live object itself (an argument returned as it is) */
  RECIPE_OUTPUT,   /* number: output of the graph as a new array (payload: the adapter's description) */
  RECIPE_SCALAR,   /* number: output of the graph (0-d) as a NumPy scalar or Python number */
  RECIPE_VIEW,     /* a view of items[0] with payload (shape, strides, offset) */
  RECIPE_TUPLE,    /* items */
  RECIPE_LIST,
  RECIPE_SET,
  RECIPE_FROZENSET,
  RECIPE_DICT,     /* items: key, value, key, value, ... */
  RECIPE_SLICE,
  RECIPE_CALL,     /* items[0](*items[1:]): only for exact, pure constructors */
  RECIPE_SIZE,     /* number: an int that follows from the sizes of this call */
  RECIPE_ITEM,     /* item `number` of the list items[0] */
  RECIPE_SHARED,   /* number: an earlier recipe of this capture: the same object (identity, cycles) */
  RECIPE_ROWS,     /* among the items of a list or tuple: all items, `number` times over, with rows from that on which
                      the payload, a number too, names */
  RECIPE_ROW       /* within those, number: output of the graph: one row of it, as an array of its own (payload: of the
                      adapter) or a Python number */
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

/* Done in order after a run whose status is good, before the result is handed over. */
typedef struct effect {
  enum { EFFECT_WRITE_ARRAY /* copy output `number` into the array `target` (source or view) */ } kind;
  recipe *target;
  int64_t number;
  int64_t report; /* slot of `hosts`: how the library reports a floating-point exception of the one operation that
                     made the output, or -1 */
  bool given; /* the output is what one operation of the library wrote into all of the array, given as out= */
} effect;

/* What is done to other objects than arrays, in order, when everything that is read has been read (effects.c). */
typedef enum change_kind {
  CHANGE_ATTR,  /* made: object, value; the attribute `key` is set, or deleted */
  CHANGE_ITEM,  /* made: dict, key, value: set, or deleted */
  CHANGE_CELL,  /* made: cell, content: set, or emptied */
  CHANGE_SLICE, /* made: list, items: they take the place of its items [from, to) */
  CHANGE_CALL,  /* made: object of an exact builtin type, arguments of its method `key` */
  CHANGE_ADVANCE /* made: iterator of a builtin type; taken `to` items further, or to its end */
} change_kind;
typedef struct change {
  change_kind kind;
  recipe *made; /* a tuple; without the value where something is deleted */
  PyObject *key; /* owned */
  Py_ssize_t from, to;
} change;

typedef struct break_info {
  int reason; /* row of breaks.def; 0: none */
  char detail[256];
  loom_location location;
  int64_t step; /* how many instructions of the outermost frame were evaluated before the one that broke; -1: it is
                   not known, or capture cannot end there */
} break_info;

#define LOOM_MAX_SLOTS 256 /* of a frame that is left or entered in the middle */
typedef struct slot_set {
  uint64_t bits[LOOM_MAX_SLOTS / 64];
} slot_set;
static inline bool slot_has(const slot_set *s, Py_ssize_t i) { return s->bits[i / 64] >> i % 64 & 1; }
static inline void slot_add(slot_set *s, Py_ssize_t i) { s->bits[i / 64] |= (uint64_t)1 << i % 64; }
static inline void slot_add_all(slot_set *s, const slot_set *more) {
  for (int i = 0; i < LOOM_MAX_SLOTS / 64; i++)
    s->bits[i] |= more->bits[i];
}
static inline bool slot_any(const slot_set *s) {
  uint64_t all = 0;
  for (int i = 0; i < LOOM_MAX_SLOTS / 64; i++)
    all |= s->bits[i];
  return all != 0;
}
static inline void slot_drop(slot_set *s, Py_ssize_t i) { s->bits[i / 64] &= ~((uint64_t)1 << i % 64); }
/* What a frame's locals and stack hold in front of an instruction. Slots are its locals and cells (free variables have
 * none), then the items of its stack. */
typedef struct frame_shape {
  int32_t unit; /* of the instruction, in code units of co_code */
  int32_t depth;
  int32_t handled;  /* how many handlers of exceptions it is inside of: if any, a slot for the exception comes last */
  slot_set present; /* bound locals, items that are not NULL */
} frame_shape;

/* What became of a loop of the user's: for logs and explain() (roll_note.c). */
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
  bool generators;  /* among what it makes are generators that have not begun */
  bool spent;       /* its own changes end what it guards: it fills a gap in a dictionary */
  bool sized;       /* some numbers of the graph are symbolic: each has a guard that reads it, but for: */
  uint64_t late;    /* the symbols that host calls introduce */
  loop_record *loops; /* loop_count of them, in the order in which they were met */
  uint32_t loop_count;
  break_info broke; /* reason != 0: nothing else is valid */
  bool stopped;     /* it ends in front of `at`: the result is a tuple of what is present there */
  frame_shape at;
  PyObject *hosts;  /* list, by slot of a host call: what the adapter needs to run it; or NULL */
  PyObject *formulas; /* list, by slot: numbers that Python computes of sizes (value/formula.c); or NULL */
  uint32_t fp_ops;  /* union of loom_node_fp over the graph, less what the function itself asked to
                       ignore: 0 means flags never matter */
  uint32_t fp_reported; /* flags that matter whatever the caller's error state */
  struct capture_warning { /* what the library would warn of: by one operation of its, on one line of the function's module */
    const char *operation; /* for ever */
    int32_t line;
    uint32_t flags; /* that it may raise */
  } *warnings;
  uint32_t warning_count;
  uint32_t fp_untold; /* flags of operations that are not among these */
  void *tables;     /* sources and other owned storage */
  PyObject **weak;  /* weak_count objects, sorted, that are not owned wherever they stand (lifetime.c) */
  uint32_t weak_count;
} capture;

/* What a callable has learnt of one size (or stride) of an array, or of an int, by the name of its source. */
typedef enum size_state {
  SIZE_STATIC, /* has not changed so far */
  SIZE_SYMBOL, /* changes: a symbol of the next capture */
  SIZE_PINNED  /* capture has to know it */
} size_state;
typedef struct size_fact {
  char *name; /* of the source; owned */
  uint64_t hash; /* of the name */
  size_field field;
  int32_t axis;
  size_state state;
  uint32_t group; /* facts of one group are taken for one symbol: all are that symbol plus their offset */
  int64_t offset;
  bool apart;     /* it has had a symbol of its own */
  bool of_library; /* SIZE_OF_FLOAT: a number of a library, not of Python */
  bool skip;      /* a constant in the capture now being made */
  int64_t min, max;
  int64_t unit;   /* divides it in all calls that the next capture is for: its symbol is how often */
  int64_t before, now; /* how it changed when it was last seen to */
  int64_t symbol; /* in the capture now being made: a number, 0: none yet */
} size_fact;
typedef struct size_table {
  size_fact *facts;
  uint32_t count, capacity;
  bool always; /* all sizes are symbols from the start */
  bool never;  /* none is */
} size_table;
#define SIZE_DIM_MAX ((int64_t)1 << 40) /* of a dimension; more is left to constants */
void size_table_clear(size_table *table);
/* The fact about the source with this name; NULL: there is none. */
size_fact *size_table_find(size_table *table, const char *name, size_field field, int axis);
/* The fact with this key, made when there is none; NULL when out of memory. */
size_fact *size_table_get(size_table *table, const source *s, size_field field, int axis);

/* What the number of an argument slot (an exact float or a library's scalar) becomes: guarded by value; an input of the
 * graph, unless capture has to know its value; an input, and what has to know its value breaks. */
typedef uint8_t number_mode;
enum { NUMBER_KNOWN, NUMBER_INPUT, NUMBER_APART };

/* Instructions that captures in this thread may still evaluate as long as they find no array operation, 0 when they have
 * ended for want of more; -1: any number. */
extern _Thread_local int64_t loom_capture_patience __attribute__((tls_model("initial-exec")));

/* Calls of disabled functions in this thread: nothing below one is compiled. */
extern _Thread_local int disabled_depth __attribute__((tls_model("initial-exec")));

/* Captures one call of `function` (a plain Python function) with bound arguments. Argument slots are those of
 * SOURCE_ARG. `modes` (NULL: all NUMBER_KNOWN) says what their numbers become. `sizes`
 * (NULL: none is symbolic) says which sizes become symbols, and learns which must not. Never runs user code; a
 * Python exception is set (and NULL returned) only for MemoryError and KeyboardInterrupt. */
capture *capture_function(PyFunctionObject *function, PyObject *const *args, Py_ssize_t count,
                          const number_mode *modes, size_table *sizes);
/* The same from `start` (NULL: the function's beginning), where argument slots are those of a frame_shape. */
capture *capture_from(PyFunctionObject *function, const frame_shape *start, PyObject *const *args, Py_ssize_t count,
                      const number_mode *modes, size_table *sizes);
/* What can be captured before the instruction at which capture_from() broke (`step` of its break_info), or before an
 * earlier one when there the frame holds what cannot be rebuilt. NULL without an exception: nothing. */
capture *capture_until(PyFunctionObject *function, const frame_shape *start, PyObject *const *args, Py_ssize_t count,
                       const number_mode *modes, size_table *sizes, int64_t step);
void capture_free(capture *c);
/* Keeps its graph without the room that it has outgrown, or in few bytes, unless memory is short. */
void capture_compact(capture *c);
void capture_pack(capture *c);
/* The whole graph: that of `c`, or one made in *room, to be given up either way. NULL: out of memory. */
const loom_graph *capture_graph(const capture *c, loom_graph *room);
/* Does a run read the object, or something that begins at it, when it has computed the outputs? */
bool capture_reads(const capture *c, const PyObject *object);
/* Notes for each output that an effect writes over an input that the plan may do so at once (overwrites.c). */
void capture_mark_overwrites(capture *c);
int64_t capture_array_input(const capture *c, const source *s); /* the array input that `s` reads; -1: none */
/* Visits every reference that the capture owns. */
int capture_traverse(const capture *c, visitproc visit, void *arg);
/* Visits every reference that it has, also borrowed ones, each as often as it has it. */
int capture_each(const capture *c, visitproc visit, void *arg);
bool capture_borrows(const capture *c, PyObject *object);
int object_order(const void *a, const void *b); /* for qsort() and bsearch(): objects by address */
/* What a version's weak references call when an object dies; and is `callback` that? */
extern PyCFunction loom_version_died;
bool version_watches(PyObject *callback);
/* For tests: (function, args) -> {'graph': str, 'guards': [str], 'known': bool, 'result': object or str,
 * 'break': None or (code, name, detail, file, line, column)}. METH_VARARGS. */
PyObject *loom_debug_capture(PyObject *self, PyObject *args);
/* The same for bytecode: see recode.c. METH_O. */
PyObject *loom_debug_recode(PyObject *self, PyObject *code);
/* Code that can be run in place of another's: see rewrite.c. METH_VARARGS. */
PyObject *loom_debug_rewrite(PyObject *self, PyObject *args);
/* The plain function (borrowed) behind a compiled callable, NULL when the object is none; set by callable.c. */
extern PyObject *(*loom_callable_unwrap)(PyObject *object);
/* Why a callable must not be looked into (borrowed, perhaps ""), NULL when the object is none such; set by callable.c. */
extern PyObject *(*loom_callable_why_plain)(PyObject *object);

/* ==== values: what the evaluator computes with ============================================================================ */

/* What the values of several types have in common, for whoever asks no more than that. */
enum {
  VALUE_IS_SEQUENCE = 1 << 0,  /* a tuple, or a list all of whose items are in `seq` */
  VALUE_IS_LIST = 1 << 1,      /* a list, whatever is known of its items */
  VALUE_IS_ROLLED = 1 << 2,    /* a list that a loop captured once appends to (value/rows.c) */
  VALUE_IS_CONTAINER = 1 << 3, /* a tuple, list, dict or set that is in `seq` as a whole, or read when asked for */
  VALUE_IS_FIXED = 1 << 4,     /* its items are there, and stay what they are, whenever they are taken */
  VALUE_IS_PAIRS = 1 << 5,     /* dict() takes its items for pairs: it is neither a mapping nor another object */
  VALUE_IS_FRESH = 1 << 6,     /* made anew whenever it is asked for: no other object is the same */
  VALUE_IS_RETURNING = 1 << 7, /* an iterator whose end has a value, in t->returned */
  VALUE_IS_FOREIGN = 1 << 8,   /* its owner alone knows what the interpreter's functions of numbers do with it */
};

/* What a loop over an iterator needs to be captured once (roll.c): see iter_left() and those behind it. */
typedef struct loop_slots {
  int64_t (*left)(tracer *t, value *v);
  value *(*ahead)(tracer *t, value *v, int64_t ahead);
  bool (*step)(tracer *t, value *v, int64_t by);
  void (*finish)(value *v);
  void (*walk_bases)(roll_walk *w, value *v);
  bool far; /* it can be taken on by a number that only the run knows */
} loop_slots;

/* Type-driven slots that mirror CPython's, so that generic protocols are written once. A slot that is NULL means
 * "this type has no such slot" (a TypeError, as Python would raise); "not supported yet" is trace_break(). Slots
 * return NULL after trace_raise() or trace_break(). */
struct copy_memo;
typedef struct value_type {
  const char *name;
  uint32_t kinds; /* VALUE_IS_... */
  value *(*unary)(tracer *t, int op, value *v);
  value *(*binary)(tracer *t, int op, value *l, value *r, bool inplace); /* trace_not_implemented(t) to try the other */
  value *(*compare)(tracer *t, int op, value *l, value *r);
  int (*truth)(tracer *t, value *v); /* -1: raise or break */
  value *(*length)(tracer *t, value *v);
  value *(*get_item)(tracer *t, value *v, value *key);
  bool (*set_item)(tracer *t, value *v, value *key, value *item); /* item NULL: delete */
  int (*contains)(tracer *t, value *v, value *item);
  value *(*get_attr)(tracer *t, value *v, PyObject *name);
  bool (*set_attr)(tracer *t, value *v, PyObject *name, value *item);
  value *(*call)(tracer *t, value *v, value *const *args, Py_ssize_t count, PyObject *kwnames);
  value *(*iter)(tracer *t, value *v);
  value *(*next)(tracer *t, value *v); /* NULL with nothing pending: exhausted */
  value *(*reversed)(tracer *t, value *v); /* not_implemented: not followed; NULL: over its items, where its class lets that */
  const loop_slots *loop; /* of an iterator; NULL: loops over it are unrolled */
  PyObject *(*python_type)(tracer *t, value *v); /* borrowed: what type(v) is */
  PyTypeObject *builtin; /* methods of this type, called through it, are those that get_attr finds; or NULL */
  recipe *(*rebuild)(tracer *t, value *v);       /* how to make it again as a result */
  /* The live object when the content is known (value_known): a new reference or NULL; `plain`: as value_plain(). */
  PyObject *(*known)(tracer *t, value *v, bool plain);
  bool (*known_int)(tracer *t, value *v, int64_t *out); /* value_known_int() */
  /* May it be a key, as far as its own hash and equality go? False, perhaps with something pending: no. NULL: if it is a live
   * object of a class whose __hash__ is C. */
  bool (*key)(tracer *t, value *v);
  /* copy.copy(), or where there is a memo copy.deepcopy(). NULL: as what its Python type says. */
  value *(*copy)(tracer *t, value *v, struct copy_memo *memo);
  bool is_object; /* it stands for the live `object`: two values with one object are the same */
  /* Are two values of this type that are not one value the same object all the same? NULL: never. *same is left as it
   * is where they are none such; false after a break. */
  bool (*same)(tracer *t, value *l, value *r, bool *same);
  void (*walk)(roll_walk *w, value *v); /* looks at what it holds (value/walk.c); NULL: loops over such a value are unrolled */
  /* In place of `walk`, where the value is no object that is the same in the next iteration: of what stands in *holder. */
  void (*walk_place)(roll_walk *w, value **holder);
} value_type;

#define VALUE_REMOVED ((uint32_t)1 << 24) /* by so much an item that is removed adds to the changes of a dict or set */
struct value {
  const value_type *type;
  const source *source; /* where it was read from, or NULL when made here */
  PyObject *object;     /* the live object of a constant (borrowed from the tracer's keep-alive list), or NULL */
  bool chosen;          /* one of two objects: only the run knows which (trace_choose) */
  uint16_t lent, lender; /* a copy that stands for an object in the iteration that stands for all of a loop, and an
                            object that has such (value/gather.c): places of the loops, or 0 */
  struct lent_item *from; /* which item of a list a lent one is, or NULL */
  union {
    struct { value **items; Py_ssize_t count; uint32_t capacity, changes; } seq; /* tuple, list; dict: key, value, ...;
                                 set. `changes`: of the last two, how often there may have been some */
    struct { loom_value node; void *layout; } array;                 /* adapters: see numpy/numpy.h */
    struct { loom_value node; int64_t size; } number; /* symbolic Python int, float or bool; without a node an int
                                                         that is a number of the graph (see size.c) */
    struct { value *function, *self; } method;
    struct { value *content; } cell;
    struct { void *a, *b; Py_ssize_t i, n; } any;                    /* the value type's own */
  };
};

extern const value_type value_const_type, value_tuple_type, value_list_type, value_dict_type, value_set_type,
    value_slice_type, value_function_type, value_method_type, value_cell_type, value_iterator_type,
    value_number_type, value_exception_type, value_null_type;

/* For code that has to do with values of this very type, as what it makes of an argument. What a value does in an operation
 * is the business of a slot. */
static inline bool value_is_const(const value *v) { return v->type == &value_const_type; } /* it has a Python object */
static inline bool value_is_number(const value *v) { return v->type == &value_number_type; } /* one that is not known */
static inline bool value_is_tuple(const value *v) { return v->type == &value_tuple_type; }
static inline bool value_is_list(const value *v) { return v->type == &value_list_type; } /* not a rolled one */
static inline bool value_is_dict(const value *v) { return v->type == &value_dict_type; }
static inline bool value_is_set(const value *v) { return v->type == &value_set_type; } /* or a frozen one */
static inline bool value_is_slice(const value *v) { return v->type == &value_slice_type; }
static inline bool value_is_function(const value *v) { return v->type == &value_function_type; }
static inline bool value_is_cell(const value *v) { return v->type == &value_cell_type; }
static inline bool value_is_made_exception(const value *v) { return v->type == &value_exception_type; } /* here */
static inline bool value_is_sequence(const value *v) { return v->type->kinds & VALUE_IS_SEQUENCE; }
static inline bool value_is_any_list(const value *v) { return v->type->kinds & VALUE_IS_LIST; }
static inline bool value_is_container(const value *v) { return v->type->kinds & VALUE_IS_CONTAINER; }

value *value_new(tracer *t, const value_type *type);
value *value_const(tracer *t, PyObject *object);                     /* no source: made here or immortal */
value *value_wrap(tracer *t, PyObject *object, const source *s);     /* a live object: guarded when used */
/* An object that a pure call has just made: tuples, lists, dicts and sets of builtin objects become local values.
 * Takes over the reference. */
value *value_made(tracer *t, PyObject *object);
value *value_tuple(tracer *t, value *const *items, Py_ssize_t count);
value *value_list(tracer *t, value *const *items, Py_ssize_t count);
/* An instance of `type`, a subclass of tuple that keeps tuple's own behaviour; else a break. */
value *value_tuple_of(tracer *t, PyObject *type, value *const *items, Py_ssize_t count);
value *value_method(tracer *t, value *function, value *self);
/* The live object when the value is wholly known (constants, tuples and lists of them): a new reference, NULL
 * without an exception when some part is not known. Adds the guards that knowing it needs. */
PyObject *value_known(tracer *t, value *v);
/* The same, but only when it is made of nothing but exact builtin types (numbers, str, bytes, None, Ellipsis, slices,
 * ranges, tuples, lists, dicts, sets): calling pure C functions with it runs no user code. */
PyObject *value_plain(tracer *t, value *v);
bool value_known_int(tracer *t, value *v, int64_t *out); /* by __index__ of exact types; false: not known */
PyObject *value_type_of(tracer *t, value *v);            /* borrowed */
bool value_has_data(const value *v); /* a number that is data, or a tuple or list with one */

/* Generic protocols with Python's own dispatch order. */
value *trace_unary(tracer *t, int op, value *v);
value *trace_binary(tracer *t, int op, value *l, value *r, bool inplace);
value *trace_compare(tracer *t, int op, value *l, value *r);
int trace_truth(tracer *t, value *v);
value *trace_get_item(tracer *t, value *v, value *key);
value *trace_get_attr(tracer *t, value *v, PyObject *name);
value *trace_call(tracer *t, value *callee, value *const *args, Py_ssize_t count, PyObject *kwnames);
value *trace_iter(tracer *t, value *v);
value *trace_next(tracer *t, value *v);
/* The constant that an instance of a Python class over int, float, complex, str or bytes is; NULL: it is none, or its
 * class has one of these attributes. */
value *value_scalar_of(tracer *t, const value *v, const char *const *hooks);
value *dict_whole(tracer *t, value *v); /* the pairs of a dict value as they are now, to be read at once */
#define TRACE_MAX_ITEMS 1000000 /* of one sequence */
/* Unpacks any iterable of known length into a tuple value. */
value *trace_to_tuple(tracer *t, value *v);
/* The same as list() and tuple() do it, which ask an object how many there are when they have its iterator. */
value *trace_listed(tracer *t, value *v);
bool trace_ask_count(tracer *t, value *v); /* the question alone */
/* The same for what makes a list of other iterables first (PySequence_Fast): those are asked for an iterator, and that one for
 * its own. */
value *trace_fast(tracer *t, value *v);
/* Are the items made one by one while they are taken, maybe by code that shows it? Those of other values are there already. */
bool value_items_come(const value *v);
/* For builtins that do something with each item before they take the next: an iterator, over the items that are there or over
 * those that come. */
value *trace_each(tracer *t, value *v);

/* Operators, as the BINARY_OP of CPython 3.11 numbers them (NB_ADD ...). Unary: */
enum { UNOP_NEG, UNOP_POS, UNOP_INVERT, UNOP_NOT, UNOP_ABS };

/* ==== the tracer =========================================================================================================== */

/* The three ways in which a step can end besides well: */
void *trace_raise(tracer *t, PyObject *exception_type, const char *format, ...); /* as the user's code would raise */
void *trace_raise_live(tracer *t);            /* turns the pending Python exception into a traced one */
/* What is being raised is raised by the operation itself, behind a break: its type, its text, or what it has done by then is not followed. */
void *trace_raise_plainly(tracer *t, const char *format, ...);
void *trace_break(tracer *t, int reason, const char *format, ...); /* reasons: breaks.def */
value *trace_not_implemented(tracer *t);      /* a marker value for binary and compare slots */

loom_graph *trace_graph(tracer *t);
loom_location trace_location(tracer *t);      /* of the user's instruction now being evaluated */
/* Appends a node with the current location; NULL attrs when the op has none. LOOM_NO_VALUE after trace_break(). */
loom_value trace_node(tracer *t, loom_opcode op, const loom_value *operands, uint32_t count, const loom_attr *attrs,
                      uint32_t attr_count, const loom_type *type);
/* From here on `condition`, a bool, is taken to be `truth`: when it is not, the plain function runs (assume.c). */
bool trace_assume(tracer *t, loom_value condition, bool truth);
/* The value, or a constant in its place when the node just made for it has only constant operands. A break when the
 * library would report a floating-point exception for it at every call (constants.c). */
loom_value constants_fold(tracer *t, loom_value v);
void trace_guard(tracer *t, guard g);         /* takes over g's object and payload */
const source *trace_source(tracer *t, source_kind kind, const source *base, PyObject *object, PyObject *key,
                           Py_ssize_t index); /* hash-consed */
/* For what recurses along the user's objects: false, with a break, when capture has used up its share of the C stack
 * (lists that hold themselves, or many levels of them). */
bool trace_goes_deeper(tracer *t);
bool trace_pending(const tracer *t); /* an exception is being raised, or capture has broken off */
void *trace_alloc(tracer *t, size_t bytes);   /* zeroed, lives as long as the capture is being made */
/* An array of such memory with room for one more; NULL: out of memory. */
void *trace_more(tracer *t, void *array, uint32_t count, uint32_t *capacity, size_t size);
PyObject *trace_keep(tracer *t, PyObject *object); /* takes the reference, returns it borrowed */

/* Notes, and logs, what became of the loop whose head is now being evaluated: the last word on a place holds. */
void trace_note_loop(tracer *t, loop_fate fate, int64_t count, const char *format, ...);

/* For adapters. A new graph input read from `s` on each call (or the constant `constant`, whose reference it takes). */
loom_value trace_input(tracer *t, loom_input_kind kind, const loom_type *type, const int64_t *strides, const source *s,
                       PyObject *constant);
/* ---- sizes known only when run (size.c): numbers of the graph, constant or symbolic. After false, -1 or NULL
 * something is pending. ---- */

/* A size of a live array, or an int (field SIZE_OF_INT), that `s` reads: a constant `now`, or a symbol with its guard. */
bool size_read(tracer *t, const source *s, size_field field, int axis, int64_t now, int64_t *out);
/* Has the float (the library's number) that `s` reads been seen to change? */
bool size_float_changes(tracer *t, const source *s);
bool size_number_changes(tracer *t, const source *s);
/* Numbers of libraries that were inputs are known from now on, perhaps for want of their values capture broke. False:
 * there are none, but for those that have been known and changed all the same. */
bool size_know_numbers(size_table *table);
/* Capture has to know it: starts again. False when it is none, or has been known and changed all the same. */
bool size_know_float(tracer *t, const source *s);
/* Takes over what mark_dynamic and mark_static said of a live array that `s` reads (mark.c). */
bool size_apply_marks(tracer *t, PyObject *array, const source *s);
PyObject *loom_py_mark(PyObject *module, PyObject *args);
/* Guards that the field which `s` reads equals `number`. */
void size_guard_reads(tracer *t, const source *s, size_field field, int axis, int64_t number);
/* Every int of a program that becomes a size, a stride, an offset, a step, an axis or an index passes here: false, after
 * a break, when it is too large to be one. The library says what is wrong with it. */
bool size_from_int(tracer *t, int64_t number);
bool size_op(tracer *t, loom_expr_kind kind, int64_t a, int64_t b, int64_t *out);
bool size_minus(tracer *t, int64_t a, int64_t b, int64_t *out);
int64_t size_hint(tracer *t, int64_t number); /* its value in this very call */
/* Decided by the ranges of the symbols, else by this call's sizes and a guard: 1, 0, -1. */
int size_less(tracer *t, int64_t a, int64_t b);
int size_equal(tracer *t, int64_t a, int64_t b);
/* a / b where b divides a in this call, as a product that stays exact on others. */
bool size_divide(tracer *t, int64_t a, int64_t b, int64_t *out);
/* Starts again with a unit for a symbol that the number divides, exactly in this call; false when it divides none. */
bool size_make_exact(tracer *t, int64_t number);
/* Are two sizes of types equal? When they are, but by other symbols, capture starts again with one symbol. */
int size_same(tracer *t, loom_dim a, loom_dim b);
/* As a size in a type: symbolic ones are at least 2, by a guard; smaller ones have to be known. Must not be negative. */
bool size_admit(tracer *t, int64_t number, loom_dim *out);
/* Capture has to know the value: it starts again with all symbols in it as constants. */
void size_know(tracer *t, int64_t number);
/* The number must not be too large for 64 bits: by a guard. False after a failure. */
bool size_exists(tracer *t, int64_t number);
/* The number as data: an int64 without dimensions. */
loom_value size_node(tracer *t, int64_t number);
/* As a Python int. */
value *value_size(tracer *t, int64_t number);
/* A size that the host call made next will tell: a new symbol, which may be any number from 0 on; or the number that it
 * has turned out to have to equal, which that call checks. */
bool size_late(tracer *t, loom_dim *out);
/* The symbol behind such a size as data: an int64 that the call gives. */
void size_set_late_node(tracer *t, loom_dim size, loom_value node);
bool size_is_late(tracer *t, int64_t number);
bool size_any_late(const tracer *t); /* is there any? */
/* The index of a loop that is captured once, 0 to count - 1: a symbol of its body, which is `index` as data. False
 * with nothing pending: there are too many. No size may depend on it. */
bool size_loop(tracer *t, int64_t count, loom_value index, int64_t *out);
bool size_is_looped(tracer *t, int64_t number); /* does it depend on one? */
/* What a number is in the first iteration of the innermost loop whose index it depends on. */
bool size_at_first(tracer *t, int64_t number, int64_t *out);
/* number + step * iteration */
bool size_at_iteration(tracer *t, int64_t number, int64_t step, int64_t iteration, int64_t *out);
/* Is it such a size whose call has not been made yet? */
bool size_wants_node(tracer *t, loom_dim size);
/* Takes such a size to be at least 2, as code wants that has not been looked through for smaller ones. */
void size_not_small(tracer *t, int64_t number);
/* Does a size of the type depend on one of these symbols? */
bool size_type_is_late(const loom_graph *graph, const loom_type *type, uint64_t late);
/* An int that is known, or a symbolic one: false with nothing pending when it is neither (or too large). */
bool value_size_of(tracer *t, value *v, int64_t *out);
loom_value number_node(tracer *t, value *v); /* the value of a value_number_type */
bool number_is_size(const value *v);         /* an int that is a number of the graph */
void number_ask(tracer *t, value *v);        /* capture has to know its value */
bool size_type_is_symbolic(const loom_type *type);
/* A type, and strides (or NULL), as they are when the symbols have these values; false when a size overflows. */
bool size_resolve(const loom_graph *graph, const loom_type *type, const int64_t *strides, const int64_t *symbols,
                  loom_type *type_out, int64_t *strides_out);

/* Is the number that `s` reads to be captured as an input of the graph, not by its value? */
bool trace_symbolic(const tracer *t, const source *s);
/* A new graph output; its number. */
int64_t trace_output(tracer *t, loom_value v, const int64_t *strides);
void **trace_state(tracer *t, const loom_adapter *adapter); /* a pointer of the adapter's own, NULL at first */
recipe *trace_recipe(tracer *t, recipe_kind kind); /* zeroed, owned by the capture; its payload and items are malloc'ed */
recipe *trace_rebuild(tracer *t, value *v);        /* RECIPE_SHARED when the value was asked for before */
/* Rebuilds the items of a container (v->seq) into the recipe `r`, which it gives back. */
recipe *trace_rebuild_items(tracer *t, recipe *r, value *v);
/* A call of `function`, whose reference it takes, with these values. */
recipe *trace_rebuild_call(tracer *t, PyObject *function, value *const *args, Py_ssize_t count);
/* An iterator over a sequence, made again where it stands (-1: at its end). */
value *iter_array(tracer *t, value *array, int64_t count); /* as NumPy's iter(array) gives it */
recipe *iter_recipe(tracer *t, value *sequence, Py_ssize_t index, bool reverse);
void trace_effect(tracer *t, effect e);
void trace_change(tracer *t, change c); /* takes over its key */
/* From here on the function ignores these floating-point flags, and reports those. */
void trace_fp_state(tracer *t, uint32_t ignored, uint32_t reported);
/* Nodes made from here on are those of an operation that the code itself asks for: by this name (which lasts) the library
 * warns of it. NULL: of anything else. */
void trace_operation(tracer *t, const char *name);
/* value/walk.c: for value types and adapters, which tell what of the state of the evaluator they hold, in an order that
 * depends on nothing but its shape. */
void roll_token(roll_walk *w, uint64_t token); /* something that has to stay as it is */
void roll_pointer(roll_walk *w, const void *p);
bool roll_seen(roll_walk *w, const void *object); /* notes it; true when it was come to before */
void roll_value(roll_walk *w, value **holder);
void roll_exactly(roll_walk *w, value **holder); /* ints in it stay what they are */
/* A value of the graph (or LOOM_NO_VALUE), which may change; `changed` is told of it. */
void roll_node(roll_walk *w, loom_value *at, void *owner, void (*changed)(tracer *t, void *owner));
/* A number of the graph, which may change by as much in every iteration. */
void roll_whole(roll_walk *w, int64_t *number, void *owner, void (*changed)(tracer *t, void *owner));
void roll_is_lent(roll_walk *w, const value *v); /* notes whether it is (value/gather.c) */
void roll_refuse(roll_walk *w, const char *what); /* loops over such a state are unrolled */
/* Cached reads of this value of the graph and later ones are to be forgotten. */
loom_value roll_scrub(const roll_walk *w);
/* standin.c: a function for each frame being captured, the outermost first: a new tuple; and callable(*args, **kwargs)
 * from within them. */
PyObject *trace_standins(tracer *t);
PyObject *standin_call(PyObject *standins, PyObject *callable, PyObject *args, PyObject *kwargs);
int64_t trace_host(tracer *t, PyObject *row); /* takes the reference; the slot of a host call */

#define LOOM_BREAK(CODE, NAME, TEXT, HINT) BREAK_##NAME = CODE,
enum break_reason {
  BREAK_NONE = 0,
#include "frontend/breaks.def"
};
#undef LOOM_BREAK

/* ==== adapters: NumPy, later torch ============================================================================================ */

struct loom_adapter {
  const char *name;
  bool (*init)(void); /* at import; false with an exception set */
  /* Makes a value of a live object of this library (arrays, scalars, dtypes, ufuncs, functions); NULL without a raise
   * or break when the object is not this library's. */
  value *(*wrap)(tracer *t, PyObject *object, const source *s);
  /* An object of the library that never changes (a dtype, a ufunc): guarded by identity; its attributes are read, and
   * it is compared and hashed, by the library's own C code. */
  bool (*immutable)(PyObject *object);
  /* Has a Python function or a class a row in names.def? Then it is not inlined: `call` gets it. */
  bool (*has_row)(PyObject *callee);
  /* A call of one of the library's C callables (or of a function with a row in names.def) that reached the generic
   * call of a constant. Sets *mine to false when it is not this library's. */
  value *(*call)(tracer *t, PyObject *callee, value *self, value *const *args, Py_ssize_t count, PyObject *kwnames,
                 bool *mine);
  /* A call of a function of the user's that is not looked into: `fake` (NULL: the function itself) is called on made-up
   * arrays and tells what its results are like. */
  value *(*opaque)(tracer *t, PyObject *callable, PyObject *fake, const char *name, value *const *args,
                   Py_ssize_t count, PyObject *kwnames);
  /* The function has returned: adds the effects on arrays that were written. Called before the result is rebuilt;
   * false after a raise or break. */
  bool (*finish)(tracer *t);
  /* Looks at what the adapter itself remembers of the capture (value/walk.c). */
  void (*walk)(tracer *t, roll_walk *w);
  /* Blocks of the caller that are written, bit i for the i-th that was looked at (the first 64); *count: all of them. */
  uint64_t (*written)(tracer *t, uint32_t *count);
  /* Takes these to be written from here on, with what they hold. False after a break. */
  bool (*write_back)(tracer *t, uint64_t which);
  /* A number of the library's, known so far, as one of the graph; NULL with nothing pending: it is none. */
  value *(*walk_scalar)(tracer *t, PyObject *object);
  /* The truth of an object of the library's that is not known at capture, as a bool of the graph; LOOM_NO_VALUE, with
   * nothing pending, when there is no such thing. */
  loom_value (*condition)(tracer *t, value *v);
  /* `yes` where `condition` (a bool of the graph) holds, else `no`, when that is an object of the library's of one type
   * in either case; NULL with nothing pending when it is not. */
  value *(*choose)(tracer *t, loom_value condition, value *yes, value *no);
  /* Reads a SOURCE_DERIVED of a live object: a new reference; NULL without an exception when it has none. */
  PyObject *(*derived)(PyObject *base, PyObject *key);
  /* Checks a live array against the payload of GUARD_ARRAY: flat C, no Python. */
  bool (*guard_array)(PyObject *object, const void *payload);
  /* A GUARD_ARRAY in words: "a: float32[16, 4]"; a new string. */
  PyObject *(*describe)(PyObject *name, const void *payload);
  /* A hash of what matters to capture in an object of this library; 0 when it is not one. */
  Py_hash_t (*fingerprint)(PyObject *object);
  /* GUARD_SIZE: reads a size or stride of a live array whose guard held; false when it has none such. */
  bool (*size)(PyObject *object, size_field field, int axis, int64_t *out);
  /* Which sizes of a live object fail a GUARD_ARRAY that holds otherwise? Bits by axis: sizes, and strides that do not
   * follow from them. False when something else fails. */
  bool (*sizes_differ)(PyObject *object, const void *payload, uint32_t *sizes, uint32_t *strides);
  int64_t (*guarded_size)(const void *payload, size_field field, int axis); /* of a GUARD_ARRAY */
  PyObject *(*words)(PyObject *object); /* "float32[3]"; NULL without an exception when it is no array */
  /* GUARD_DISJOINT: the memory extents of two live arrays do not overlap. */
  bool (*disjoint)(PyObject *a, PyObject *b);
  bool (*apart)(PyObject *const *objects, uint32_t written, uint32_t count); /* GUARD_APART */
  bool (*guard)(const void *payload, PyObject *object);
  /* Data pointer of element [0, ..., 0] of a live array whose guard held. */
  void *(*data)(PyObject *array);
  /* Bits of a number of the library for a LOOM_INPUT_SCALAR of `dtype`; false when it is none. With `dtype`
   * LOOM_DTYPE_COUNT: of its own type, only to see whether two numbers differ. */
  bool (*scalar_bits)(PyObject *number, loom_dtype dtype, uint64_t *out);
  /* GUARD_CUSTOM of a number: is this another one of the same type? */
  bool (*number_differs)(const void *payload, PyObject *object);
  PyObject *(*number)(const void *payload); /* the guarded one: a new object */
  /* A new array for an output: allocates from the runtime's blocks, sets *data. `symbols`: this call's, of `graph`. */
  PyObject *(*new_output)(const void *payload, const loom_graph *graph, const int64_t *symbols, void **data);
  /* RECIPE_SCALAR, RECIPE_VIEW, EFFECT_WRITE_ARRAY. */
  PyObject *(*scalar)(const void *payload, const void *data);
  PyObject *(*view)(PyObject *base, const void *payload, const loom_graph *graph, const int64_t *symbols);
  /* Lists that loops captured once append to (value/rows.c). Where the contents are noted of an array that was made
   * here and owns its memory, or of a number of the library's; NULL: it is another value. *parts: what others that
   * share it have in common with it. */
  loom_value *(*row_at)(value *v, const void *parts[2]);
  bool (*row_like)(const value *a, const value *b); /* of two such: of one kind, size and layout */
  value *(*row_new)(tracer *t, const value *like, loom_value node);
  bool (*row_fits)(tracer *t, const value *like, loom_type *stack, int64_t rows); /* the type of so many of them */
  /* A RECIPE_ROW: *output is that of the stack, -1 at first. */
  /* Arrays and numbers of the library's as items of a list that a loop goes through (value/gather.c): what owns the
   * block; NULL: it cannot be a row. */
  value *(*lender)(value *v);
  /* A live list of alike items as arrays, inputs of the graph, one for each number or array in an item: one of them;
   * NULL: it is none. `like`: such an item; *count: how many there are, a number. */
  value *(*stack_live)(tracer *t, PyObject *list, const source *s, value **like, loom_value *stacks, uint32_t room,
                       int64_t *count);
  bool (*row_is_small)(tracer *t, const value *v); /* so that to copy it costs next to nothing */
  loom_value (*read)(tracer *t, value *v);         /* its elements */
  loom_value (*numbers)(tracer *t, loom_dtype dtype, const uint64_t *bits, int64_t count); /* known ones, as data */
  recipe *(*row_recipe)(tracer *t, const value *like, loom_value stack, int64_t *output);
  PyObject *(*row)(const void *payload, const loom_graph *graph, const int64_t *symbols, const void *stack, int64_t i);
  bool (*write)(PyObject *target, const loom_type *type, const int64_t *strides, const void *data);
  /* The data of `target` when a run may write the elements straight into it: it has this type and these strides (in
   * elements), is aligned and writeable. Else NULL. */
  void *(*direct)(PyObject *target, const loom_type *type, const int64_t *strides);
  /* Would the library's state report one of these floating-point flags (loom_fp_flag bits)? 1, 0, or -1 on error. */
  int (*flags_matter)(uint32_t flags);
  /* When they do: for each row of the capture's warnings, by which of these flags it would be seen, in a function with
   * these globals, of those in `rows` (NULL: any). *matter: those of the flags that are reported at all. False when not
   * by warnings. */
  bool (*warnings_shown)(const struct capture *c, PyObject *globals, uint32_t flags, const uint32_t *rows, uint32_t *matter,
                         uint32_t *shown);
  /* Reports floating-point flags as the operation would have from the user's line, by the row that an effect's `report`
   * names; -1 with an exception set. */
  int (*report)(PyObject *row, uint32_t flags);
  /* Runs a captured graph in the reference interpreter on arrays: a tuple of new arrays. */
  PyObject *(*graph_run)(const struct capture *c, PyObject *const *args, Py_ssize_t count);
  /* A read-only array of a buffer that `owner` keeps alive. */
  PyObject *(*buffer_wrap)(const loom_buffer *buffer, PyObject *owner);
  /* Copies an array or a number into a buffer; false with a TypeError or ValueError that calls it `what`. */
  bool (*buffer_store)(const loom_buffer *buffer, PyObject *from, const char *what);
  /* Host calls: runs the function in the slot on buffers (see numpy/host.c). What owns the memory of results that come
   * without any goes to the list *kept, made when it is NULL. */
  int (*host_call)(void *context, const char *name, uint32_t slot, void **buffers, uint32_t reads, uint32_t count,
                   int64_t *symbols, PyObject **kept);
};

extern const loom_adapter loom_numpy_adapter;
#define LOOM_MAX_ADAPTERS 4
const loom_adapter *const *loom_adapters(void); /* NULL-terminated */
/* Makes it one of them, and calls its init(): false with an exception. */
bool loom_adapter_register(const loom_adapter *adapter);

/* ==== checked kernels (checked.c) ====================================================================================================== */

bool checked_wanted(void); /* by the setting */
/* Sets frameloom.BoundsError. */
void checked_raise(const char *text);

/* ==== settings and logs (config.def, log.c) ================================================================================== */

typedef struct loom_settings {
  const char *logs, *trace, *backend, *cpu, *check; /* never NULL; owned */
  int64_t disable, recompile_limit, error_on_recompile, cache, fastmath, unroll_limit, leave_slower, put_off, suppress_errors,
      capture_data_dependent;
} loom_settings;
extern loom_settings loom_config;
extern void (*loom_config_changed)(void); /* called when a number among them has been set; or NULL */
bool loom_config_init(void); /* reads the environment */
/* Warns of what the runtime has noted. False with an exception: a filter of the user's made it one. */
bool loom_warn_notices(void);
PyObject *loom_py_notices(PyObject *module, PyObject *unused);

enum {
  LOOM_LOG_BREAKS = 1,
  LOOM_LOG_GUARDS = 2,
  LOOM_LOG_GRAPH = 4,
  LOOM_LOG_RECOMPILES = 8,
  LOOM_LOG_CACHE = 16,
  LOOM_LOG_TIME = 32,
  LOOM_LOG_KERNELS = 64,
  LOOM_LOG_BYTECODE = 128,
  LOOM_LOG_DYNAMIC = 256,
  LOOM_LOG_HOST_CALLS = 512,
  LOOM_LOG_GRAPH_CODE = 1024,
  LOOM_LOG_SIDE_EFFECTS = 2048,
  LOOM_LOG_SCHEDULE = 4096
};
extern uint32_t loom_log_mask;
/* Writes "[frameloom breaks] ..." to sys.stderr when the category is on; PyUnicode_FromFormat's formats. */
void loom_log(uint32_t category, const char *format, ...);
/* For the module's table: names, types, defaults and docs of all settings; reading and writing one. */
PyObject *loom_py_settings(PyObject *module, PyObject *unused);
PyObject *loom_py_get_setting(PyObject *module, PyObject *name);
PyObject *loom_py_set_setting(PyObject *module, PyObject *args);

/* ==== guards, compiled (guard.c) ================================================================================================ */

typedef struct guard_program guard_program;
/* Orders and flattens the guards of a capture, which must outlive the program. NULL with MemoryError. */
guard_program *guard_program_new(const capture *c);
void guard_program_free(guard_program *p);
int guard_program_traverse(guard_program *p, visitproc visit, void *arg);
/* Gives up the dictionaries that the capture borrows now. */
void guard_program_let_go(guard_program *p, const capture *c);
/* Do all guards hold? Runs no Python code, sets no exception. The values of the capture's symbols go to `symbols`, which
 * has room for LOOM_MAX_SYMBOLS. */
bool guard_program_check(guard_program *p, PyObject *const *args, int64_t *symbols);
/* What each guard of the capture costs a call that all hold for, in ns: malloc'ed, NULL when out of memory. Guards by
 * name share the look at the versions of their dictionaries. */
double *guard_program_cost(guard_program *p, const capture *c, PyObject *const *args);
/* The first guard that fails (one pass in the order of capture), or NULL. */
PyObject *formula_words(const capture *c, int64_t slot); /* "int((a.shape[0] * 0.5))"; a new string */
#define FORMULA_OPERANDS 3
/* Operators of a formula's row besides those of Python's binary ones (NB_ADD ...). */
enum { FORMULA_NEG = 32, FORMULA_ABS, FORMULA_SQRT, FORMULA_FLOAT, FORMULA_LOG, FORMULA_COMPARE };
/* An operator on two live numbers; NULL, perhaps without an exception, when there is no result. */
PyObject *const_operate(int op, PyObject *l, PyObject *r, bool inplace);
bool const_too_large(int op, PyObject *l, PyObject *r); /* the result would take the machine's memory or minutes */
/* What a formula gives on a call whose symbols are these: new reference; NULL, without an exception, when it gives
 * nothing. */
PyObject *formula_now(const capture *c, int64_t slot, const int64_t *symbols);
bool formula_int_now(const capture *c, int64_t slot, const int64_t *symbols, int64_t *out);
const guard *guard_first_failure(const capture *c, PyObject *const *args);
PyObject *guard_number_words(const capture *c, int64_t number); /* "a.shape[0]*2"; a new string */
/* The first one from number *from on, which is moved behind it. */
const guard *guard_next_failure(const capture *c, PyObject *const *args, int64_t *symbols, uint32_t *from);
PyObject *guard_describe(const capture *c, const guard *g); /* a new string: "a: float32[16]" */
PyObject *guard_words(PyObject *object); /* its repr(), of an int of very many digits how large it is; a new string */

/* ==== results and effects of one run (recipe.c, effects.c) ========================================================================= */

typedef struct loom_run {
  const capture *captured;
  const loom_adapter *adapter;
  PyObject *const *args;
  const int64_t *symbols; /* of this call */
  PyObject **arrays; /* for each output: its array, or NULL for a temporary block; of an effect: its target, when the
                        plan writes straight into it */
  void **data;       /* for each output */
  PyObject **shared; /* for each shared recipe: the object once it exists */
} loom_run;

PyObject *recipe_build(loom_run *run, const recipe *r); /* new reference */
/* The OUTPUT recipe of output `number` anywhere below `r`, or NULL. */
const recipe *recipe_find_output(const recipe *r, int64_t number);
/* Builds the result, then does what the run does to objects that existed before: all that is read of them has been by
 * then. *changed: something may have been. NULL with an exception. */
PyObject *effects_commit(loom_run *run, bool *changed);

/* ==== compiling a graph (compile.c) ================================================================================================ */

typedef struct loom_compile_report {
  bool cached;              /* from the disk */
  double load_ms, total_ms; /* opening the compiler library (0: it was open); everything */
  loom_compile_info info;   /* zero when cached */
} loom_compile_report;

/* A loaded plan for the graph, from the disk cache or the compiler library. Called without the GIL; signal handlers run
 * meanwhile, and when one raises it fails at once, with an exception set. `title`: what is compiled, for users. */
bool loom_compile_plan(const loom_graph *graph, const loom_compile_options *options, const char *title, bool cache,
                       loom_plan **out, loom_compile_report *report, loom_error *err);
/* The compiler library's part of it, on this thread; an empty key: nothing is cached. */
bool loom_compile_here(const loom_graph *graph, const loom_compile_options *options, const loom_bytes *key,
                       loom_plan **out, loom_compile_report *report, loom_error *err);
/* The same on a thread of its own, see compile_apart.c. */
bool loom_compile_apart(const loom_graph *graph, const loom_compile_options *options, const loom_bytes *key,
                        const char *title, loom_plan **out, loom_compile_report *report, loom_error *err);
/* A plan's poll, called without the GIL. */
int loom_poll_signals(void *context);
/* The interpreter ends: no compilation begins any more, and those under way are waited for, some seconds at most. */
void loom_compile_close(void);
/* The interpreter has begun: the end of the process on this thread is its end, too. */
void loom_compile_watch(void);

/* ==== the callable (callable.c, entry.c) ============================================================================================ */

extern PyTypeObject loom_callable_type;
bool loom_callable_init(PyObject *module);
/* Rows of breaks.def: (code, name, text, hint). */
PyObject *loom_py_reasons(PyObject *module, PyObject *unused);
PyObject *loom_py_reset(PyObject *module, PyObject *unused);
/* frameloom.graph_break(), skip_frame() and is_compiling(), as plain Python calls them (capture: builtins.def). */
PyObject *loom_py_graph_break(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *loom_py_skip_frame(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *loom_py_is_compiling(PyObject *module, PyObject *unused);
/* rules.c: functions that the user has marked: custom operators, those allowed and not allowed in the graph. */
PyObject *loom_py_set_rule(PyObject *module, PyObject *args);
/* The call of a marked object: NULL with nothing pending when it is not marked. */
value *rules_call(tracer *t, value *callee, value *const *args, Py_ssize_t count, PyObject *kwnames);
extern Py_ssize_t loom_rule_count;
/* stance.c: what the process does about functions that would have to be compiled. */
PyObject *loom_py_set_stance(PyObject *module, PyObject *name);
PyObject *loom_py_get_stance(PyObject *module, PyObject *unused);

/* Kernels of a plan: their first stages, so that it is known for plans of the disk cache too. */
unsigned loom_plan_kernel_count(const loom_plan *plan);

/* Code, text, hint of a reason in breaks.def. */
const char *loom_break_text(int reason, const char **name_out, const char **hint_out);

/* times.c: a clock that only goes forward. */
uint64_t loom_clock_ns(void);
uint64_t loom_busy_ns(void); /* of this thread, on a CPU: what others do there is not in it */
double loom_clock_ms(void);

#endif
