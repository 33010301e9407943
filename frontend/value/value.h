/* The evaluator's own structs: decoded code, frames, the tracer. Adapters see only frontend.h.
 *
 * Sections by file: decode.c; trace.c, trace_call.c, trace_build.c, trace_exc.c; value/;
 * builtins.c.
 */
#ifndef LOOM_VALUE_H
#define LOOM_VALUE_H

#include "frontend/frontend.h"

/* ---- decode.c ------------------------------------------------------------------------------- */

typedef enum loom_bytecode {
#define LOOM_BYTECODE(NAME) BC_##NAME,
#include "frontend/bytecode.def"
#undef LOOM_BYTECODE
  BC_COUNT
} loom_bytecode;

typedef struct loom_instr {
  loom_bytecode op;
  int32_t arg;
  int32_t target; /* of a jump: an instruction, else -1 */
  int32_t unit;   /* where it stands in co_code, in code units: never less than the one before */
  int32_t line, column; /* in the file, from 1; column 0: none */
} loom_instr;

/* Row of the exception table: an exception in [begin, end) goes to `target` with `depth` stack
 * items kept. */
typedef struct loom_handler {
  int32_t begin, end, target, depth;
  bool lasti;
} loom_handler;

typedef struct loom_code {
  PyCodeObject *object; /* borrowed */
  loom_instr *instrs;
  loom_handler *handlers;
  int32_t count, handler_count;
  int32_t locals; /* fast locals, cells and free variables together */
  int32_t stack;
} loom_code;

/* Allocated in the arena; NULL with `err` set when the code makes no sense. */
loom_code *loom_decode(PyCodeObject *code, loom_arena *arena, loom_error *err);
void places_read(loom_code *code); /* fills in lines and columns (places.c) */
const char *loom_bytecode_name(loom_bytecode op);
bool loom_local_is_cell(PyCodeObject *code,
                        int32_t local); /* made into one when the function starts */

/* ---- frames --------------------------------------------------------------------------------- */

typedef struct function_data { /* of a value_function_type: `any.a`; any.b is the function's own
                                  name or NULL */
  PyCodeObject *code;
  PyObject *globals;
  value *defaults;    /* tuple value or NULL */
  value *kwdefaults;  /* dict value or NULL */
  value *closure;     /* tuple value of cells or NULL */
  bool annotated;     /* made with annotations: */
  value *annotations; /* tuple or dict value */
  value *attrs;       /* of one made inside: dict value of its __dict__, or NULL */
  PyObject *live;     /* the function itself, when it existed before (borrowed); or NULL */
  value *
      own; /* of one made inside: dict value of __name__ and the like that were assigned, or NULL */
} function_data;

typedef struct frame {
  struct frame *back;
  const loom_code *code;
  function_data *function;
  value **locals; /* NULL: unbound */
  value **stack;
  value *names;   /* of the body of a class: a dict value */
  value *kwnames; /* for the next CALL: a tuple constant */
  value *thrown;  /* generators: to be raised where the frame goes on */
  value *handled; /* generators: the handled exception while suspended */
  int32_t sp, pc;
  struct frame *next_generator;
  bool generator, running, finished, library;
} frame;

int32_t frame_line(const frame *f); /* of the instruction now being evaluated */

typedef enum step { STEP_NEXT, STEP_FAIL, STEP_RETURN, STEP_YIELD } step;

/* ---- the tracer ----------------------------------------------------------------------------- */

typedef enum trace_status {
  TRACE_GOING,
  TRACE_RAISING, /* `raised` travels to a handler */
  TRACE_BROKEN,  /* capture->broke says why */
  TRACE_RESTART, /* a symbolic argument has to be known: start again with `numbers` changed */
  TRACE_ERROR    /* a Python exception of our own: MemoryError, KeyboardInterrupt */
} trace_status;

typedef struct pointer_map { /* open addressing, in the tracer's arena; never shrinks */
  const void **keys;
  void **values;
  size_t count, capacity;
} pointer_map;

/* What a capture owns besides its graph, guards and inputs: capture->tables. */
typedef struct capture_tables {
  struct source_table *sources;
  PyObject *names; /* list: of files and functions, which locations point at */
  recipe **recipes;
  uint32_t recipe_count, recipe_capacity, guard_capacity, input_capacity, effect_capacity,
      change_capacity, shared_capacity;
} capture_tables;

/* Loops that are not captured once (roll.c), by the place of their FOR_ITER: kept from one attempt
 * to the next. */
#define ROLL_BANS 24
typedef struct roll_ban_row {
  PyCodeObject *code;
  int32_t pc;
  int delay;  /* so many iterations are looked at before one is taken for all; or as in roll.c */
  int period; /* so many of them are one */
  int tail;   /* so many are left for the end, each by itself */
  const char *why; /* it is left to Python or unrolled, or NULL */
  bool apart;      /* the items that it goes through are looked at one by one */
  bool lends;      /* these are lent from the first iteration on */
  bool reads;      /* lists that it appends to, so that they are looked at as all others */
  int visible;     /* it reads only so many of their last items */
  uint64_t writes; /* of a branch: blocks of the caller that it writes, see loom_adapter.written */
  struct roll_learnt *learnt; /* of a loop that data may end: what it is known to change; or NULL */
} roll_ban_row;
#define ROLL_LENT 32
#define ROLL_APART 16
typedef struct roll_bans {
  roll_ban_row rows[ROLL_BANS];
  int count, restarts;
  int64_t walked; /* tokens of states that were compared, in all attempts */
  bool all;
  PyObject *apart[ROLL_APART]; /* live lists whose items are looked at one by one (borrowed) */
  int apart_count;
} roll_bans;
/* Added to the place of an instruction: its row is that of a branch, or of a loop with its head
 * there that data may end. */
#define ROLL_BRANCH (1 << 24)
#define ROLL_HERE (1 << 25) /* the same: of what an instruction lends */
#define ROLL_ENDS (2 << 24)
typedef struct roll roll;
typedef struct branch branch;

struct tracer {
  capture *capture;
  capture_tables *tables;
  PyObject *keep; /* list: objects that values point at; gone with the tracer, so that no argument
                     is kept alive */
  loom_arena arena;
  Py_ssize_t live_items; /* of lists and tuples that were there before the call */
  trace_status state;
  value *raised, *handled; /* `handled` NULL: what the caller handles, if anything */
  value
      *returned; /* of the frame that has just finished (also a generator's StopIteration value) */
  frame *frame, *generators;
  frame *root;              /* the outermost frame */
  int64_t root_step;        /* instructions of it that were begun */
  int64_t stop;             /* capture ends in front of this one; -1: at the function's end */
  bool stopped;             /* it has: */
  value *leaving;           /* what was being handled there */
  int32_t handlers;         /* of exceptions that the outermost frame is inside of */
  const frame_shape *start; /* where the outermost frame starts; NULL: at the beginning */
  int depth;
  const char *stack; /* of C, where capture began */
  uint64_t steps;
  bool computes;                /* it has found an array operation */
  uint32_t fp_ignored, fp_seen; /* flags ignored now; those of the nodes made while not ignored */
  const char *operation; /* of the library's, that the code itself asks for and nodes are made of
                            now; or NULL */
  pointer_map wrapped, by_source, codes, rebuilt, guarded;
  pointer_map contents; /* of instances made here of classes over dict and list -> the instance */
  pointer_map made,
      stand_ins; /* classbody.c: objects made for the capture alone; value -> its object */
  PyObject *const *args;
  Py_ssize_t arg_count;
  number_mode *numbers;                    /* of each argument */
  size_table *sizes;                       /* or NULL */
  uint64_t late;                           /* bit for each symbol that a host call introduces */
  loom_value late_nodes[LOOM_MAX_SYMBOLS]; /* their values as data, of those calls */
  int64_t *late_known; /* for each size that a host call tells, in the order of capture: what it has
                          turned out to equal (see size_late) */
  int64_t late_sizes[LOOM_MAX_SYMBOLS]; /* the sizes themselves, so far */
  uint32_t late_count;
  struct shadows *shadows;                    /* shadow.c; or NULL */
  struct live_dict *live_dicts;               /* livedict.c */
  struct overlay *overlays;                   /* overlay.c */
  struct copy_memo *copies;                   /* copy.c */
  struct live_iter *live_iters;               /* liveiter.c */
  struct number_series *series;               /* series.c */
  struct gathered_list *gathered;             /* gather.c */
  uint64_t formula_symbols[LOOM_MAX_SYMBOLS]; /* what a symbol is computed of by a formula */
  uint64_t looped;                            /* bit for each symbol that is the index of a loop */
  int64_t loop_counts[LOOM_MAX_SYMBOLS];      /* iterations of those, as numbers */
  int64_t blamed;    /* the symbol of the loop that is at fault for what is being reported, or -1 */
  int blamed_period; /* it would not be, were so many iterations one; or 0 */
  int blamed_peel, blamed_tail; /* or were so many more at its begin or end left out; or 0 */
  const char *blamed_why;
  bool *never_choose; /* see trace_choose: kept over restarts */
  roll_bans *bans;
  roll *rolls;       /* loops over ranges, the last one begun first */
  branch *branches;  /* that are being evaluated both ways, the innermost first */
  pointer_map flows; /* flow.c */
  pointer_map lives; /* live.c */
  pointer_map noted; /* roll_note.c */
  struct lent_place {
    PyCodeObject *code;
    int32_t pc;
  } lent[ROLL_LENT]; /* loops that are lent items (gather.c) */
  int lent_count;
  const loom_adapter *state_owners[LOOM_MAX_ADAPTERS];
  void *states[LOOM_MAX_ADAPTERS];
  value *none, *true_value, *false_value, *null, *not_implemented;
};

/* tracer.late_known: nothing is known, or it is another of these sizes, else the number itself. */
#define LATE_FREE (-1)
#define LATE_SAME(size) (-2 - (int64_t)(size))

void *pointer_map_get(const pointer_map *map, const void *key);
/* False: out of memory. */
bool pointer_map_set(pointer_map *map, loom_arena *arena, const void *key, void *item);
/* The same in the tracer's arena; false with an error pending. */
bool trace_map_set(tracer *t, pointer_map *map, const void *key, void *item);

struct source_table *source_table_new(void);
void source_table_free(struct source_table *table);
int source_table_traverse(const struct source_table *table, visitproc visit, void *arg);
const source *source_table_get(struct source_table *table, const source *like);
/* Puts None in the place of objects that sources begin at and that are not needed any more. */
void source_table_forget(struct source_table *table,
                         bool (*unneeded)(void *context, PyObject *root), void *context);

/* finalizers.c: an object that the frame's name or stack gives up. False after a break: somebody
 * may see it die. */
bool trace_lets_go(tracer *t, const frame *f, const value *v);
/* A live cell, attribute or variable comes to hold `item` (NULL: nothing) in place of `before`. */
bool trace_gives_up(tracer *t, PyObject *before, const value *item);
/* So does an item of a live dictionary; `count` items of a list are given up, which is a live one,
 * the items of a live deque, or neither. */
bool trace_gives_up_item(tracer *t, PyObject *before, const value *item);
bool trace_gives_up_items(tracer *t, const value *list, Py_ssize_t from, Py_ssize_t count);
/* Evaluates the frame that is being evaluated until it comes to instruction `end`: *met; or
 * returns. */
value *frame_until(tracer *t, frame *f, int32_t end, bool *met);
/* Runs a frame until it returns, yields or fails: NULL after trace_raise() or trace_break(). */
value *frame_run(tracer *t, frame *f, bool *yielded);
frame *frame_new(tracer *t, function_data *function);
bool trace_charge(
    tracer *t,
    Py_ssize_t items); /* a search through that many counts as steps, too: false after a break */
void *trace_fail(tracer *t); /* a Python exception of our own is set: capture ends with it */
bool trace_grow(tracer *t, void *array, uint32_t count, uint32_t *capacity, size_t size);
void trace_restart(tracer *t, Py_ssize_t arg); /* guard this argument by value instead */

#define LOOM_BYTECODE(NAME) step step_##NAME(tracer *t, frame *f, const loom_instr *in);
#include "frontend/bytecode.def"
#undef LOOM_BYTECODE

static inline void frame_push(frame *f, value *v) { f->stack[f->sp++] = v; }
extern value
    value_poison; /* what an empty stack gives: only bytecode that makes no sense pops it */
static inline value *frame_pop(frame *f) { return f->sp > 0 ? f->stack[--f->sp] : &value_poison; }
static inline value *frame_peek(frame *f, int32_t depth) {
  return depth >= 1 && f->sp >= depth ? f->stack[f->sp - depth] : &value_poison;
}
static inline step frame_result(frame *f, value *v) {
  if (!v) return STEP_FAIL;
  f->stack[f->sp++] = v;
  return STEP_NEXT;
}

#include "frontend/hooks.h"

/* ---- roll.c: loops captured once ---------------------------------------------------------------
 */

/* Was a loop left in the middle of the iteration that stood for all? Then capture starts again. */
bool roll_is_open(tracer *t);
/* A loop of so few iterations that it is unrolled. */
void roll_note_short(tracer *t, const frame *f, int64_t left);
/* One over a list, a dictionary, a generator, ... */
void roll_note_items(tracer *t, const frame *f, const value *iterator);
void roll_bans_free(roll_bans *bans);

/* ---- value/ --------------------------------------------------------------------------------- */

value *value_lazy(tracer *t, PyObject *object, const source *s); /* not looked at yet */
/* The items of a live tuple or list (or of an instance of a class over them), guarded. */
value *seq_of_live(tracer *t, PyObject *object, const source *s);
extern const value_type value_lazy_type, value_object_type, value_builtin_method_type,
    value_generator_type, value_range_type, value_range_to_type, value_super_type,
    value_partial_type;
static inline bool value_is_lazy(const value *v) { return v->type == &value_lazy_type; }
/* Looks at it now, where nothing has: the value, or NULL. */
static inline value *value_looked_at(tracer *t, value *v) {
  return value_is_lazy(v) ? value_wrap(t, v->object, v->source) : v;
}
/* Of a Python class, or of a model's. */
static inline bool value_is_instance(const value *v) { return v->type == &value_object_type; }
/* One of the interpreter's own or a library's, which is its own iterator. */
static inline bool value_is_iterator(const value *v) {
  return v->type->next && !value_is_instance(v);
}
static inline bool value_is_range_iterator(const value *v) { return v->type == &value_range_type; }
static inline bool value_is_generator(const value *v) { return v->type == &value_generator_type; }
value *value_range_to(tracer *t, int64_t start, int64_t stop, int64_t step);

/* What an object's own __index__() gives, where it has one and does not have the method `unless`
 * (or NULL); else `v` itself. */
value *value_index(tracer *t, value *v, const char *unless);
bool value_is_none(const value *v);
bool object_is_nan(PyObject *object);       /* an exact float or complex that is none */
bool object_is_immutable(PyObject *object); /* says an adapter */
/* What a class has by a name along its bases, or NULL (borrowed): guarded to stay that, where
 * classes can be changed. */
PyObject *class_lookup(tracer *t, PyTypeObject *type, PyObject *name);
PyObject *class_special(tracer *t, PyTypeObject *type, const char *name);
void guard_mro(tracer *t, PyTypeObject *type); /* its bases are what they are */
bool type_keeps_default(tracer *t, PyTypeObject *type, const char *name);
bool type_runs_python(tracer *t, PyTypeObject *type,
                      const char *name); /* the method is written in Python */
value *value_bool(tracer *t, bool truth);
value *value_int(tracer *t, int64_t number);
value *value_str(tracer *t, const char *text);
const source *value_source(tracer *t,
                           value *v); /* its source, or one that names its constant object */
PyObject *value_identity(tracer *t,
                         value *v); /* the live object, guarded by identity; NULL: it has none */
/* The slot `known` of objects that stand for themselves. */
PyObject *value_known_object(tracer *t, value *v, bool plain);
bool value_same(tracer *t, value *l, value *r, bool *same); /* `is`; false after a break */
/* The same object as far as containers are concerned, which look at identity before they compare.
 */
bool value_identical(tracer *t, value *l, value *r);
bool generator_unwinds(const frame *f); /* dropping it now would run code of its own */
void guard_simple(tracer *t, guard_kind kind, const source *s, PyObject *object, int64_t number);
PyObject *value_str_object(value *v); /* borrowed exact str of a constant, or NULL */

/* Sequences (value/seq.c). */
bool seq_append(tracer *t, value *list, value *item);
bool value_mutable(tracer *t, value *v); /* before it is changed; false after a break */
PyObject *list_known(tracer *t, value *v, bool plain); /* a slot */
value *seq_concat(tracer *t, const value_type *type, value *l, value *r);
bool list_extend(tracer *t, value *list, value *iterable);
bool list_empty(tracer *t, value *list); /* of all items; false after a break */

/* Instances of named tuples and their like (value/namedtuple.c): tuple values that know their
 * class. */
PyObject *tuple_class(const value *v); /* NULL: a plain tuple */
bool tuple_class_known(
    tracer *t, PyTypeObject *type); /* a subclass of tuple that keeps tuple's own behaviour */
static inline bool tuple_is_plain(const value *v) { return value_is_tuple(v) && !tuple_class(v); }
void tuple_set_class(value *v, PyObject *type);
value *tuple_field(tracer *t, value *v, PyObject *name); /* NULL with nothing pending: missing */
recipe *tuple_rebuild_class(tracer *t, value *v, recipe *items);

/* Dictionaries and sets. Keys are compared as Python would, without running user code: 1 found, 0
 * not, -1 failed. */
int key_equal(tracer *t, value *l, value *r);
bool key_check(tracer *t, value *key); /* hashable and safe to compare */
/* For the slot `key`: of what has no hash, which raises; of a live object that is a key as it is; of an instance. */
bool key_is_refused(tracer *t, value *key);
bool key_by_identity(tracer *t, value *key);
bool key_object_check(tracer *t, value *key);
value *value_dict(tracer *t);
bool key_is_enum_class(tracer *t, PyTypeObject *type); /* whose members' hash is Enum's own */
bool object_is_enum_member(tracer *t, PyObject *object);
Py_hash_t key_hash(tracer *t, PyObject *key); /* of one that may be hashed; -1: raise or break */
value *dict_get(tracer *t, value *dict, value *key); /* NULL with nothing pending: missing */
bool dict_put(tracer *t, value *dict, value *key, value *item);
bool dict_remove(tracer *t, value *dict, value *key); /* raises KeyError */
bool dict_update(tracer *t, value *dict, value *other, bool merge);
Py_ssize_t dict_size(tracer *t, value *v);       /* -1: failed */
value *dict_list(tracer *t, value *v, int what); /* 0 keys, 1 values, 2 items: as they are now */
value *value_set(tracer *t, bool frozen);
bool set_add(tracer *t, value *set, value *item);
bool set_is_frozen(const value *v);
bool value_is_any_set(const value *v); /* or a constant one */
void set_disorder(value *v);             /* the order of its items is not known from here on */
PyObject *set_real(tracer *t, value *v); /* NULL without an exception: its order is not certain */
value *set_from(tracer *t, value *iterable, bool frozen);

/* Iterators (value/iter.c). */
value *iter_over(tracer *t, value *sequence); /* tuple or list value, live */
value *iter_exactly(value *iterator);         /* iter() or reversed() of the sequence itself */
value *iter_known(tracer *t, value *const *items, Py_ssize_t count); /* a snapshot */
value *iter_enumerate(tracer *t, value *iterator, value *start);
value *iter_zip(tracer *t, value *const *iterators, Py_ssize_t count, bool strict);
value *iter_map(tracer *t, value *function, value *const *iterators, Py_ssize_t count);
value *iter_filter(tracer *t, value *function, value *iterator);
value *iter_call(tracer *t, value *function, value *sentinel);
/* Over what is in a dictionary (`what`: see dict_list) or set, which has to keep its keys
 * meanwhile. */
value *iter_watching(tracer *t, value *items, value *owner, int what, bool back);
value *iter_reversed(tracer *t, value *sequence);
/* The same one, standing in front of item `at` (behind it where it goes backwards); NULL with
 * nothing pending: it goes over something else. */
value *iter_standing(value *iterator, Py_ssize_t at);
value *iter_indexed(tracer *t, value *v, Py_ssize_t count);
value *iter_self(tracer *t, value *v); /* slots of iterators */
value *iterator_get_attr(tracer *t, value *v, PyObject *name);
/* For loops that are captured once: how many items are left, a number, or -1: that cannot be told;
 * the item `ahead` further on, a number too; one item on; to the end; and what is iterated over,
 * but not where it stands. Nothing is guarded but what telling needs. */
int64_t iter_left(tracer *t, value *v);
int64_t iter_items(const value *v); /* for people: how many are left of a list, or -1 */
value *iter_ahead(tracer *t, value *v, int64_t ahead);
bool iter_step(tracer *t, value *v, int64_t by); /* `by`: a number; of a range any */
void iter_finish(value *v);
bool iter_jumps(const value *v); /* any number of items on, also one that only the run knows */
void iter_walk_bases(roll_walk *w, value *v);
/* Loops over items of lists (gather.c). */
bool iter_lends(tracer *t, value *v); /* are there such, for which it matters that they are lent? */
bool iter_is_known(tracer *t, value *v);             /* and some that are known one by one, too? */
void iter_lend_early(tracer *t, value *v);           /* these are lent in all iterations */
void iter_lend(tracer *t, value *v, uint16_t place); /* items may be lent */
bool iter_prepare(tracer *t, value *v);              /* for iter_ahead; false: they differ */
void iter_lent_over(tracer *t, value *v);            /* nobody has an item that was lent */
/* Why its items cannot be rows, or NULL. */
const char *iter_refuses(const value *v);
value *iter_chain(tracer *t, value *iterables); /* an iterator of iterables */
value *value_generator(tracer *t, frame *f);
value *generator_send(tracer *t, value *v,
                      value *sent); /* NULL with nothing pending: t->returned is its value */

/* A symbolic number has to be known after all: capture starts again with the arguments behind it
 * guarded by value. */
void number_know(tracer *t, value *v);
value *number_to_float(tracer *t, value *v);
/* `total`, a float, and the floats and ints behind it, with what the additions of floats round off
 * (Neumaier 1974), as sum() does from 3.12 on; *taken: so many of them. */
value *number_sum(tracer *t, value *total, value *const *items, Py_ssize_t count,
                  Py_ssize_t *taken);
bool value_is_whole(value *v); /* an int: a size, or one that is known */
/* The square root of a size, which is rounded as math.sqrt() does. NULL with nothing pending: of no
 * other number. */
value *number_sqrt(tracer *t, value *v);
/* ---- series.c: what Python computes of the index of a loop, for all iterations. NULL with nothing
 * pending: it is nothing that has a table. ---- */
typedef struct number_series number_series;
value *series_call(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count);
value *series_operate(tracer *t, int op, value *l, value *r);
bool series_blame(tracer *t, loom_value node); /* it is of a table, and has to be known */
/* ---- formula.c: what Python computes of sizes, on each call. NULL with nothing pending: it is no
 * formula. ---- */
value *formula_call(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count);
value *formula_operate(tracer *t, int op, value *l, value *r);
value *formula_compare(tracer *t, int op, value *l, value *r);
void formula_know(tracer *t, int64_t slot); /* it has to be known: so have the sizes behind it */
/* Symbols that formulas give, in a sample where the others are these. */
void formula_sample(tracer *t, int64_t *symbols);
uint64_t formula_symbols(const tracer *t, uint64_t symbols);
/* A comparison that is left to the graph; NULL with nothing pending: it cannot be. */
value *number_compare_data(tracer *t, int op, value *l, value *r);

/* assume.c: what is decided when the plan runs. */
loom_value trace_condition(tracer *t,
                           value *v); /* the truth of v as a bool of the graph; LOOM_NO_VALUE:
                                         known, or nothing that can be computed there */
value *trace_condition_value(tracer *t, loom_value condition); /* as a Python bool */
/* `yes` where the condition holds, else `no`, when both are numbers of one type; NULL with nothing
 * pending when they are not. */
value *trace_choose(tracer *t, loom_value condition, value *yes, value *no);
/* A conditional jump one way of which surely raises is taken the other way: 1 or 0 is the truth to
 * go on with, -1 that there is none. */
int jump_assumed(tracer *t, const frame *f, const loom_instr *in, bool when, value *v);

/* Functions and objects. */
value *function_new(tracer *t, function_data *data, value *name);
function_data *function_get(tracer *t, value *v); /* of a value_function_type, with its guards */
value *value_object_new(tracer *t, PyObject *cls);
PyObject *object_class(value *v);
bool object_is_virtual(value *v);
bool object_is_namespace(PyObject *object); /* an exact types.SimpleNamespace */
/* A container that an attribute of a live object holds, not looked at yet; NULL with nothing
 * pending: it is none, or has been. */
value *object_lazy_attr(tracer *t, value *v, PyObject *name);
bool type_store(tracer *t, value *v, PyObject *name, value *item);
bool object_store(tracer *t, value *v, PyObject *name, value *item);
int object_give(PyObject *made, PyObject *name, PyObject *item);
recipe *object_rebuild_attributes(tracer *t, value *v);
/* The __dict__ of an object made here, as part of that; NULL with nothing pending: it is none. */
recipe *object_rebuild_dict(tracer *t, value *dict);
PyObject *name_interned(tracer *t, const char *name); /* borrowed; NULL after a failure */
/* value/instance.c: */
value *object_allocate(tracer *t, PyObject *cls);
bool loom_class_is_python(PyTypeObject *type); /* defined by a class statement over object */
value *object_make(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                   PyObject *kwnames);
value *exception_make(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                      PyObject *kwnames);
bool exception_init(tracer *t, value *v, value *const *args, Py_ssize_t count);
void exception_set_cause(value *v, value *cause);
value *exception_str(tracer *t, value *v);
/* What is known of a traceback is that there is one. */
bool value_is_traceback(const value *v);
value *exception_traceback(tracer *t, value *v); /* None, or the one of when it was last raised */
bool exception_raised(tracer *t, value *v);      /* it now has another one */
bool exception_give(value *v,
                    value *traceback); /* false: this is no traceback that is known, nor None */
value *object_attr(tracer *t, value *v, PyObject *name); /* NULL with nothing pending: missing */
/* Of a live one's __dict__, whatever the class says of the name; NULL: deleted. */
value *object_own_attr(tracer *t, value *v, PyObject *name);
/* It has to stay a data descriptor, or none (`descr` may be NULL). */
void guard_data_descriptor(tracer *t, PyObject *descr);
bool object_own_put(tracer *t, value *v, PyObject *name, value *item);
value *type_attr(tracer *t, PyObject *type, PyObject *name, value *self, PyObject *start_after);
value *trace_special(tracer *t, value *v,
                     const char *name); /* bound, from the type; NULL without pending: none */
value *trace_method(tracer *t, value *v, const char *name, value *const *args, Py_ssize_t count);
value *value_exception(tracer *t, PyObject *type, value *args);
/* Of one made inside, or a live one: */
PyObject *exception_class(value *v);
bool value_is_exception(const value *v);
value *exception_stop_value(tracer *t, value *stop); /* of a StopIteration */
void *trace_raise_value(tracer *t, value *exception);
void *trace_raise_key(tracer *t, value *key); /* KeyError(key) */
const char *exception_message(value *v);
bool exception_matches(tracer *t, value *exception, PyObject *type);

/* Methods of builtin values, found by name. */
typedef struct builtin_method {
  const char *name;
  value *(*call)(tracer *t, value *self, value *const *args, Py_ssize_t count, PyObject *kwnames);
} builtin_method;
value *builtin_method_of(tracer *t, const builtin_method *row, value *self);
value *builtin_method_find(tracer *t, const builtin_method *table, value *self, PyObject *name);
/* special.c: the row of a special method that is asked for by name, or NULL; and a method of the
 * type that a model stands for, called through the type (or not_implemented). */
const builtin_method *special_find(const value *self, const char *name);
value *special_of_model(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                        PyObject *kwnames);
bool args_check(tracer *t, const char *name, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most,
                PyObject *kwnames);

/* ---- value/livedict.c: dictionaries that existed before the call -------------------------------
 */

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

/* ---- value/liveiter.c: iterators that existed before the call ---------------------------------
 */

value *live_iter_wrap(tracer *t, PyObject *object,
                      const source *s);                    /* NULL, nothing pending: none */
bool live_iter_apart(tracer *t, const pointer_map *unread, int *pairs);
void live_iter_finish(tracer *t);

/* ---- value/cached.c: functions with functools.lru_cache ----------------------------------------
 */

value *cached_call(tracer *t, value *wrapper, value *const *args, Py_ssize_t count,
                   PyObject *kwnames);

/* ---- value/copy.c ----------------------------------------------------------------------------- */

value *copy_shallow(tracer *t, value *v);
/* `memo`: what a __deepcopy__ was given, to hand on; or NULL. */
value *copy_deeply(tracer *t, value *v, value *memo);
/* Slots: */
value *copy_same(tracer *t, value *v, struct copy_memo *memo); /* the object itself */
value *copy_const(tracer *t, value *v, struct copy_memo *memo);
value *copy_tuple(tracer *t, value *v, struct copy_memo *memo);
value *copy_list(tracer *t, value *v, struct copy_memo *memo);
value *copy_dict(tracer *t, value *v, struct copy_memo *memo);
value *copy_set(tracer *t, value *v, struct copy_memo *memo);
value *copy_object(tracer *t, value *v, struct copy_memo *memo);

/* ---- value/container.c ----------------------------------------------------------------------- */

PyTypeObject *
container_base(PyTypeObject *type); /* dict or list, which it is a Python class over */
value *object_content(value *v);    /* the dict or list value, or NULL */
bool container_fill(tracer *t, value *v);
/* Is it what an instance made here holds? Rebuilt by itself it would be another object: a break. */
bool container_holds(tracer *t, value *content);
bool container_wrap(tracer *t, value *v); /* of a live one */
bool container_keeps(tracer *t, value *v,
                     const char *name); /* the method is the builtin type's own */
value *container_call(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                      PyObject *kwnames); /* self first */
recipe *container_rebuild(tracer *t, value *v);

/* ---- value/derived.c: classes over set, frozenset, deque, defaultdict and OrderedDict ----------
 */

/* What an instance holds: of a live one; nothing yet. */
value *derived_of_live(tracer *t, PyObject *object, const source *s, PyTypeObject *base);
value *derived_new(tracer *t, PyTypeObject *base);
/* As container_call(); not_implemented: it is no instance of these, or the method is not followed.
 */
value *derived_call(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                    PyObject *kwnames);
value *derived_attr(tracer *t, value *v, PyObject *name, PyObject *descr); /* as scalar_attr() */
int derived_fill(PyObject *made, PyTypeObject *base, PyObject *content);
value *derived_make_frozen(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                           PyObject *kwnames);
/* A live set's items (value.c); an object of the model of `base` that stands for a live one, and
 * what such an object has by the name (model.c). */
value *set_of_live(tracer *t, PyObject *object, const source *s, bool frozen);
value *model_of_live(tracer *t, PyObject *object, const source *s, PyTypeObject *base);
value *model_part(tracer *t, value *v, const char *name);

bool dict_unpack(tracer *t, value *dict, value *other); /* {**other} (dict.c) */

/* ---- value/scalar.c: instances of classes over int, float, complex, str and bytes --------------
 */

PyTypeObject *
scalar_base(PyTypeObject *type);          /* which of these it is a Python class over, or NULL */
value *scalar_content(const value *v);    /* the constant that an instance is, or NULL */
/* What a function of the interpreter's own makes of an argument that has to be an int: an int, also
 * of a bool. NULL after a break: the interpreter tells what is none. */
value *value_whole(tracer *t, value *v);
bool scalar_wrap(tracer *t, value *v);                    /* of a live one */
value *scalar_plain(tracer *t, value *v, const char *name); /* its constant if so, or NULL */
/* Puts the constants in the place of operands whose classes leave the operation alone. */
void scalar_operands(tracer *t, int op, value **l, value **r, bool inplace);
void scalar_compared(tracer *t, int op, value **l, value **r);
value *scalar_key(tracer *t,
                  value *key); /* the constant that it hashes and compares like, or NULL */
/* The arguments of such a function, with the constants in the places where it takes them for that.
 */
value **scalar_taken(tracer *t, const char *function, value *const *args, Py_ssize_t count);
value *scalar_call(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                   PyObject *kwnames); /* self first */
/* An attribute that the builtin type keeps in C; NULL with nothing pending: it is none. */
value *scalar_attr(tracer *t, value *v, PyObject *name, PyObject *descr);
/* Is any of the arguments such an instance, to be taken by the builtin function (NULL: of math) for
 * its number or text? */
bool scalar_is_taken(tracer *t, const char *function, value *const *args, Py_ssize_t count);
value *scalar_make(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                   PyObject *kwnames);    /* cls(...), but for __init__ */
const char *object_operator_name(int op); /* "add", ... (object.c) */

/* ---- value/made.c: functions, methods and generators made inside, as results ------------------
 */

recipe *function_rebuild_made(tracer *t, value *v);
recipe *method_rebuild_made(tracer *t, value *v);
recipe *cell_rebuild_made(tracer *t, value *v);
recipe *partial_rebuild(tracer *t, value *v);
recipe *generator_rebuild(tracer *t, value *v);
typedef struct partial_data {
  value *function, *args, *keywords;
  PyObject *type;
} partial_data;

/* ---- value/rows.c: lists that a loop captured once has appended to ------------------------------
 */

/* Items of a list in groups that are all alike: `count` of them, from group `from` on. What differs
 * lies in stacks: row i of stack k is what group i has for the k-th array or number in `items`. */
#define ROWS_LEAVES 16
typedef struct rows {
  int64_t from, count, total; /* numbers of the graph; total: rows of the stacks */
  Py_ssize_t each;            /* items of a group */
  value **items;
  loom_value *stacks;
  int64_t *outputs; /* of the graph, or -1 */
  value **fixed;    /* NULL, or a number which is this very object in all rows */
  uint32_t leaves;
  value **ends; /* ROWS_LEAVES contents each; behind the last group the list had these, which are
                   the last rows, with: */
  loom_value *contents;
  Py_ssize_t end_count;
  bool live; /* of a list that existed before: its items are the list's own */
} rows;
extern const value_type value_hidden_list_type; /* in an iteration that stands for all */
extern const value_type value_long_list_type;   /* rows are among its items */
extern const value_type value_rows_type;        /* any.a; never seen outside of such lists */
/* A tuple or list that was made here. */
bool rows_is_container(const value *item);
/* The arrays and numbers in an item, which may be such: at most `room`; -1: something else. */
int rows_leaves(tracer *t, value *item, value **leaves, int room);
loom_value *rows_at(value *leaf, const void *parts[2]);
loom_value rows_node(tracer *t, value *leaf);
bool rows_like(tracer *t, value *a, value *b); /* two items */
bool rows_stack_type(tracer *t, value *leaf, int64_t count, loom_type *out);
loom_value rows_slice(tracer *t, loom_value stack, int64_t i);               /* row i */
loom_value rows_put(tracer *t, loom_value stack, loom_value row, int64_t i); /* with another one */
value *rows_leaf_new(tracer *t, value *like, loom_value node);
static inline bool list_is_hidden(const value *v) { return v->type == &value_hidden_list_type; }
static inline bool list_is_long(const value *v) { return v->type == &value_long_list_type; }
static inline bool list_is_rolled(const value *v) { return v->type->kinds & VALUE_IS_ROLLED; }
/* NULL: it is an ordinary item. */
static inline rows *rows_of(const value *item) {
  return item->type == &value_rows_type ? item->any.a : NULL;
}
/* Makes one of these an ordinary list again; false when something is pending. */
bool list_settle(tracer *t, value *v);
/* What is in an ordinary item, when it has the type and sizes of `like`, which is a row. */
typedef bool (*list_reader)(tracer *t, value *item, const value *like, loom_value *node);
/* A long list as one stack: one like its rows; NULL: it is none. */
value *list_stack(tracer *t, value *v, list_reader read, loom_value *node);

bool rows_number(tracer *t, value *v, loom_dtype *out); /* a Python number as data */
loom_value rows_single(tracer *t, loom_value row);      /* a stack of one row */
/* How many items a long list has: a number. */
bool long_count(tracer *t, value *v, int64_t *out);
/* The rows of a long list that is `*prefix` ordinary items and then nothing but rows in order;
 * NULL: it is not. */
const rows *long_direct(tracer *t, const value *v, Py_ssize_t *prefix);
/* Item `index` of any long list as an ordinary one. NULL with nothing pending: there is none. */
value *long_single(tracer *t, value *v, int64_t index);
/* Item `index`, a number from 0 on, of such a list, as it is or lent. */
value *long_item(tracer *t, uint16_t place, value *v, int64_t index);

/* ---- value/gather.c ---- */

typedef struct gathered gathered;
/* The item of a list, or the part of one, that a lent value stands for (value/lent.c). */
typedef struct lent_item lent_item;
struct lent_item {
  lent_item *whole;   /* it is part `at` of this; NULL: it is item `index`, a number, of one of: */
  const gathered *of; /* items as they were */
  value *list;
  int64_t index;
  Py_ssize_t at;
};
lent_item *lent_new(tracer *t, const gathered *of, value *list, int64_t index);
lent_item *lent_part(tracer *t, lent_item *whole, Py_ssize_t at);
/* The object itself; NULL, perhaps with something pending: it is not known which one. */
value *lent_real(tracer *t, const value *v);
recipe *lent_rebuild(tracer *t, const value *v); /* the same as a result */
const char *gather_refuses(tracer *t, const value *base, Py_ssize_t first, Py_ssize_t end);
/* Items first to end - 1; NULL when they are not alike, or something is pending. */
gathered *gather_make(tracer *t, uint16_t place, value *base, Py_ssize_t first, Py_ssize_t end);
bool gather_holds(const gathered *g, const value *base, Py_ssize_t first, Py_ssize_t end);
value *gather_item(tracer *t, const gathered *g, int64_t index);
value *gather_real(const gathered *g, int64_t index); /* as it was */
value *gather_row(tracer *t, uint16_t place, value *list, const rows *r, int64_t row,
                  int64_t index);
void gather_over(gathered *g);
/* Item `key` of a tuple or list in a loop that is captured once, lent; NULL with nothing pending:
 * as any other. */
value *gather_at(tracer *t, value *base, value *key);
void gather_leave(tracer *t, uint16_t place); /* nobody has an item that this loop was lent so */
extern const value_type value_lent_type;      /* a lent name: nothing can be done with it */
/* A live list whose items are not looked at one by one: a long list; NULL: its items are no rows.
 */
value *gather_live(tracer *t, PyObject *list, const source *s);
/* Its items are needed: capture starts again, and looks at them. */
void gather_apart(tracer *t, PyObject *list);
bool gather_is_live(const value *v);

/* ---- value/walk.c: slots of values in the states of a loop ---- */

void roll_walk_const(roll_walk *w, value **holder);
void roll_walk_number(roll_walk *w, value **holder);
void roll_walk_any_list(roll_walk *w, value *v); /* see loop_hooks.walk_list */

/* ---- value/shadow.c: changes of what existed before the call --------------------------------- */

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

/* ---- value/overlay.c --------------------------------------------------------------------------
 */

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

/* ---- value/apart.c ----------------------------------------------------------------------------
 */

/* Guards that nothing else that capture has read, nor what is in `unread`, is the object, which is
 * changed; false after a break. */
bool apart_from_all(tracer *t, PyObject *object, const source *s, const pointer_map *unread,
                    int *pairs);

/* ---- value/classbody.c ----------------------------------------------------------------------- */

bool class_is_made(const tracer *t, PyObject *object); /* a class (or part of one) made inside */
const source *class_made_source(tracer *t, PyObject *cls, PyObject *name);
value *class_descriptor(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                        PyObject *kwnames);
value *class_build(tracer *t, value *const *args, Py_ssize_t count, PyObject *kwnames);

/* ---- value/text.c ---------------------------------------------------------------------------- */

value *trace_repr(tracer *t, value *v);
value *trace_str(tracer *t, value *v);
/* What a special method of an object gives, which has to be of exactly this type: of subclasses
 * CPython warns, all else it refuses. not_implemented: `v` is no such object, or has no such method. */
value *special_or_pass(tracer *t, value *v, const char *name, PyTypeObject *type);

/* ---- value/exception.c: what the caller handles ----------------------------------------------- */

const source *handled_source(tracer *t, const char *name); /* what reads it: see read_handled() */
/* Guards that it is nothing; false: something is pending. */
bool handled_is_nothing(tracer *t);

/* ---- trace_call.c --------------------------------------------------------------------------- */

value *trace_inline(tracer *t, function_data *function, value *const *args, Py_ssize_t count,
                    PyObject *kwnames);
value *trace_call1(tracer *t, value *callee, value *arg);
value *trace_call_list(tracer *t, value *callee, value *args,
                       value *kwargs); /* f(*args, **kwargs) */

/* ---- model.c -------------------------------------------------------------------------------- */

PyObject *model_real(PyObject *cls); /* the type that a model class stands for, or `cls` itself */
/* An attribute of the model itself, which an object of the original does not have. */
bool model_is_private(tracer *t, PyObject *cls, PyObject *name);
/* What a model's own code sees in an instance of a class over its type, as C code looks into one;
 * else NULL. */
value *model_of_instance(tracer *t, value *v, PyObject *name);
/* The name of a special method of a model's class, or of what stands for it where it is asked for by
 * name: it does without what an operator does first. NULL after a failure. */
PyObject *model_named(tracer *t, PyObject *cls, PyObject *name);
recipe *model_rebuild(tracer *t, value *v);
bool object_is_modelled(PyObject *object); /* a live one that has a model */
bool model_is_of(PyTypeObject *type);      /* it has one */
value *model_wrap(tracer *t, PyObject *object, const source *s);
/* What a deque (maxlen) or defaultdict (default_factory) keeps beside its items. */
const char *model_setting(const PyObject *object);
value *model_items(tracer *t, value *v); /* the list value of one for a live deque */

/* ---- functions that a row of builtins.def names -------------------------------------------------
 */

typedef struct builtin_args {
  PyObject *callee;
  value *const *args;
  Py_ssize_t count;
  PyObject *kwnames; /* their values follow the `count` arguments */
  const char *name;
  int op; /* of an operator */
} builtin_args;

/* The value of a keyword, or NULL. */
value *builtin_keyword(const builtin_args *a, const char *name);
/* Raises TypeError unless the counts fit and there are no keywords but those of the NULL-terminated
 * list. */
bool builtin_check(tracer *t, const builtin_args *a, Py_ssize_t least, Py_ssize_t most,
                   const char *const *keywords);

value *builtin_model(tracer *t, const builtin_args *a); /* model.c */

/* ---- builtins.c ----------------------------------------------------------------------------- */

bool builtins_init(void);
void eval_init(void);
void loops_init(void);
/* A call of a builtin object; *mine false when the table has no row for it. */
bool builtin_has_row(PyObject *object);
value *builtin_call(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                    PyObject *kwnames, bool *mine);
value *call_real(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                 PyObject *kwnames);

int trace_isinstance(tracer *t, value *v, value *types); /* -1: failed */
int trace_contains(tracer *t, value *v, value *item);
/* The same by its iterator, which goes no further than to the item. */
int trace_search(tracer *t, value *v, value *item);
value *trace_length(tracer *t, value *v);
bool trace_set_item(tracer *t, value *v, value *key, value *item);
bool trace_is_no_index(tracer *t, value *key);
bool trace_set_attr(tracer *t, value *v, PyObject *name, value *item);
/* The slot set_attr of what has no attributes of its own: raises. */
bool attributes_refused(tracer *t, value *v, PyObject *name, value *item);

#endif
