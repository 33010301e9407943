/* Shared by the parts of loom-fuse, in the order in which they work: fuse.c is the pass; the block
 * is prepared (fuse_prepare.c, fuse_wide.c, fuse_inplace.c); ops and what they read are a graph
 * (fuse_graph.c) whose groups are moved together (fuse_moves.c, fuse_dissolve.c) as far as they may
 * be (fuse_legal.c, fuse_limits.c, fuse_keep.c); the result is reported (fuse_explain.c); the
 * groups become ops (fuse_build.c). */
#ifndef LOOM_FUSE_H
#define LOOM_FUSE_H

#include "dialects/ir.h"
#include "passes/passes.h"

#define FUSE_SMALL 65536 /* elements that one thread handles well alone */
#define FUSE_CHEAP 1
#define FUSE_COSTLY 100

typedef enum fuse_kind {
  FUSE_POINTWISE,
  FUSE_REDUCE,
  FUSE_SCAN,
  FUSE_DOT,
  FUSE_ALONE,
  FUSE_UPDATES, /* in place, one after the other (fuse_inplace.c) */
  FUSE_STAYS    /* host calls and control flow: not fused, kept in order */
} fuse_kind;

typedef enum fuse_via { /* how a value reaches its user */
                        FUSE_DIRECT,
                        FUSE_BROADCAST, /* through one broadcast */
                        FUSE_VIEWED,    /* through views that repeat no element */
                        FUSE_EXPANDED,  /* through views that repeat elements */
                        FUSE_BUFFER     /* must lie in memory */
} fuse_via;

typedef struct fuse_edge {
  int producer, user;
  fuse_via via;
  bool partial;               /* some elements are not read */
  bool guarded;               /* elements that do not exist are read, as zeros */
  int next_use, previous_use; /* the next edge of the same producer, the one before; or -1 */
  MlirOperation broadcast;
} fuse_edge;

typedef struct fuse_node {
  MlirOperation op;
  loom_class class;
  loom_type type; /* of result 0 */
  bool free;      /* made anew in each group that uses it */
  bool returned;  /* leaves the function, or is read by something that stays */
  bool full;      /* in a reduce group: at full size */
  uint32_t fp;    /* floating-point exceptions of it and what is dissolved into it */
  int ops;        /* 1, and those dissolved into it */
  int cost, group, next;
  int first_edge, edge_count; /* towards producers */
  int first_use;              /* edge towards a user, or -1 */
  bool constant;              /* made of nothing but constants, and read within the function */
  bool watched;               /* reads what an op in place overwrites (fuse_inplace.c) */
  MlirOperation copy;         /* its clone in the group now being built */
  int stamp;
  int depth; /* reductions of its group on the way to it, for a moment (fuse_limits.c) */
} fuse_node;

typedef struct fuse_group {
  fuse_kind kind;
  loom_type space;
  uint32_t axes;
  int head, tail, count;
  int min, max; /* smallest and largest node number */
  int deep;     /* largest node number in it or in what it depends on, while fuse_state.deep */
  int mark;
  bool raised; /* its users have still to be visited (fuse_moves.c) */
  bool once;   /* it has costly ops that are computed once (fuse_keep.c) */
  bool varies; /* it has ops that are not constant */
} fuse_group;

typedef struct fuse_read { /* of a value that is watched */
  int user, next;          /* node; the read noted before it, or -1 */
} fuse_read;

typedef struct fuse_state {
  MlirBlock block;
  fuse_node *nodes;
  fuse_group *groups;
  int count;
  fuse_edge *edges;
  int edge_count;
  uint32_t edge_capacity;
  int *stack;
  int mark;
  int max_ops;      /* of one group: what a register file and a compile-time budget can bear */
  bool deep;        /* groups' `deep` hold */
  int reader;       /* the group whose reads are all in `readers`, or -1 */
  loom_map readers; /* value -> the last group noted that reads it */
  bool wide;        /* some op has more operands than nearly all have */
  bool dissolved; /* some op is computed where it is used: a node may read more than its operands */
  bool patient;   /* what reads a product that is stored anyway may still find another group */
  loom_map index; /* operation -> node */
  bool watches;   /* some op is in place: `watched` holds what is overwritten -> its last read */
  loom_map watched;
  fuse_read *reads;
  int read_count;
  uint32_t read_capacity;
  loom_late late; /* an op with a size that a host call reports comes after that call */
  bool out_of_memory;
} fuse_state;

/* ---- fuse_prepare.c ---- */

/* Puts copies in front of what reads a value in a layout that it does not have. */
void fuse_prepare(MlirOperation function, MlirBlock block);
/* A copy of the value in front of `before`. */
MlirValue fuse_insert_copy(MlirOperation before, MlirValue value);
/* Is an op of this class made anew in each group that uses it? */
bool fuse_is_free_class(loom_class class);
/* Is the value computed into a buffer of the plan's own by some group or host call? */
bool fuse_is_computed(MlirValue value);
/* Does a reshape only add or drop dimensions of size 1? */
bool fuse_is_unit_reshape(MlirOperation op);

/* ---- fuse_graph.c ---- */

/* The node that makes a value, or -1. */
int fuse_node_of(const fuse_state *s, MlirValue value);
bool fuse_same_sizes(const loom_type *a, const loom_type *b);
/* Finds all edges between nodes that are not free; those of what one node reads. */
void fuse_find_edges(fuse_state *s);
void fuse_find_reads(fuse_state *s, int n);

/* ---- fuse_legal.c ---- */

/* Does the broadcast bring a reduced value of the group back over the reduced axes? */
bool fuse_is_back_broadcast(const fuse_group *g, MlirOperation op);
/* Why groups `a` and `b` may not be merged into `joint`; NULL: they may. `related`: `b` reads a
 * value of `a`. */
const char *fuse_obstacle(fuse_state *s, int a, int b, bool related, fuse_group *joint);
bool fuse_may_merge(fuse_state *s, int a, int b, bool related, fuse_group *joint);
/* Does an op of group `to` read a value of group `from`? */
bool fuse_direct_path(fuse_state *s, int from, int to);
/* Does a kernel of both groups have to store the node's value, because it is read outside or only
 * because it may raise? */
bool fuse_is_stored(const fuse_state *s, int n, int a, int b);
/* Does a kernel of both groups take no more buffers than it may? */
bool fuse_buffers_fit(const fuse_state *s, int a, int b);

/* ---- fuse_moves.c ---- */

/* Merges and dissolves groups until nothing more is gained. */
void fuse_move(fuse_state *s);

/* ---- fuse_inplace.c ---- */

/* Marks an update_slice that may be done in place. */
void fuse_prepare_update(MlirOperation function, MlirBlock block, MlirOperation op);
/* To be called for each new node: does an op overwrite what this node reads? False: out of memory.
 */
bool fuse_watch(fuse_state *s, int n);
/* Node `user` reads `value`, which no view or free node stands for. */
void fuse_note_read(fuse_state *s, MlirValue value, int user);
/* May both ops, of two groups of updates, be in one? `op` writes what `before` has written. */
bool fuse_updates_fit(MlirOperation before, MlirOperation op);
/* Iterates over the nodes that read what node `n` overwrites. *at is -2 before the first call. -1:
 * there are no more. */
int fuse_next_reader(const fuse_state *s, int n, int *at);

/* ---- fuse_dissolve.c ---- */

bool fuse_can_dissolve(const fuse_state *s, int g);
/* Dissolves every group that may be; false: none was. */
bool fuse_dissolve(fuse_state *s);

/* ---- fuse_wide.c ---- */

/* Makes trees of wide concatenations. False: out of memory. */
bool fuse_prepare_wide(MlirBlock block);

/* ---- fuse_keep.c ---- */

/* Once it is known what is returned: what is made of constants alone. */
void fuse_find_constants(fuse_state *s, MlirOperation function);
/* May the groups be one, as far as what is computed once goes? */
bool fuse_constants_fit(const fuse_group *a, const fuse_group *b);
/* Would group `g`, which is computed once, be computed in each call if it were dissolved? */
bool fuse_constants_stay(const fuse_state *s, int g);

/* ---- fuse_limits.c ---- */

/* May the reductions of both groups be in one kernel, of this domain and these axes? */
bool fuse_reductions_fit(fuse_state *s, int a, int b, const fuse_group *joint);
/* Is what both compute of the result of each row little beside the row itself, or does the row need
 * it? */
bool fuse_tail_fits(const fuse_state *s, int a, int b, const fuse_group *joint);

/* ---- fuse_explain.c ---- */

/* Options and counters of the pass. */
enum { FUSE_OPTION_OPS };
enum { FUSE_COUNT_FUSED, FUSE_COUNT_KERNELS, FUSE_COUNT_DISSOLVED };
#define FUSE_MAX_OPS 192
/* Counts what was fused and dissolved; says why what reads a value was not fused with it. */
void fuse_explain(fuse_state *s);

/* ---- fuse_build.c ---- */

/* Replaces the block's ops by the groups. */
void fuse_rewrite(fuse_state *s, MlirOperation terminator);

#endif
