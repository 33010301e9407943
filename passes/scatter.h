/* What the lowerings of scatters share (lower_scatter.c, gpu_scatter.c).
 *
 * A result is a box of outer x axis x inner elements, an update a box of outer x index x inner. An
 * index is that of a slice of inner elements, or, in the form of np.put_along_axis, of one element.
 */
#ifndef LOOM_SCATTER_H
#define LOOM_SCATTER_H

#include "passes/alone.h"

enum {
  SCATTER_OUTER,
  SCATTER_INDEX,
  SCATTER_ROW,
  SCATTER_LANE,
  SCATTER_ONCE, /* of an element whose index is good */
  SCATTER_CHUNK,
  SCATTER_VARS
};

typedef struct scatter_job {
  MlirOperation op;
  loom_type to, indices, updates;
  int64_t to_dims[LOOM_MAX_RANK], index_dims[LOOM_MAX_RANK]; /* numbers, as all sizes below */
  int axis;
  bool along;                        /* an index is that of an element */
  int64_t outer, count, rows, lanes; /* inner is rows x lanes, the last dimension */
  int cut;
  int64_t chunks, size; /* of what is cut: how many there are is a constant */
  MlirValue low[SCATTER_VARS], high[SCATTER_VARS];
  const char *combine;    /* for lower_combine, or NULL to set */
  lower_index target;     /* along the axis */
  MlirValue inside;       /* is it one that a combined element gets; null: it is */
  const lower_at *update; /* of the lane loop */
  const lower_at *place;
  int vl, vectors; /* of lines that stay in registers (scatter_run.c); 0: they do not */
} scatter_job;

/* ---- scatter_run.c ---- */

/* Decides whether a scatter has the form. */
bool scatter_run_plan(const lower_kernel *kernel, scatter_job *j);
void scatter_run_chunk(lower *l, scatter_job *j);

/* ---- lower_scatter.c ---- */

/* False after a diagnostic. */
bool scatter_read(const lower_kernel *kernel, MlirOperation op, scatter_job *j);
/* Sets the extents of the variables. */
void scatter_open(lower *l, const scatter_job *j);
/* The index that the variables name as an int64 in [0, n), and whether it was one. */
lower_value scatter_target(lower *l, scatter_job *j, lower_value *inside);
/* Gives the job the target of the current index; is it a good one? */
MlirValue scatter_aim(lower *l, scatter_job *j, uint32_t vars);
/* Gives the job the indices of an update and of its place in the result. */
void scatter_places(lower *l, scatter_job *j);
/* Puts the update into its place. */
void scatter_apply(lower *l, void *user, const MlirValue *carried, MlirValue *next);

#endif
