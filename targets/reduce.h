/* Edits that make a module smaller, for loom-reduce. Each kind numbers the places where it may be
 * made, in an order that a copy of the module has as well. (reduce_edits.c; reduce_text.c for what
 * is edited in the text) */
#ifndef LOOM_REDUCE_H
#define LOOM_REDUCE_H

#include <mlir-c/IR.h>
#include <stdbool.h>

typedef enum reduce_kind {
  REDUCE_SYMBOLS,   /* drop functions, kernels, plans */
  REDUCE_RESULTS,   /* drop results of functions */
  REDUCE_REGIONS,   /* put the ops of a region in place of the op that has it */
  REDUCE_ARGUMENTS, /* make an op's results arguments of the function, and drop the op */
  REDUCE_OPERANDS,  /* put an operand or argument of its type in place of an op's result */
  REDUCE_CONSTANTS, /* put zeros in place of an op's result */
  REDUCE_UNUSED,    /* drop ops that nobody reads */
  REDUCE_INPUTS,    /* drop arguments that nobody reads */
  REDUCE_KINDS
} reduce_kind;

/* How many places of this kind the module has. */
int reduce_count(MlirOperation module, reduce_kind kind);
/* Edits `count` places from number `first` on. False: nothing was changed. The module may not be
 * valid afterwards. */
bool reduce_edit(MlirOperation module, reduce_kind kind, int first, int count);

/* Sizes are edited in the text: those of tensors and in lists. The next size behind `previous` (0
 * at first) that the text has, 0 when there is none. */
long reduce_next_size(const char *text, long previous);
/* malloc'ed text with another size in place of `size`, in types alone or in lists, too; NULL when
 * out of memory. */
char *reduce_size(const char *text, long size, long smaller, bool lists);

/* Which lists lose an entry, or have their entries counted anew, with a dimension. */
enum {
  REDUCE_LOWER_RANKS = 1,   /* types of lower ranks lose the dimension, too */
  REDUCE_LISTS = 2,         /* lists of as many entries as there are dimensions lose one */
  REDUCE_WHOLE_NUMBERS = 4, /* these hold numbers of dimensions, like that of a transposition */
  REDUCE_NUMBERS = 8,       /* so do other lists, like the axes of a reduction, and `axis` */
  REDUCE_HOWS = 16
};
/* malloc'ed text in which types of `rank` dimensions lack this one; NULL where there is none of
 * them. */
char *reduce_dimension(const char *text, int rank, int dimension, unsigned how);

#endif
