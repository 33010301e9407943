/* What conv_outputs.c and conv_outputs_pack.c share. */
#ifndef LOOM_CONV_OUTPUTS_H
#define LOOM_CONV_OUTPUTS_H

#include "passes/conv.h"

#define OUTPUTS_SQUARE 8 /* elements of a side, at most */

typedef struct outputs_job {
  conv_job *job;
  MlirValue place_low, place_high, channel_low, channel_high; /* of the block */
  MlirValue count;                                            /* steps of its depth */
  MlirValue place;                                            /* of the window, from place_low on */
  MlirValue line; /* of the input, which a line of the window reads for the segment */
  MlirValue sums;
} outputs_job;

static inline outputs_job *outputs_of(conv_job *job) { return job->form; }

/* ---- conv_outputs_pack.c ---- */

/* Calls `body` for each vector of [low, high) of a variable; `low` is a multiple of the width. */
void outputs_lanes(lower *l, const conv_plan *p, int var, MlirValue low, MlirValue high, bool whole,
                   lower_body body, void *user);
/* The weights of tile `tile`, counted through the groups, from this step of the depth on. */
MlirValue outputs_weights(lower *l, const conv_plan *p, MlirValue tile, MlirValue depth);
/* Copies what the windows read in the block to scratch. */
void outputs_copy(lower *l, outputs_job *at);

#endif
