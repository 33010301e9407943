/* Kernels with a convolution_gradient: how they are divided (conv_gradient_plan.c) and lowered
 * (lower_conv_gradient.c).
 *
 * A matrix product whose rows are weights of an output channel (input channel x window), whose
 * columns are output channels and whose depth is the pixels of the convolution's result, over the
 * batch. Lanes are output channels: in a first stage the result's gradient is turned so that a
 * panel of `step` channels lies together, pixel by pixel, and the input is copied with its padding
 * around it (unless nothing is padded). Then a row of a tile reads, for consecutive pixels,
 * elements of the input `stride` apart, each one broadcast: every place of the window reads the
 * same image at an offset known when compiling, and no image of all windows is made.
 *
 * A tile is `mr` rows, some input channels with their whole window or a part of one window, by a
 * panel, summed in registers over a block of pixels. The sums of blocks are added in scratch, where
 * a chunk has all its tiles, so that a block of the gradient serves them from the cache.
 *
 * With one channel a group (depthwise) each lane has an input of its own: the input is turned like
 * the gradient, with its padding, and a row of a tile reads a vector of it. Where channels are
 * neighbours in memory nothing is packed (conv_gradient_lanes.c).
 *
 * The batch and the spatial sizes may be symbolic; then what follows from them are numbers
 * (loom_num_add), and blocks are those of the likely sizes.
 */
#ifndef LOOM_CONV_GRADIENT_H
#define LOOM_CONV_GRADIENT_H

#include "passes/alone.h"

#define GRADIENT_SPATIAL 3

/* Variables of the lowering. Every plan has three spatial dimensions, the missing ones first. */
enum {
  GRADIENT_N,
  GRADIENT_CHANNEL, /* of the input, in its group */
  GRADIENT_ROW,     /* of the tile, or of the chunk's sums */
  GRADIENT_LANE,    /* output channel within the panel */
  GRADIENT_AT,      /* and + 1, + 2: position in the gradient, the padded input or the window */
  GRADIENT_CHUNK = GRADIENT_AT + GRADIENT_SPATIAL,
  GRADIENT_PLANES, /* first of a block */
  GRADIENT_LINES,
  GRADIENT_PIXELS,
  GRADIENT_PLANE,
  GRADIENT_LINE,
  GRADIENT_PIXEL,
  GRADIENT_VARS
};

typedef struct gradient_plan {
  MlirOperation op;
  loom_type in, gradient, out;
  loom_dtype dtype;
  const lower_buffer *image, *pixels, *weights; /* the input, the gradient, the result */
  int64_t batch, groups, rows, channels;        /* of one group: output and input channels */
  int64_t strides[GRADIENT_SPATIAL], low[GRADIENT_SPATIAL], dilation[GRADIENT_SPATIAL];
  int64_t window[GRADIENT_SPATIAL], size[GRADIENT_SPATIAL], count[GRADIENT_SPATIAL]; /* of pixels */
  int64_t padded[GRADIENT_SPATIAL]; /* sizes of the padded input */
  int64_t places, planes;           /* of a window; batch x first spatial dimension */
  bool paired; /* depthwise: groups are lanes, as if there were one group of so many rows */
  bool direct; /* the input is read where it lies */
  int64_t image_strides[2 + GRADIENT_SPATIAL]; /* of what is read: batch, channel, ... */
  int vl, nv, mr, square;
  int64_t tile[1 + GRADIENT_SPATIAL]; /* input channels and window places of a tile */
  int64_t step, panels;
  int64_t block[GRADIENT_SPATIAL]; /* planes, lines and pixels summed in registers */
  int64_t chunk_channels, chunks;  /* input channels of a chunk; chunks of a panel */
  int64_t pack_lines, pack_planes; /* chunks of the first stage: of the gradient, of the input */
  int64_t plane;                   /* elements of one of the latter */
  int64_t image_offset;            /* in the slots, bytes */
  bool lanes;               /* both operands are read where they lie (conv_gradient_lanes.c) */
  int64_t lane_tile, turns; /* pixels of a tile; sums of a place, which take turns */
  int64_t lane_lines, padded_rows; /* of a chunk; channels in whole vectors */
} gradient_plan;

bool gradient_plan_make(const lower_kernel *kernel, MlirOperation op, gradient_plan *out);

/* The largest square of elements that is turned in registers. */
#define GRADIENT_SQUARE 8

/* One chunk of the gradient while its code is made. */
typedef struct gradient_job {
  const gradient_plan *p;
  MlirValue group, first;              /* output channels: the group, the panel's first in it */
  MlirValue gradient, image;           /* pointers: the panel of the gradient; the group's input */
  MlirValue channel_low, channel_high; /* of the chunk */
  MlirValue tile_image;                /* of a tile */
  MlirValue high[GRADIENT_SPATIAL];    /* ends of the block */
  MlirValue target, square;            /* while packing, and storing */
  MlirValue sums;                      /* while storing: the first row's, */
  int64_t apart;                       /* and elements between rows of a square */
  const lower_buffer *turned;          /* the gradient, or the input of paired lanes */
  int64_t line, reached;               /* pixels of its lines: the smaller number */
} gradient_job;

/* ---- lower_conv_gradient.c: addresses, loops and blocks of squares ---- */

MlirValue gradient_splat(lower *l, const gradient_plan *p, int width);
MlirValue gradient_slots(lower *l, int64_t bytes);
/* ptr + a number of elements known now. */
MlirValue gradient_beside(lower *l, MlirValue ptr, int64_t elements, loom_dtype dtype);
/* ptr + index * stride elements. */
MlirValue gradient_along(lower *l, MlirValue ptr, MlirValue index, int64_t stride,
                         loom_dtype dtype);
MlirValue gradient_divide(lower *l, MlirValue x, int64_t by, MlirValue *rest);
int64_t gradient_stride(const gradient_plan *p, const lower_buffer *buffer, int d);
/* The smaller of two numbers. */
MlirValue gradient_least(lower *l, int64_t a, int64_t b);
/* Calls `piece` for pieces of `width` pixels of a line. The line has as many pixels as the smaller
 * one of `a` and `b`. The last piece begins within the one before it. A line that is shorter than a
 * piece is done by `pixel`, one pixel at a time. */
void gradient_pieces(lower *l, int64_t a, int64_t b, int width, lower_body piece, lower_body pixel,
                     gradient_job *job);
/* First output channel of a panel in its group. The last panel starts early enough to be whole, so
 * some channels are summed twice, with the same bits. */
MlirValue gradient_first(lower *l, const gradient_plan *p, MlirValue panel);
/* How many channels of a panel exist: a group may have fewer than a panel. */
int64_t gradient_lanes(const gradient_plan *p);

/* ---- conv_gradient_lanes.c ---- */

/* Decides whether a gradient has the form, and how it is divided. */
bool gradient_lanes_plan(const lower_kernel *kernel, gradient_plan *p);
void gradient_lanes_stages(const gradient_plan *p, alone_plan *out);
void gradient_lanes_lower(lower *l, gradient_plan *p, int stage);

/* ---- conv_gradient_pack.c ---- */

/* How many of the panel's channels form whole squares. These squares are done in a loop. */
int64_t gradient_whole(const gradient_plan *p);
void gradient_pack(lower *l, gradient_job *job);

#endif
