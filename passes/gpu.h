/* Kernels for a GPU: forms of them in which the threads of a block work together. The forms have in
 * common that a lane loop belongs to a team: the threads of a warp, or all of a block. Member m of
 * the team takes vectors m, m + size, m + 2 size, ... of the loop, so that the team's accesses are
 * next to each other. Everything around a lane loop is the same for all of a team. In a reduction
 * of columns all teams of a block may share a unit: they have the same lanes and divide the rows.
 *
 * Sections by file.
 */
#ifndef LOOM_GPU_H
#define LOOM_GPU_H

#include "passes/lower.h"
#include "passes/reduce.h"

#define GPU_WARP 32
#define GPU_BLOCK 256 /* threads of a block */

/* ---- gpu_call.c ---- */

/* A call of a function outside of the module that `inside` is in, which is declared where it is not
 * yet: its result, or null where `result` is. */
MlirValue gpu_call(loom_builder *b, MlirOperation inside, const char *name, intptr_t count,
                   const MlirType *types, const MlirValue *operands, MlirType result);
/* The block's threads wait for each other. */
void gpu_barrier(lower *l, loom_builder *b);
/* The shared memory of the stage, which needs so many bytes of it. */
MlirValue gpu_shared(lower *l, loom_builder *b, int bytes);

/* The stage is written for blocks: the number of the thread in its block, i64. */
MlirValue gpu_thread(lower *l);
/* Blocks of a launch in which so many elements have a thread each: numbers. */
int64_t gpu_blocks(int64_t elements);
/* Calls `body` for the element that the thread has, if there is one; *at is its number. */
void gpu_each(lower *l, int64_t elements, MlirValue *at, lower_body body, void *user);

/* ---- gpu_form.c: which form a kernel has, and the threads' share of its units ---- */

/* Gives the schedule a team and a width of vectors where the kernel has a form for teams. */
void gpu_schedule(const lower *l, lower_schedule *out);
bool gpu_team_is(int64_t size, int64_t teams);
/* The units of a block, each by one team, or by all of its teams; `total`: of the launch. */
void gpu_units(lower *l, const lower_schedule *schedule, int64_t total,
               void (*unit)(lower *l, const lower_schedule *schedule, MlirValue unit));
/* Says how large the blocks of a stage are. */
void gpu_set_sizes(MlirOperation function, const lower_team *team);

/* ---- gpu_lanes.c: lane loops, and accesses of vectors ---- */

/* A team's lane loop over [low, high), at the width of `l`. */
void gpu_lanes(lower *l, MlirValue low, MlirValue high, int var, int carried,
               const MlirValue *inits, lower_body body, void *user, MlirValue *out);
/* What only one thread does: the first member of a team, or the thread of the first team that has
 * the column. */
void gpu_first(lower *l, lower_body body, void *user);
/* Marks an access of a vector, or the load that a value comes from, where vectors are aligned. */
void gpu_align(const lower *l, MlirOperation access, loom_dtype dtype);
void gpu_align_load(const lower *l, MlirValue value, loom_dtype dtype);

/* ---- gpu_rows.c: rows that stay in registers ---- */

/* The rounds of a pass over a row by a team, where passes keep what they load; 0 where they do not.
 */
int gpu_row_rounds(const lower *l, int64_t team, int width);
/* A pass, in the place of a lane loop. */
void gpu_rounds(lower *l, MlirValue low, MlirValue high, int var, int carried,
                const MlirValue *inits, lower_body body, void *user, MlirValue *out);
/* What only members do whose vector is in the row. */
void gpu_inside(lower *l, lower_body body, void *user);
/* Loads consecutive elements, zeros for members whose vector is outside of the row. */
MlirValue gpu_load(const lower *l, loom_builder *b, MlirValue address, loom_dtype dtype, int width,
                   MlirValue mask);

/* ---- gpu_reduce.c ---- */

/* The value of the thread of the same warp, or wave of 64, whose number differs in the bits of
 * `mask`. */
MlirValue gpu_shuffle(lower *l, loom_builder *b, MlirValue value, int mask);
/* The carried values of all members of a team, or of all teams of a column, become one, in every
 * thread. Does nothing where a thread has loops of its own. */
void gpu_reduce(lower *l, const reduce_run *run, MlirValue *accs);
/* Where teams share the rows of columns: each takes rows that are as far apart as there are teams.
 * A thread without a column takes none. */
void gpu_share_rows(lower *l, MlirValue *low, MlirValue *high, MlirValue *step);
/* The parts of a reduction: a row's are shared by the members of a team, a column's by the teams.
 */
void gpu_share_parts(lower *l, bool lanes, MlirValue *low, MlirValue *step);

/* ---- gpu_online.c: the two reductions of a softmax in one pass ---- */

typedef struct gpu_online {
  const lower_group *group; /* of the first one */
  MlirOperation largest, sum;
  const lower_at *at; /* of the operand */
} gpu_online;

/* Is `op` one of two such reductions, of a row that does not stay in registers? */
bool gpu_online_find(const lower *l, MlirOperation op, gpu_online *out);
/* Both, which are remembered at `at`. */
void gpu_online_emit(lower *l, gpu_online *online, const lower_at *at, const lower_at *operand_at,
                     int level);
/* Two of the pairs become one. */
void gpu_online_merge(loom_builder *b, const MlirValue *x, const MlirValue *y, MlirValue *out);

/* ---- gpu_turn.c ---- */

#define GPU_TURN 32 /* elements along the side of a tile */

/* Tiles of a kernel with turned operands, and the code of one, which is a block's. */
int64_t gpu_turn_units(const lower_plan *plan);
void gpu_turn_unit(lower *l, MlirValue unit, lower_body body);

/* ---- gpu_scan.c ---- */

/* Are there so few rows, and so long ones, that threads share them wherever elements lie? */
bool gpu_scan_shares(const lower *l, int64_t rows, int64_t extent);
/* The loop along the axis of a scan, whose elements a team shares. */
void gpu_scan_loop(lower *l);

/* ---- gpu_order.c: numbers in the order of their keys ---- */

#define GPU_ORDER_MOST (INT64_C(1) << 25) /* places of a line: as many stages as a kernel has */

/* Places 0, 1, ... n - 1 of each line are brought into the order of their keys, which are unsigned
 * numbers; those with equal keys keep theirs. */
typedef struct gpu_order {
  int64_t n, lines; /* both at least 1 */
  bool wide;        /* keys of 64 bits, else of 32 */
  int64_t offset;   /* in the slots: bytes */
  /* The key of a place. Asked once for each. */
  MlirValue (*key)(lower *l, void *user, MlirValue line, MlirValue at);
  /* Place `number` (i32) of the line comes at `at`. */
  void (*deliver)(lower *l, void *user, MlirValue line, MlirValue at, MlirValue key,
                  MlirValue number);
  void *user;
} gpu_order;

/* How many stages it takes, and the chunks of each. */
int gpu_order_stages(const gpu_order *o, int64_t *chunks);
/* Bytes of slots. */
int64_t gpu_order_bytes(const gpu_order *o);
void gpu_order_lower(lower *l, const gpu_order *o, int stage);

typedef MlirValue (*gpu_before)(lower *l, void *user, MlirValue at);
/* The first of the places [low, high), of which there are at most `most`, that is not `before` what
 * is looked for, as all behind it are not; `high`: all are. `safe` is a place that may be asked
 * about whatever the range is. */
MlirValue gpu_search(lower *l, MlirValue low, MlirValue high, int64_t most, MlirValue safe,
                     gpu_before before, void *user);

#endif
