/* Kernels with a convolution: how they are divided (conv_plan.c) and lowered (lower_conv.c).
 *
 * A matrix product whose rows are output channels, whose columns are pixels (batch x spatial, in C
 * order of the result) and whose depth is input channels x window. A panel is `step` pixels; what
 * their windows read is packed into scratch, depth by depth, just before it is used, so that it is
 * read from the cache: no image of all windows is made. (Where there are so few panels that several
 * chunks read one, a stage of its own packs all of them.) A tile is `mr` output channels of a
 * panel, summed in registers over a block of the depth, each weight being one broadcast. The sums
 * of blocks are added in scratch: one long chain of additions would round more than the library's.
 * From there the epilogue is lowered like any elementwise kernel. A block of the panel serves all
 * tiles before the next one.
 *
 * Pixels of a panel that lie in one row of the result (along its last dimension) are a segment, at
 * most a few a panel: they are read, and stored, as vectors of neighbours. A vector of pixels that
 * all exist, and whose windows lie in the input, takes code without masks.
 *
 * Where the result's channels are neighbours in memory, lanes are output channels, and a tile is
 * `mr` pixels (conv_outputs.c).
 *
 * With few output channels a group (depthwise) no tile of channels would use a pixel twice. There
 * are three forms for them:
 * - Lanes (conv_lanes.c), where a group has one input channel, there are two spatial dimensions,
 * and channels are neighbours in memory: a vector has the same pixel of some channels.
 * - Planes (conv_planes.c), where a group has one input channel and two spatial dimensions: a band
 *   of an input plane is packed with its padding, so that no mask is needed. A tile is some rows
 *   of the result, one vector each. It loads a row of the band once for all rows of the result
 *   whose windows read it.
 * - Windows: a vector of pixels is summed over its window without packing.
 */
#ifndef LOOM_CONV_H
#define LOOM_CONV_H

#include "passes/alone.h"

#define CONV_SPATIAL 3
#define CONV_PICKS 4

/* Variables of the lowering. Spatial dimensions of the output and of the window: the last of the
 * output is CONV_X, whatever their number. */
enum {
  CONV_GROUP,
  CONV_ROW, /* output channel of the group */
  CONV_N,
  CONV_OUT, /* and CONV_OUT + 1 */
  CONV_X = CONV_OUT + CONV_SPATIAL - 1,
  CONV_C,
  CONV_WINDOW, /* to CONV_WINDOW + 2 */
  CONV_CHUNK = CONV_WINDOW + CONV_SPATIAL,
  CONV_TILE,
  CONV_PANEL,
  CONV_SEGMENT,
  CONV_DEPTH,
  CONV_BLOCK_LOW,
  CONV_RUN,
  CONV_SUMS,
  CONV_BAND_Y, /* of a packed band, counted with the padding */
  CONV_BAND_X,
  CONV_VARS
};

typedef struct conv_plan {
  MlirOperation op;
  loom_type in, weights, out;
  loom_dtype dtype;
  int spatial;
  int64_t strides[CONV_SPATIAL], low[CONV_SPATIAL], dilation[CONV_SPATIAL], window[CONV_SPATIAL];
  int64_t spread[CONV_SPATIAL];   /* steps between elements of the input, with zeros in between */
  bool reversed;                  /* the windows, as in the gradient of a convolution's input */
  int64_t groups, rows, channels; /* of one group: output and input channels */
  int64_t x, lines, pixels;       /* last output dimension; all others but channels; all */
  int64_t depth;
  int64_t depth_coef[1 + CONV_SPATIAL]; /* of the input channel and of the window's dimensions */
  bool direct; /* weights are read where they lie; else packed in slots as [channel][depth] */
  int operand; /* of the kernel: the weights */
  int64_t weight_base, weight_row, weight_step; /* in elements: the first; between output channels;
                                                   along the depth */
  int64_t weight_channel;                       /* between input channels, or 0 */
  int64_t run, weight_run; /* so many steps of the depth, then on from a run's start by so much */
  bool line;               /* the input is a buffer whose last dimension is contiguous */
  int input;               /* of the kernel, then */
  bool repeats;            /* its elements may be the same along the last dimension */
  int unrolled;            /* first dimension of the window that is unrolled */
  bool windows;            /* summed window by window, without packing; tiles are groups */
  bool planes; /* bands of planes are packed; tiles are groups, panels are bands of all images */
  int64_t bands, band;   /* of an image; rows of the result in one */
  int tile, window_rows; /* rows of the result, and of the window, that are in registers at once */
  int64_t band_rows, band_pitch; /* of the input; elements between rows, for each phase */
  bool lanes;                    /* of channels; tiles are groups, panels are lines of all images */
  bool outputs;                  /* lanes are output channels; tiles are `row_step` of them */
  bool straight;    /* pixels are read where they lie, `pitch` apart; else so in scratch */
  bool runs, piece; /* lines of windows are copied as one; each is one piece of memory */
  int square;       /* weights are turned in squares; 1: they are not */
  int64_t row_step, padded_rows, pitch;
  int64_t block_places, block_channels; /* of the window, and input channels, in a block */
  bool finished;         /* the sums of a tile are, in registers, where it is not at an edge */
  bool held;             /* the weights of a window are in registers at once */
  int64_t padded_groups; /* of which there are so many in the packed weights */
  int vl, mr, nv;
  int xl; /* lanes along a line: 1 where lines have one pixel, which no index tells from another */
  int64_t step;  /* pixels of a panel */
  int64_t block; /* of the depth that is summed in registers */
  int64_t tiles, panels, block_tiles, block_panels, chunks_m, chunks_n; /* of one group */
  int64_t sums;        /* tiles whose sums lie in scratch at once */
  int64_t tile_offset; /* of the first of them in scratch, bytes */
  bool ahead; /* several chunks read a panel: a stage of its own packs it, into the slots */
  int64_t panel_offset, panel_blocks, panel_channels; /* there: bytes; chunks of a panel; of each */
} conv_plan;

bool conv_packs_weights(const conv_plan *p); /* in the first stage */
bool conv_plan_make(const lower_kernel *kernel, MlirOperation op, conv_plan *out);

/* One chunk of a convolution while its code is made. */
typedef struct conv_job {
  const conv_plan *p;
  MlirValue first, last;                                /* pixels of the panel */
  MlirValue line;                                       /* first pixel of the segment's line */
  MlirValue x_low, x_high;                              /* of the segment */
  MlirValue row0, row_end;                              /* output channels of the tile */
  MlirValue tile_low, tile_high, panel_low, panel_high; /* of the chunk */
  lower_body pixels;                                    /* what a vector of the segment does, */
  bool reads;                                           /* with windows of the input? */
  bool inside; /* all lanes are pixels of the segment, with windows that lie in the input */
  MlirValue channel_low, channel_high; /* of what is packed; null: all */
  MlirValue panel;                     /* where it lies */
  MlirValue sums_low, sums_high;       /* tiles with sums in scratch */
  MlirValue sums;                      /* where those of the tile lie */
  int64_t place[CONV_SPATIAL];         /* in the unrolled dimensions of the window */
  MlirValue weights;                   /* at the group's first channel */
  void *form;                          /* what a form needs beside it */
} conv_job;

/* ---- lower_conv.c: indices, and loops over the depth and over pixels ---- */

MlirValue conv_zero(lower *l, int level, const conv_plan *p, int width);
/* The index of the input that the window reads for a pixel. It lies outside of the input where
 * there is padding. */
void conv_input_index(const lower *l, const conv_job *job, lower_index *dims);
/* The number of a weight of one output channel in the order of the depth. */
MlirValue conv_depth(lower *l, const conv_job *job);
/* Loops over the depth around `body`. At most one value is carried. */
void conv_depths(lower *l, conv_job *job, int carried, MlirValue *value, lower_body body);
/* Calls `body` for each vector of the segment, with CONV_X in its lanes. `reads`: it reads windows
 * of the input. */
void conv_vectors(lower *l, conv_job *job, bool reads, lower_body body);
void conv_segments(lower *l, conv_job *job, void (*body)(lower *l, conv_job *job));
/* The place of lane 0 among the pixels of the panel. */
MlirValue conv_within(lower *l, const conv_job *job);

/* The element of the result at CONV_N, CONV_GROUP, CONV_ROW, CONV_OUT, ... is finished, `pixel`
 * pixels on along the line. */
void conv_finish(lower *l, const conv_plan *p, MlirValue sum, int64_t pixel);
/* Lanes that are off repeat lane 0, so that they raise nothing of their own. */
MlirValue conv_repeat_first(lower *l, const conv_plan *p, MlirValue sum);
/* conv_finish where the lanes' sums stand at `ptr`. */
void conv_finish_sums(lower *l, const conv_plan *p, MlirValue ptr);
/* The weights of an output channel, counted through the groups. */
MlirValue conv_weight_pointer(lower *l, const conv_job *job, MlirValue row);

/* ---- conv_planes.c ---- */

/* Decides whether a convolution of one output row or two has the form, and how it is divided. */
void conv_planes_plan(const lower_kernel *kernel, conv_plan *p);
/* Rows of the input that `rows` rows of the result read. */
int64_t conv_rows_read(const conv_plan *p, int64_t rows);
void conv_planes_chunk(lower *l, conv_job *job);

/* ---- conv_lanes.c ---- */

/* Decides whether a convolution of one output row or two has the form, and how it is divided. */
void conv_lanes_plan(const lower_kernel *kernel, conv_plan *p);
void conv_lanes_pack(lower *l, void *user, const MlirValue *carried, MlirValue *next);
void conv_lanes_chunk(lower *l, conv_job *job);

/* ---- conv_outputs.c ---- */

/* Decides whether a convolution of several output rows has the form, and how it is divided. */
void conv_outputs_plan(const lower_kernel *kernel, conv_plan *p);
int64_t conv_outputs_panel_bytes(const conv_plan *p);
int64_t conv_outputs_sums_bytes(const conv_plan *p);
void conv_outputs_pack(lower *l, void *user, const MlirValue *carried, MlirValue *next);
void conv_outputs_panel(lower *l, conv_job *job);

/* ---- conv_pack.c ---- */

MlirValue conv_slots(lower *l);
void conv_pack_channel(lower *l, void *user, const MlirValue *carried, MlirValue *next);
/* The input at every pixel of the lanes, for the place in the window and the channel at hand. */
MlirValue conv_input(lower *l, const conv_job *job);
void conv_pack_panel(lower *l, conv_job *job);
/* Every `stride`th of the elements of `stride` vectors (at most CONV_PICKS), from `phase` on. */
MlirValue conv_pick(loom_builder *b, const MlirValue *parts, int64_t stride, int64_t phase, int vl);

#endif
