/* What a callable has learnt of the sizes and numbers of its calls, for its next capture. */
#ifndef LOOM_FRONTEND_CAPTURED_LEARNT_H
#define LOOM_FRONTEND_CAPTURED_LEARNT_H

#include "frontend/base/base.h"
#include "frontend/captured/guard.h"

/* What a callable has learnt about one size (or stride) of an array, or about an int, found by the
 * name of its source. */
typedef enum size_state {
  SIZE_STATIC, /* has not changed so far */
  SIZE_SYMBOL, /* changes: a symbol of the next capture */
  SIZE_PINNED  /* capture has to know it */
} size_state;

typedef struct size_fact {
  char *name;    /* of the source; owned */
  uint64_t hash; /* of the name */
  size_field field;
  int32_t axis;
  size_state state;
  uint32_t group; /* facts of one group share a symbol: each is that symbol plus its offset */
  int64_t offset;
  bool apart;      /* the fact has had a symbol of its own */
  bool of_library; /* SIZE_OF_FLOAT: a number of a library, not of Python */
  bool skip;       /* a constant in the capture now being made */
  bool held; /* a constant until it changes, even where all sizes are symbols from the start */
  int64_t min, max;
  int64_t unit; /* a divisor of the size in all calls that the next capture is for: the size is
                   `unit` times its symbol */
  int64_t before, now; /* the values before and after its latest change */
  int64_t symbol;      /* its number in the capture that is being made; 0: none yet */
  char why[128];       /* PINNED: why capture has to know it; "": it says no more */
} size_fact;

typedef struct size_table {
  size_fact *facts;
  uint32_t count, capacity;
  bool always; /* all sizes but those that are held are symbols from the start */
  bool never;  /* none is */
} size_table;

#define SIZE_DIM_MAX ((int64_t)1 << 40) /* the largest symbolic size; larger ones are constants */
void size_table_clear(size_table *table);
/* The fact about this field of the source with this name; NULL: there is none. */
size_fact *size_table_find(size_table *table, const char *name, size_field field, int axis);
/* The fact with this key, made when there is none; NULL when out of memory. */
size_fact *size_table_get(size_table *table, const source *s, size_field field, int axis);

/* What the number in an argument slot (an exact float, or a scalar of an array library) becomes.
 * NUMBER_KNOWN: a constant with a guard on its value. NUMBER_INPUT: an input of the graph, unless
 * capture has to know the value. NUMBER_APART: an input; where capture has to know the value, it
 * breaks. */
typedef uint8_t number_mode;

enum { NUMBER_KNOWN, NUMBER_INPUT, NUMBER_APART };
/* From now on numbers of array libraries that were inputs are constants, since capture may have
 * broken because it did not know them. False: there are none, apart from those that were constants
 * once and changed all the same. */
bool size_know_numbers(size_table *table);

#endif
