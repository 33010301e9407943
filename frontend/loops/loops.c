/* Loops that are captured once, and branches on data, as the lower floors ask for them. */
#include "frontend/loops/loops.h"
#include "frontend/base/base.h"
#include "frontend/core/hooks.h"
#include "frontend/loops/branch_internal.h"
#include "frontend/loops/internal.h"

void loops_init(void) {
  static const loop_hooks hooks = {.blames = roll_blames,
                                   .note_break = roll_note_break,
                                   .next = roll_next,
                                   .leave_frame = roll_leave_frame,
                                   .test = roll_test,
                                   .jump = branch_jump,
                                   .end_behind = roll_end_behind,
                                   .end_counts = roll_end_counts,
                                   .lends = roll_lends,
                                   .lends_early = roll_lends_early,
                                   .lends_here = roll_lends_here,
                                   .lent = roll_lent,
                                   .reads_list = roll_reads_list,
                                   .list_visible = roll_list_visible,
                                   .walk_list = roll_walk_list};
  loom_loops = &hooks;
}
