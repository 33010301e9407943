/* The numbers that decide whether code is compiled, rolled or left to Python, and what each group
 * of them trades. They only ever cost time: results do not depend on them. */
#ifndef LOOM_FRONTEND_BASE_LIMITS_H
#define LOOM_FRONTEND_BASE_LIMITS_H

/* Is it worth while to compile? (dispatch/weigh.c)
 *
 * Larger: less time is lost on functions that have no array operation, and functions that have some
 * are compiled later. */

/* A callee, which the user has not asked to compile, is captured when its plain runs have taken so
 * long, in ns. */
#define WEIGH_FIRST_NS 5000000
/* The next capture comes when plain runs have taken so many times as long as all captures so far.
 */
#define WEIGH_AGAIN 2
/* What capturing an instruction takes. */
#define WEIGH_STEP_NS 1000
/* Instructions that the first capture of a function that the user asked to compile may evaluate,
 * although no plain run has paid for them yet. */
#define WEIGH_ASKED_STEPS 10000
/* Instructions that a first capture of a part behind a break may take. */
#define WEIGH_PART_STEPS 3000
/* What a capture may take in any case. */
#define WEIGH_LEAST_NS 1000000
/* What a generator is taken to run from a yield to the next. */
#define WEIGH_YIELD_NS 20000
/* Runs of this length are delayed by what comes before them. */
#define WEIGH_SHORT_NS 20000
/* Items of a container, or attributes, that are looked at. */
#define WEIGH_ITEMS 32
/* Of containers in each other; the attributes of an argument count as one. */
#define WEIGH_DEPTH 3

/* How often is it tried? (dispatch/miss.c)
 *
 * Larger: more kinds of calls of a function are compiled in the end; a function that cannot be
 * costs more captures. */

/* Kinds of calls (signatures) that could not be captured. They are remembered, and not tried again.
 */
#define CALLABLE_NEGATIVES 32
/* Captures that broke, after which the plain function is always used. */
#define CALLABLE_MAX_FAILURES 64
/* Versions of a part behind a break that end before a value that differs in every call. */
#define BUILD_MAX_SPLITS 8

/* Is a version slower than the plain function? (dispatch/trial.c)
 *
 * More runs in a comparison: noise decides more seldom, and a version that loses runs longer.
 * Sooner comparisons again: a change of the sizes is noticed earlier, and more runs are plain ones.
 */

/* Calls before a comparison: they compile. */
#define TRIAL_WARM_UP 2
/* Plain runs before it: the interpreter rewrites code that it has run so often. */
#define TRIAL_WARM_UP_PLAIN 8
/* Of a compiled and a plain run in one comparison, at most. */
#define TRIAL_PAIRS 7
/* Pairs in one comparison, at most, where runs are brief (TRIAL_BRIEF_NS). */
#define TRIAL_PAIRS_BRIEF 9
/* Pairs after which a clear case is decided: 1.5 times as fast, or as slow. */
#define TRIAL_CLEAR_PAIRS 3
/* Times as fast: a version that is so after TRIAL_CLEAR_PAIRS pairs stays. */
#define TRIAL_WON_SOON 1.15
/* Plain runs in a row that raise where the compiled run before them returned, or the reverse. */
#define TRIAL_ODD 4
/* A first plain run that likely takes less need not wait. */
#define TRIAL_AT_ONCE_NS 20000000
/* There is no comparison where a plain run likely takes longer. */
#define TRIAL_AT_ALL_NS 30000000000
/* A version without breaks waits for its comparison. Meanwhile its runs are timed only when they
 * take longer than this. */
#define TRIAL_SHORT_NS 50000
/* Of shorter runs only the wall time is taken: asking for the time on CPUs would disturb them. */
#define TRIAL_BRIEF_NS 20000
/* Of longer runs one plain run is enough to see that it takes too long. */
#define TRIAL_LONG_NS 1000000
/* Shorter calls are not shared out among threads. */
#define TRIAL_THREADS_NS 50000
/* By which two runs may differ for nothing. */
#define TRIAL_NOISE_NS 60
/* % that a version may be slower by. */
#define TRIAL_LOSS 4
/* Bytes of an intermediate array that any machine has. */
#define TRIAL_BULK (256 << 20)
/* Plain calls until there is another comparison. */
#define TRIAL_AGAIN 256
/* How often that number is doubled, once for each comparison. */
#define TRIAL_AGAIN_MOST 6
/* Compiled calls until there is another comparison where it is not known which is faster. */
#define TRIAL_AGAIN_DOUBT 64
/* Compiled calls until there is another comparison where the version has won. */
#define TRIAL_AGAIN_CLOSE 2048
/* Compiled calls until there is another comparison where it has won by far. */
#define TRIAL_AGAIN_CLEAR 32768
/* Calls of a function from one look at the version that runs to the next. */
#define TRIAL_LOOK 1024
/* Times the longest plain run of the trial: sizes have changed. */
#define TRIAL_GROWN 4
/* Such runs in a row, after which the version is compared again. */
#define TRIAL_GROWN_RUNS 3
/* A version that stays is compared again when a run takes so many times as long as the longest one
 * of its trial. */
#define TRIAL_CHANGED 2
/* Plain runs of which one is timed when all has been decided. */
#define TRIAL_SELDOM 8
/* Runs until what the function calls is compiled and has been compared itself. */
#define TRIAL_CALLEES_RUNS 16
/* Pairs of a run with compiled callees and one without. */
#define TRIAL_CALLEES_PAIRS 5
/* Such comparisons that are lost, after which callees are not compiled either. */
#define TRIAL_CALLEES_LOST 3
/* Runs in which nothing was called that can be compiled. */
#define TRIAL_NO_CALLEES 2

/* When are parts, callees and generators left to Python? Larger: code that computes something only
 * now and then is still compiled when it does. Code that never computes anything costs so many
 * looks before it is left to Python. */

/* A function that compiled code calls is left to Python after so many calls with nothing to
 * compute. */
#define HOOK_IDLE 4
/* Calls of it that could not be compiled, likewise. */
#define HOOK_FAILURES 16
/* Functions that one compiled function may call and have compiled. */
#define HOOK_CALLEES 1024
/* Steps of a generator before its comparison, which compile. */
#define HOOK_TRIAL_WARM_UP 8
/* Steps of each kind, until it is decided. */
#define HOOK_TRIAL_STEPS 24
/* Times the mean: what one step counts at most. */
#define HOOK_TRIAL_ODD 4
/* A generator is left to Python after so many parts in a row with nothing to compute. */
#define GENERATOR_IDLE 4
/* Times that there was no part, likewise. */
#define GENERATOR_FAILURES 16
/* Places of one function behind which a part is compiled. */
#define RESUME_MAX_POINTS 256
/* The rest of a call runs as plain bytecode after so many instructions with nothing to compute. */
#define RESUME_IDLE_STEPS 256
/* Such calls, after which the whole function is plain bytecode. */
#define RESUME_IDLE_RUNS 4
/* A version is no longer tried after so many runs in a row that end in the plain function. */
#define ENTRY_GIVE_UPS 8
/* Calls of which one tries it again. */
#define ENTRY_TRY_AGAIN 64
/* A function whose version is left to Python is passed to Python without a look at its guards after
 * so many calls in a row. */
#define LET_BE_ROW 16
/* Then one call of so many looks at the guards again: at first every second one, then ever fewer.
 */
#define LET_BE_MOST 127
/* A version that dies after fewer runs than this was not worth compiling; it counts as one that
 * still lives. */
#define BURY_HITS 8

/* Is a loop captured once, unrolled, or left to Python? (loops/roll.c)
 *
 * Larger: more loops are captured once, after more iterations, restarts and comparisons of states,
 * which all take time. */

/* Iterations that are compared, at most, until two are alike. */
#define ROLL_TRIES 6
/* Of one capture for the sake of its loops. */
#define ROLL_RESTARTS 48
/* Names that a loop exchanges (`a, b = b, a`) are back where they were after at most so many
 * iterations. */
#define ROLL_ORDER 4
/* Array operations: an unrolled loop of more is left to Python. */
#define ROLL_NODES 2000
/* Tokens of states that one capture compares. A program with more of them keeps too many objects to
 * be compared. */
#define ROLL_WALKED (1 << 18)
/* Iterations at either end of a loop that are evaluated by themselves. */
#define ROLL_ENDS_MOST 12
/* Iterations: how far the range of a count goes. */
#define ROLL_FOREVER ((int64_t)1 << 40)
/* Items at the end of a growing list that the loop's body may read. */
#define LIST_VISIBLE 4
/* Iterations, at most, that are one of the loop in the graph. */
#define ROLL_PERIOD 16
/* States at the head that are kept for it. */
#define ROLL_PAST (2 * ROLL_PERIOD)
/* Iterations that stay in front of a loop that data may end. */
#define END_PEELED 2
/* Branches within each other in such a loop. */
#define END_NESTED 6
/* Iterations that look at the items of a sequence one by one: the first items may be others than
 * all that follow. */
#define ITER_LOOKS 4
/* Iterations at one end of a loop that stay outside of it, where a decision differs in them. */
#define LOOP_NEAR 8

/* Does a version that often ends in the plain function get a witness? (run/witness.c)
 *
 * Larger: fewer plans are compiled beside the version's own, and more calls run twice. */

/* Calls in vain before a witness is made: fewer than those after which the version is left to
 * Python. Before the next witness there are four times as many. */
#define WITNESS_ASKED 6
/* Witnesses of one version. */
#define WITNESS_MOST 3
/* Answers that no warning was due, without a run in between that raised nothing: then the hush is
 * made. */
#define WITNESS_NOISY 8
/* Runs of the hush of which one is made by the version's own plan. */
#define WITNESS_LOOK 64
/* Such runs in a row that raise nothing, until all runs are made by the own plan again. */
#define WITNESS_CALM 2

/* How far does one capture go?
 *
 * Larger: longer functions and larger containers are captured as a whole; capture takes longer and
 * its guards cost each call more. What is beyond a limit breaks capture, with a reason. */

/* Array operations of one capture. */
#define TRACE_MAX_NODES 20000u
/* Instructions that one capture evaluates. */
#define TRACE_MAX_STEPS 2000000u
/* Bytes of C stack that capture may take; nothing is captured without a megabyte. */
#define TRACE_MAX_STACK (640 << 10)
/* Items that are searched in the time of an instruction. */
#define TRACE_ITEMS_A_STEP 32
/* Attempts at one capture that only make sizes known or equal. */
#define CAPTURE_SIZE_RESTARTS 64
/* Items of one sequence that capture makes. */
#define TRACE_MAX_ITEMS 1000000
/* Items of one list or tuple that existed before the call: each is guarded by itself. */
#define WRAP_MAX_ITEMS 1024
/* Items of all lists and tuples together. */
#define WRAP_MAX_ALL 4096
/* Items of a set that existed before the call. */
#define WRAP_MAX_SET 64
/* Items of a dictionary that existed before the call and is gone through. */
#define LIVE_MAX_ITEMS 4096
/* Items of a deque that existed before the call. */
#define MODEL_MAX_ITEMS 1024
/* Iterations of a loop for which a number computed by Python is a table. */
#define SERIES_MAX 131072
/* Iterations that a table is made for where their number varies. */
#define SERIES_LEAST 256
/* Operations that an operand of such a number may be made of. */
#define SERIES_NODES 64
/* Numbers of one capture that Python computes of sizes on each call. */
#define FORMULA_ROWS 256
/* Operations that one may be made of. */
#define FORMULA_NODES 48
/* Arrays and numbers in an item of a list that a loop goes through. */
#define GATHER_LEAVES 16
/* Lists within lists of such an item. */
#define GATHER_DEPTH 4
/* Items that are joined by one operation. */
#define GATHER_JOIN 32
/* Pairs of objects that guards keep apart. */
#define APART_MAX_PAIRS 20000
/* Up to so many pairs of objects of one type get a guard each; beyond, one guard looks at all. */
#define APART_FEW_PAIRS 12

#endif
