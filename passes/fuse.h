/* Shared by the two halves of loom-fuse: which ops go together (fuse.c) and making the groups
 * (fuse_build.c). */
#ifndef LOOM_FUSE_H
#define LOOM_FUSE_H

#include "dialects/ir.h"
#include "passes/passes.h"

typedef enum fuse_kind {
  FUSE_POINTWISE,
  FUSE_REDUCE,
  FUSE_SCAN,
  FUSE_DOT,
  FUSE_ALONE,
  FUSE_STAYS /* host calls and unknown ops: not fused, kept in order */
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
  bool partial; /* some elements are not asked for */
  bool guarded; /* elements that do not exist are asked for, as zeros */
  int next_use; /* the next edge of the same producer, or -1 */
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
  MlirOperation copy;         /* its clone in the group now being built */
  int stamp;
} fuse_node;

typedef struct fuse_group {
  fuse_kind kind;
  loom_type space;
  uint32_t axes;
  int head, tail, count;
  int min, max; /* smallest and largest node number */
  int deep;     /* largest node number in it or in what it depends on, while fuse_state.deep */
  int mark;
} fuse_group;

typedef struct fuse_state {
  MlirBlock block;
  fuse_node *nodes;
  fuse_group *groups;
  int count;
  fuse_edge *edges;
  int edge_count, edge_capacity;
  int *stack;
  int mark;
  bool deep;      /* groups' `deep` hold */
  loom_map index; /* operation -> node */
  bool out_of_memory;
} fuse_state;

/* ---- fuse.c ---- */

/* The node that makes a value, or -1. */
int fuse_node_of(const fuse_state *s, MlirValue value);
/* Follows reshapes of a whole buffer up to the value that lies in it. */
MlirValue fuse_root(MlirValue value);
/* Does a value of this node leave groups `a` and `b`? */
bool fuse_leaves(const fuse_state *s, int n, int a, int b);

/* ---- fuse_build.c ---- */

/* Replaces the block's ops by the groups. */
void fuse_rewrite(fuse_state *s, MlirOperation terminator);

#endif
