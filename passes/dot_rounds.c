/* Products whose packed operands are not all there at once.
 *
 * Packing an operand whole takes as much memory again as the operand. Where that is more than some
 * hundred KiB, the chunks of a product are divided into rounds: each packs the panels (of the
 * columns, of the rows, or of some batches) that its chunks read, in the place of those of the
 * round before, and is computed before the next begins. An operand that is small enough is packed
 * once, in the first round; of two large ones the rows are packed again for each block of columns.
 * A round has enough work that the barrier at its end costs nothing, and enough chunks for the
 * threads. What an element is the sum of, and in which order, stays the same.
 *
 * Chunks are numbered round by round: columns within batches, rows within columns. The last round
 * of a row or column may name tiles that do not exist: their loops are empty.
 */
#include "passes/dot.h"

#include <stdlib.h>

#define ROUND_BYTES (512 << 10) /* of packed operands at once, */
#define ROUND_PART 32           /* or so much of all that the product reads and writes */
#define ROUND_WORK (16 << 20)   /* multiply-adds, at least */
#define ROUND_CHUNKS 24         /* wanted, if they are worth a launch: */
#define ROUND_CHUNK_WORK (1 << 20)
#define ROUND_TILES 8
#define ROUND_ROWS 96 /* rows of a round: at least, if these fit */
#define ROUND_ROWS_BYTES (1 << 20)
#define ROUND_COLUMNS 512 /* where the rows are packed for each round of columns: at least, */
#define ROUND_MOST_BYTES (8 << 20) /* if these fit */

static int64_t round_max(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t round_min(int64_t a, int64_t b) { return a < b ? a : b; }

bool dot_is_divided(const dot_plan *p) {
  return p->rounds.rows > 1 || p->rounds.columns > 1 || p->rounds.batches > 1;
}

int64_t dot_place(dot_plan *p, bool fixed) {
  int64_t size = (int64_t)loom_dtype_size(p->work), at = 0;
  for (int side = 0; side < 2; side++) {
    dot_operand *o = side ? &p->rhs : &p->lhs;
    if (o->direct || o->fixed != fixed) continue;
    o->offset = at;
    int64_t row = loom_num_mul(o->step * size, dot_packed_depth(p));
    at = loom_num_add(at, loom_num_mul(loom_num_mul(o->kept, o->round), row));
    at = loom_num_mul(loom_num_ceil(loom_num_add(at, 1), 64), 64); /* 0 would mean no buffer */
  }
  return at;
}

static int64_t round_packs(const dot_operand *o) {
  return dot_is_packed(o) ? loom_num_mul(o->kept, o->round) : 0;
}

int64_t dot_round_packs(const dot_plan *p) {
  return loom_num_add(round_packs(&p->lhs), round_packs(&p->rhs));
}

/* ---- how large a round is ---- */

static int64_t round_panel_bytes(const dot_plan *p, const dot_operand *o) {
  return !dot_is_packed(o) ? 0 : o->step * dot_packed_depth(p) * (int64_t)loom_dtype_size(p->work);
}

/* Packed bytes that may be there at once. */
static int64_t round_budget(const dot_plan *p) {
  int64_t rows = p->extents[DOT_ROW], columns = p->extents[DOT_COLUMN];
  int64_t depth = p->extents[DOT_DEPTH], all = rows * columns;
  all += rows * depth * (p->lhs.batches > 1) + columns * depth * (p->rhs.batches > 1);
  all = all * p->extents[DOT_BATCH] + rows * depth + columns * depth;
  return round_max(ROUND_BYTES, all * (int64_t)loom_dtype_size(p->work) / ROUND_PART);
}

/* Panels of `o` in a round, at least one, of `width` rows or columns on the other side. */
static int64_t round_size(const dot_plan *p, const dot_operand *o, int64_t budget, int64_t width) {
  int64_t fit = budget / round_max(round_panel_bytes(p, o), 1);
  int64_t work = round_max(width * o->step * p->extents[DOT_DEPTH], 1);
  return round_min(round_max(fit, loom_ceil_div(ROUND_WORK, work)), o->panels);
}

/* Blocks of a chunk for rounds of so many tiles and panels; the rounds then hold whole blocks. */
static void round_chunks(dot_plan *p, int64_t tiles, int64_t panels) {
  int64_t depth = round_max(p->extents[DOT_DEPTH], 1);
  p->block_tiles = round_min(p->block_tiles, tiles);
  p->block_panels = round_min(p->block_panels, panels);
  int64_t rows = loom_ceil_div(tiles, p->block_tiles);
  int64_t least = loom_ceil_div(ROUND_CHUNK_WORK, p->block_tiles * p->mr * p->rhs.step * depth);
  int64_t some = loom_ceil_div(panels, round_max(loom_ceil_div(ROUND_CHUNKS, rows), 1));
  p->block_panels = round_min(p->block_panels, round_max(least, some));
  int64_t columns = loom_ceil_div(panels, p->block_panels);
  if (rows * columns < ROUND_CHUNKS && p->block_tiles > ROUND_TILES) {
    p->block_tiles =
        round_max(ROUND_TILES, loom_ceil_div(tiles, loom_ceil_div(ROUND_CHUNKS, columns)));
    rows = loom_ceil_div(tiles, p->block_tiles);
  }
  p->chunks_m = rows;
  p->chunks_n = columns;
  p->lhs.round = round_min(rows * p->block_tiles, p->tiles);
  p->rhs.round = round_min(columns * p->block_panels, p->panels);
  p->rounds.rows = loom_ceil_div(p->tiles, rows * p->block_tiles);
  p->rounds.columns = loom_ceil_div(p->panels, columns * p->block_panels);
}

/* Rounds within one batch. */
static void round_within(dot_plan *p, int64_t budget) {
  int64_t lhs = round_panel_bytes(p, &p->lhs) * p->tiles;
  int64_t rhs = round_panel_bytes(p, &p->rhs) * p->panels;
  int64_t tiles = p->tiles, panels = p->panels;
  bool few_rows = lhs <= budget / 2, few_columns = rhs <= budget / 2;
  if (!few_columns)
    panels = round_size(p, &p->rhs, few_rows ? budget - lhs : budget / 2, p->extents[DOT_ROW]);
  if (!few_rows && !few_columns) {
    int64_t wanted = round_min(loom_ceil_div(ROUND_COLUMNS, p->rhs.step), p->panels);
    int64_t fit = ROUND_MOST_BYTES / round_max(round_panel_bytes(p, &p->rhs), 1);
    if (dot_is_packed(&p->lhs)) panels = round_max(panels, round_min(wanted, fit));
  }
  if (!few_rows)
    tiles = round_size(p, &p->lhs, few_columns ? budget - rhs : budget / 2,
                       few_columns ? p->extents[DOT_COLUMN] : panels * p->rhs.step);
  if (!few_rows) {
    int64_t wanted = round_min(loom_ceil_div(ROUND_ROWS, p->lhs.step), p->tiles);
    int64_t fit = ROUND_ROWS_BYTES / round_max(round_panel_bytes(p, &p->lhs), 1);
    tiles = round_max(tiles, round_min(wanted, fit));
  }
  if (tiles < p->tiles || panels < p->panels) round_chunks(p, tiles, panels);
}

/* Rounds of some batches, where several fit or are needed for enough work. False where one does not
 * fit: it is divided, too. */
static bool round_batches(dot_plan *p, int64_t budget) {
  int64_t shared = 0, each = 0, batches = p->extents[DOT_BATCH];
  for (int side = 0; side < 2; side++) {
    const dot_operand *o = side ? &p->rhs : &p->lhs;
    *(o->batches > 1 ? &each : &shared) += round_panel_bytes(p, o) * o->panels;
  }
  if (!each || batches <= 1) return false;
  int64_t work = p->extents[DOT_ROW] * p->extents[DOT_COLUMN] * p->extents[DOT_DEPTH];
  int64_t fit = round_max((budget - shared) / each, loom_ceil_div(ROUND_WORK, round_max(work, 1)));
  p->rounds.batch = round_min(round_max(fit, 1), batches);
  p->rounds.batches = loom_ceil_div(batches, p->rounds.batch);
  if (!p->lhs.fixed) p->lhs.kept = p->lhs.batches > 1 ? p->rounds.batch : 1;
  if (!p->rhs.fixed) p->rhs.kept = p->rhs.batches > 1 ? p->rounds.batch : 1;
  return p->rounds.batch > 1 || each <= budget;
}

void dot_divide(dot_plan *p) {
  int64_t budget = round_budget(p);
  if (p->slots <= budget) return;
  bool whole = round_batches(p, budget);
  if (!whole) round_within(p, budget);
  p->slots = dot_place(p, false);
}

/* ---- launches ---- */

/* Panels of an operand that a round has to pack, given the numbers of the last round that did. */
static int64_t round_count(const dot_operand *o, int64_t batch, int64_t kept_batches, int64_t round,
                           int64_t last[2]) {
  int64_t key = o->batches > 1 ? batch : 0;
  if (!dot_is_packed(o) || (last[0] == key && last[1] == round)) return 0;
  last[0] = key;
  last[1] = round;
  if (o->kept > 1) return round_min(o->kept, kept_batches) * o->round;
  return round_min(o->round, o->panels - round * o->round);
}

static intptr_t round_launches(const dot_plan *p, int64_t round, int64_t last[2][2],
                               dot_launch *out) {
  const dot_rounds *r = &p->rounds;
  int64_t row = round % r->rows, column = round / r->rows % r->columns;
  int64_t batch = round / r->rows / r->columns;
  int64_t batches = round_min(r->batch, p->extents[DOT_BATCH] - batch * r->batch);
  int64_t lhs = round_count(&p->lhs, batch, batches, row, last[0]);
  int64_t rhs = round_count(&p->rhs, batch, batches, column, last[1]);
  int64_t first = round * dot_round_packs(p), middle = first + round_packs(&p->lhs);
  int64_t chunks = p->chunks_m * p->chunks_n;
  bool both = lhs && rhs && first + lhs == middle;
  intptr_t count = 0;
  if (lhs) out[count++] = (dot_launch){p->once, first, both ? lhs + rhs : lhs};
  if (rhs && !both) out[count++] = (dot_launch){p->once, middle, rhs};
  out[count++] = (dot_launch){p->stage_count - 1, round * r->batch * chunks, batches * chunks};
  return count;
}

dot_launch *dot_launches(const dot_plan *p, intptr_t *count) {
  int64_t rounds = p->rounds.batches * p->rounds.rows * p->rounds.columns;
  int64_t last[2][2] = {{-1, -1}, {-1, -1}};
  dot_launch *launches = malloc(sizeof *launches * (3 * (size_t)rounds + 1));
  *count = 0;
  if (launches && p->once) launches[(*count)++] = (dot_launch){0, 0, p->stages[0]};
  for (int64_t i = 0; launches && i < rounds; i++)
    *count += round_launches(p, i, last, launches + *count);
  return launches;
}
