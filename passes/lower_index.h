/* A kernel as plain C, and the index forms of its values (lower_kernel.c, lower_index.c): see
 * lower.h. */
#ifndef LOOM_LOWER_INDEX_H
#define LOOM_LOWER_INDEX_H

#include "passes/lanes.h"

#define LOWER_VARS 20
#define LOWER_SCOPES 64
#define LOWER_CARRIED 144 /* values that a loop carries */
/* Lanes whose elements are at most so many elements apart are fetched by loads and shuffles, others
 * by gathers. */
#define LOWER_APART 8
/* Rows that a column reduction adds up before its sums are written back to the cache. */
#define LOWER_COLUMN_ROWS 8

/* ---- lower_kernel.c: a loom.kernel as plain C ------------------------------------------------ */

typedef struct lower_buffer {
  MlirValue value; /* block argument, or the yielded value */
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  int scalar;    /* number among the launch's parameters, or -1 */
  int slot;      /* number among the kernel's buffers, or -1 for a scalar */
  int shares;    /* results: operand whose buffer it overwrites, or -1 */
  int same;      /* operands: the first one that is the same value, perhaps with other strides */
  bool overlaps; /* it may be the buffer of another one, which overlaps too */
} lower_buffer;

typedef struct lower_kernel {
  MlirOperation op;
  MlirContext ctx;
  MlirBlock block;
  loom_arena *arena;
  int operand_count, result_count, buffer_count, scalar_count;
  lower_buffer *operands, *results;
  lanes_target target;
  bool checked;  /* for loom-check: each access has the name of its op in its location */
  bool fastmath; /* the user's sums and products may be contracted and regrouped */
  int vector_bytes;
  uint16_t ops[LOOM_OP_END]; /* how many it has of each */
} lower_kernel;

/* False after a diagnostic. Reads `loom.target` and `loom.vector` (bytes) of the enclosing module.
 */
bool lower_kernel_parse(MlirOperation op, loom_arena *arena, lower_kernel *out);

/* ---- lower_index.c --------------------------------------------------------------------------- */

/* constant + sum of coef[v] * variable v + opaque, for one dimension. */
typedef struct lower_index {
  int64_t coef[LOWER_VARS];
  int64_t constant;
  MlirValue opaque;     /* i64, or one for each lane */
  int32_t opaque_level; /* scope of `opaque` */
  uint32_t opaque_vars; /* what `opaque` depends on, as a bit set */
} lower_index;

/* An index of a value, interned: equal indices are one pointer. `guard`: loads happen only where it
 * is true. */
typedef struct lower_at {
  int64_t rank;
  MlirValue guard;
  int32_t guard_level;
  int32_t reserved;
  lower_index dims[];
} lower_at;

typedef struct lower_var {
  int64_t extent;
  MlirValue iv; /* i64 (of lane 0 for the lane variable); null: always 0, or folded into an inner
                   variable */
  int level;
  int64_t low, cut; /* in a box it lies in [low, extent - cut) */
} lower_var;

typedef struct lower_value {
  MlirValue v;
  int level;  /* scope it lives in */
  bool lanes; /* differs between lanes */
  loom_dtype dtype;
} lower_value;

typedef struct lower_scope {
  MlirBlock block;
  uint32_t serial;
} lower_scope;

/* One load or store as the loops see it: its offset in elements by variable. */
typedef struct lower_access {
  int64_t coef[LOWER_VARS];
  int64_t constant;
  const lower_at *at;
  loom_dtype dtype;
  bool store, opaque, guarded;
  int operand;          /* number of the operand, or of the result for a store */
  uint32_t opaque_vars; /* what the opaque part of its offset depends on, as a bit set; */
  int64_t opaque_step;  /* it is a multiple of this */
} lower_access;

typedef struct lower_loop {
  int var; /* innermost variable of those folded into it */
  int64_t extent;
} lower_loop;

/* Loops over a domain, outermost first; the last is the lane loop. Each variable is in one loop. */
typedef struct lower_nest {
  lower_loop loops[LOWER_VARS];
  int count;
  int64_t rows; /* product of all but the last */
} lower_nest;

/* How the lane loop ends when its extent is no multiple of the width. */
typedef enum lower_tail { LOWER_TAIL_NONE, LOWER_TAIL_MASK, LOWER_TAIL_SCALAR } lower_tail;

typedef struct lower_lanes {
  int var, width;
  lower_tail tail;
} lower_lanes;

#define LOWER_MEMBERS 8

/* Reductions over the same axes of tensors of one shape that need no result of each other: one loop
 * makes them all. */
typedef struct lower_group {
  MlirOperation members[LOWER_MEMBERS];
  int count, depth;
  loom_type shape;
  uint32_t axes;
  int first_var;                    /* variable of reduced dimension d is first_var + d */
  bool primary;                     /* over the kernel's domain */
  int64_t slots[2 * LOWER_MEMBERS]; /* byte offsets of its carried values when split */
  lower_nest nest;
  lower_lanes lanes; /* when no lane is in use around it */
  bool ordered;      /* then: added in NumPy's order */
} lower_group;

/* A part of the domain (lower_box.c): a leaf, or cut further into children by a variable. */
typedef struct lower_box {
  int var; /* -1: a leaf */
  int child, children;
  int64_t first, end; /* of the variable that its parent cuts */
} lower_box;

#define LOWER_BOXES 48
#define LOWER_GROUPS 16
#define LOWER_TILES 4
#define LOWER_SAVES 4

/* A value kept in scratch between passes over a row. */
typedef struct lower_saved {
  MlirValue value;
  int64_t offset; /* bytes */
  loom_dtype dtype;
  int phase;   /* the pass over a row (lower_save.c) that stores it; 0: none has yet */
  bool closed; /* that pass has ended: it may be read */
} lower_saved;

/* How a kernel loops. Its domain's variables are kept or reduced; units run over the kept ones but
 * for the lane variable if that is kept. Inside are the lane loop and the loops over the reduced
 * variables. */
typedef struct lower_plan {
  int rank; /* of the domain: variable d is its dimension d */
  uint32_t reduced;
  lower_nest kept, inner;
  bool lane_reduced;
  lower_lanes lanes;
  lower_group groups[LOWER_GROUPS];
  int group_count, depth;
  MlirOperation scans[LOWER_MEMBERS];
  int scan_count;
  const lower_at *kept_at; /* index of a reduction's result over the domain */
  bool read_elsewhere;     /* some reduction's result is read at another index */
  const lower_at *full_at; /* every variable: the identity */
  lower_saved saved[LOWER_SAVES];
  int saved_count;
  int64_t saved_bytes;
  int cost;      /* rough instructions a lane */
  int tile_loop; /* loop along which some operands are contiguous, to be turned; or -1 */
  int tiles[LOWER_TILES], tile_count; /* their accesses */
  int mix, mix_var; /* places in a short innermost dimension that is interleaved; 0: none */
  int tile_side;    /* elements along a tile's side */
  bool panel;       /* operands of short reductions are turned: lanes run along what is kept */
  lower_box boxes[LOWER_BOXES]; /* the first is the root */
  int box_count;                /* 0: the domain is not divided */
  int64_t splits;               /* parts of the outermost reduced loop; 0: one stage does all */
  int64_t split_size;
  int64_t slot_bytes;
  bool full[64];          /* result r has every variable, not only the kept ones */
  const lower_at *at[64]; /* index of result r */
} lower_plan;

typedef struct lower_memo lower_memo;

/* Passes over a row that stays in registers (gpu_rows.c). */
typedef struct lower_rounds {
  int count, depth; /* of a pass; 0: a pass is a loop. Scopes around it */
  MlirValue inside; /* is the member's vector of this round in the row: i1, or null: all are */
  MlirBlock block;  /* around it, in which the rounds' scopes begin at number `serial` */
  uint32_t serial;
} lower_rounds;
/* Threads that share the lane loops of a unit, for a GPU (gpu.h). */
typedef struct lower_team {
  int size;                 /* 0: a thread has loops of its own */
  int teams;                /* that share the rows of a unit's columns; 1: none do */
  int columns;              /* then: lanes of a unit, */
  MlirValue number, inside; /* of the thread's team, i64; is the thread's column there? i1 */
  bool once;                /* a lane loop that carries nothing has one iteration at most */
  bool aligned, part;  /* vectors lie at multiples of their size; barriers are of 256 threads */
  int level;           /* the scope in which that holds: reductions are in none outside of it */
  MlirValue member;    /* the number of the thread in its team, i64 */
  int shared, threads; /* bytes of shared memory that the stage needs; of a block, 0: 256 */
  char maps[512];      /* numbers of its maps (gpu_map.c) */
  int blocks; /* that a multiprocessor is to have at once, at least; 0: it does not matter */
  int sites;  /* calls that wait for other threads */
  lower_rounds rounds;
} lower_team;

/* A symbolic number that has been computed, at the outermost scope. */
typedef struct lower_number {
  int64_t code;
  MlirValue v;
} lower_number;
#define LOWER_NUMBERS 64

typedef struct lower {
  const lower_kernel *kernel;
  const char *symbol;         /* of the stage; null in a dry run */
  struct math_shared *shared; /* functions that the stage calls (math_shared.c) */
  lower_plan *plan;
  loom_arena *arena;
  MlirLocation loc;
  bool dry, failed;
  lower_number numbers[LOWER_NUMBERS];
  int number_count;
  /* code */
  lower_scope scopes[LOWER_SCOPES];
  int depth; /* innermost scope */
  uint32_t serial;
  MlirValue panel_x0;      /* the first lane of the panels in scratch; null: none are there */
  uint32_t box, box_count; /* the box that code is made for; 0: none */
  lower_var vars[LOWER_VARS];
  int var_count;
  int lane_var;   /* -1: none */
  int width;      /* lanes */
  MlirValue mask; /* lanes that are on, or null for all */
  lower_team team;
  MlirValue pointers[64], params, scratch, begin, end, status;
  int phase, phase_count;              /* passes over a row */
  int stage;                           /* reductions of a lower depth come from slots */
  MlirValue part, part_low, part_high; /* the part of the outermost reduced loop, when split */
  const lower_at **interned;
  int interned_count, interned_capacity;
  lower_memo **memo;
  struct lower_bound *bound;
  /* what a dry run learns */
  lower_access *accesses;
  int access_count, access_capacity;
  uint32_t individual; /* variables needed on their own: not to be folded with a neighbour */
  int cost;            /* rough instructions a lane */
  bool guards;         /* some load is guarded */
  uint32_t remembered; /* values made */
  bool splitting;      /* looks for where to cut the domain */
  struct {
    int var; /* whose interval [first, end) decides the first open guard; -1: none */
    int64_t first, end;
  } split;
} lower;

/* A new index: the caller fills `dims`, then interns it. */
lower_at *lower_at_new(lower *l, int64_t rank);
/* The one index that is equal to it. */
const lower_at *lower_at_intern(lower *l, lower_at *at);
/* Where element `at` of the region of a slice or update_slice lies in the whole. */
const lower_at *lower_at_slice(lower *l, MlirOperation op, const lower_at *at);
/* The index whose dimension d is variable first + d. */
const lower_at *lower_at_identity(lower *l, int64_t rank, int first);
/* The index of operand `i` of a view (broadcast, reshape, transpose, slice) or of an elementwise
 * op. */
const lower_at *lower_at_operand(lower *l, MlirOperation op, loom_opcode code, const lower_at *at);
/* Smallest and largest value of an affine form; false when they cannot be determined. */
bool lower_index_range(const lower *l, const lower_index *index, int64_t *low, int64_t *high);
uint32_t lower_index_vars(const lower_index *index);
/* Scope in which the index is known. */
int lower_index_level(const lower *l, const lower_index *index);
bool lower_index_lanes(const lower *l, const lower_index *index);
/* The index of lane 0 as a scalar; false when it is 0 (parts that differ between lanes are left
 * out). */
bool lower_index_base(lower *l, const lower_index *index, lower_value *out);
/* The index as a value: of lane 0, or of every lane when it differs (or `lanes` asks). */
lower_value lower_index_value(lower *l, const lower_index *index);
/* Makes an index of a value (i64). */
void lower_index_opaque(lower *l, lower_value value, uint32_t vars, lower_index *out);
void lower_index_negate(lower *l, lower_index *index);
/* The number in C order of the element of `type` at an index. */
void lower_index_linear(lower *l, const loom_type *type, const lower_at *at, lower_index *out);
void lower_index_divmod(lower *l, const lower_index *index, int64_t divisor, lower_index *quotient,
                        lower_index *remainder);

#endif
