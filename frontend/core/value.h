/* Values: what the evaluator computes with. */
#ifndef LOOM_FRONTEND_CORE_VALUE_H
#define LOOM_FRONTEND_CORE_VALUE_H

#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "graph/graph.h"

/* Properties that several types share, for code that needs to know no more than that. */
enum {
  VALUE_IS_SEQUENCE = 1 << 0, /* a tuple, or a list all of whose items are in `seq` */
  VALUE_IS_LIST = 1 << 1,     /* a list, whatever is known of its items */
  VALUE_IS_ROLLED = 1 << 2,   /* a list that a loop captured once appends to (values/rows.c) */
  /* A tuple, list, dict or set that is in `seq` as a whole, or read when asked for. */
  VALUE_IS_CONTAINER = 1 << 3,
  /* Its items exist already, and do not change while it is iterated over. */
  VALUE_IS_FIXED = 1 << 4,
  /* dict() takes its items for pairs: it is neither a mapping nor another object. */
  VALUE_IS_PAIRS = 1 << 5,
  VALUE_IS_FRESH = 1 << 6,     /* made anew whenever it is needed: `is` is false for any other
                                  object */
  VALUE_IS_RETURNING = 1 << 7, /* an iterator that returns a value at its end, in t->returned */
  /* The interpreter's functions of numbers are not known for it: its adapter handles them. */
  VALUE_IS_FOREIGN = 1 << 8,
  VALUE_IS_BOUND = 1 << 9, /* a method, bound to the object `method.self` */
};

/* What a loop over an iterator needs to be captured once (roll.c): described at iter_left() and the
 * functions after it. */
typedef struct loop_slots {
  int64_t (*left)(tracer *t, value *v);
  value *(*ahead)(tracer *t, value *v, int64_t ahead);
  bool (*step)(tracer *t, value *v, int64_t by);
  void (*finish)(value *v);
  void (*walk_bases)(roll_walk *w, value *v);
  bool far; /* it can be advanced by a number that only the run knows */
} loop_slots;

struct copy_memo; /* values/copy.c */

/* Type-driven slots that mirror CPython's, so that generic protocols are written once. A slot that
 * is NULL means "this type has no such slot" (a TypeError, as Python would raise); "not supported
 * yet" is trace_break(). Slots return NULL after trace_raise() or trace_break(). */
typedef struct value_type {
  const char *name;
  uint32_t kinds; /* VALUE_IS_... */
  value *(*unary)(tracer *t, int op, value *v);
  /* trace_not_implemented(t) to try the other operand. */
  value *(*binary)(tracer *t, int op, value *l, value *r, bool inplace);
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
  /* The result not_implemented: capture does not follow it. Slot NULL: reversed() iterates over the
   * items, if the class allows that. */
  value *(*reversed)(tracer *t, value *v);
  const loop_slots *loop; /* of an iterator; NULL: loops over it are unrolled */
  PyObject *(*python_type)(tracer *t, value *v); /* borrowed: what type(v) is */
  /* str() or repr() of a value that is not known; NULL with nothing pending: capture does not
   * follow it. */
  value *(*text)(tracer *t, value *v, bool repr);
  /* float() or int() of a value that is not known: `to` is the type. Slot NULL: as for an object.
   */
  value *(*number)(tracer *t, value *v, PyTypeObject *to);
  /* The builtin type whose methods, called through the type, are those that get_attr finds; or
   * NULL. */
  PyTypeObject *builtin;
  recipe *(*rebuild)(tracer *t, value *v); /* how the value becomes a result */
  /* The live object when the content is known (value_known): a new reference or NULL; `plain`: as
   * value_plain(). */
  PyObject *(*known)(tracer *t, value *v, bool plain);
  bool (*known_int)(tracer *t, value *v, int64_t *out); /* value_known_int() */
  /* May it be a key, as far as its own hash and equality go? False, perhaps with something pending:
   * no. Slot NULL: yes, if it is a live object of a class whose __hash__ is C. */
  bool (*key)(tracer *t, value *v);
  /* The live object whose identity makes the value a key, which `key` has guarded; NULL: its
   * content makes it a key. */
  PyObject *(*key_object)(const value *v);
  /* copy.copy(), or with a memo copy.deepcopy(). Slot NULL: as its Python type does it. */
  value *(*copy)(tracer *t, value *v, struct copy_memo *memo);
  bool is_object; /* it stands for the live `object`: two values with one object are the same */
  /* Can two different values of this type stand for one object? NULL: never. Sets *same if they do,
   * else leaves it unchanged; false after a break. */
  bool (*same)(tracer *t, value *l, value *r, bool *same);
  /* Adds its content to the state of a loop (values/walk.c). NULL: loops with such a value in their
   * state are unrolled. */
  void (*walk)(roll_walk *w, value *v);
  /* In place of `walk`, for a value that is another one in each iteration: adds the content of
   * *holder. */
  void (*walk_place)(roll_walk *w, value **holder);
} value_type;

#define VALUE_REMOVED                                                                              \
  ((uint32_t)1 << 24) /* what the removal of an item adds to `changes` of a dict or set \ */

struct value {
  const value_type *type;
  const source *source; /* where the object was read from; NULL: it was made here */
  PyObject *object; /* the live object of a constant (borrowed from the tracer's keep-alive list),
                       or NULL */
  bool chosen;      /* it is one of two objects, and only the run knows which (trace_choose) */
  uint8_t aside;    /* trace_live.aside when it was made */
  bool seen_aside;  /* code that was followed for later has read it (values/aside.c) */
  uint32_t born;    /* so many values were made before it */
  uint16_t lent, lender;  /* lent: this is a copy that stands for an object in the hidden iteration
                             of a loop;  lender: it is an object with such copies (values/gather.c).
                             The places of the  loops, or 0 */
  struct lent_item *from; /* which item of a list a lent one is, or NULL */
  union {
    struct {
      value **items;
      Py_ssize_t count;
      uint32_t capacity, changes;
      struct set_facts *set; /* of a set: values/containers.h */
    } seq;                   /* tuple, list; dict: key, value, ...;
                  set. `changes`: of the last two, how often there may have been some */
    struct {
      loom_value node;
      void *layout;
    } array; /* adapters: see numpy/numpy.h */
    struct {
      loom_value node;
      int64_t size;
    } number; /* symbolic Python int, float or bool; without a node an int
                 that is a number of the graph (see size.c) */
    struct {
      value *function, *self;
    } method;
    struct {
      value *content;
    } cell;
    struct {
      void *a, *b;
      Py_ssize_t i, n;
    } any; /* the value type's own */
  };
};

extern const value_type value_const_type, value_tuple_type, value_list_type, value_dict_type,
    value_set_type, value_slice_type, value_function_type, value_cell_type, value_iterator_type,
    value_number_type, value_exception_type, value_null_type;

/* For code that reads the fields of values of exactly this type. What a value does in an operation
 * is a slot of its type. */
/* A Python object that is known. */
static inline bool value_is_const(const value *v) { return v->type == &value_const_type; }

/* A number that is not known. */
static inline bool value_is_number(const value *v) { return v->type == &value_number_type; }
static inline bool value_is_tuple(const value *v) { return v->type == &value_tuple_type; }
/* Not a list that a loop captured once appends to. */
static inline bool value_is_list(const value *v) { return v->type == &value_list_type; }
static inline bool value_is_dict(const value *v) { return v->type == &value_dict_type; }
/* Or a frozen one. */
static inline bool value_is_set(const value *v) { return v->type == &value_set_type; }
static inline bool value_is_slice(const value *v) { return v->type == &value_slice_type; }
static inline bool value_is_function(const value *v) { return v->type == &value_function_type; }
static inline bool value_is_cell(const value *v) { return v->type == &value_cell_type; }
/* Made inside, not a live one. */
static inline bool value_is_made_exception(const value *v) {
  return v->type == &value_exception_type;
}
static inline bool value_is_sequence(const value *v) { return v->type->kinds & VALUE_IS_SEQUENCE; }
static inline bool value_is_any_list(const value *v) { return v->type->kinds & VALUE_IS_LIST; }
static inline bool value_is_container(const value *v) {
  return v->type->kinds & VALUE_IS_CONTAINER;
}

extern const value_type value_lazy_type, value_object_type, value_builtin_method_type,
    value_generator_type, value_range_type, value_super_type;

static inline bool value_is_lazy(const value *v) { return v->type == &value_lazy_type; }
/* An instance of a Python class, or of a model's. */
static inline bool value_is_instance(const value *v) { return v->type == &value_object_type; }

/* An iterator of the interpreter or of a library. */
static inline bool value_is_iterator(const value *v) {
  return v->type->next && !value_is_instance(v);
}

static inline bool value_is_range_iterator(const value *v) { return v->type == &value_range_type; }
static inline bool value_is_generator(const value *v) { return v->type == &value_generator_type; }

extern const value_type value_hidden_list_type; /* a list in a hidden iteration */
extern const value_type value_long_list_type;   /* rows are among its items */
extern const value_type value_rows_type;        /* any.a; never seen outside of such lists */

extern const value_type value_lent_type; /* a name that is lent: no operation on it is known */

#endif
