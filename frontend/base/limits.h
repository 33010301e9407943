/* The numbers that decide whether code is compiled, rolled or left to Python, and what each group
 * of them trades. They only ever cost time: results do not depend on them. */
#ifndef LOOM_FRONTEND_BASE_LIMITS_H
#define LOOM_FRONTEND_BASE_LIMITS_H

/* Is it worth while to compile? (dispatch/weigh.c)
 *
 * Larger: less time is lost on functions that have no array operation, and functions that have some
 * are compiled later. */

/* Plain runs before what nobody has asked for is captured, in ns. */
#define WEIGH_FIRST_NS 5000000
/* Times what captures have taken: plain runs before the next capture. */
#define WEIGH_AGAIN 2
/* What capturing an instruction takes. */
#define WEIGH_STEP_NS 1000
/* Instructions that a first capture may take, which plain runs have not paid for. */
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

/* Signatures that were not captured, and are remembered so as not to be tried at every call. */
#define CALLABLE_NEGATIVES 32
/* Captures that broke, after which the plain function is always used. */
#define CALLABLE_MAX_FAILURES 64
/* Versions of a part behind a break that end in front of what varies without end. */
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
/* Plain runs in a row that end otherwise than the compiled run before them. */
#define TRIAL_ODD 4
/* A first plain run that likely takes less need not wait. */
#define TRIAL_AT_ONCE_NS 20000000
/* There is no comparison where a plain run likely takes longer. */
#define TRIAL_AT_ALL_NS 30000000000
/* A version without breaks that waits for its comparison is not watched meanwhile where its runs
 * are shorter. */
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
/* Times the longest compiled run of the trial: a version that stays is compared again. */
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

/* When are parts, callees and generators let alone?
 *
 * Larger: what computes seldom is still compiled when it does; what never does costs a look at each
 * of so many runs. */

/* Calls with nothing to compute, after which a function that compiled code calls is let alone. */
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
/* Parts of a generator in a row with nothing to compute, after which none is tried. */
#define GENERATOR_IDLE 4
/* Times that there was no part, likewise. */
#define GENERATOR_FAILURES 16
/* Places of one function behind which a part is compiled. */
#define RESUME_MAX_POINTS 256
/* Instructions of a call without anything to compute, after which the rest is plain bytecode. */
#define RESUME_IDLE_STEPS 256
/* Such calls, after which the whole function is plain bytecode. */
#define RESUME_IDLE_RUNS 4
/* Runs in a row that end in the plain function, after which a version is passed by. */
#define ENTRY_GIVE_UPS 8
/* Calls of which one tries it again. */
#define ENTRY_TRY_AGAIN 64
/* Runs that a version is worth making for: one that dies after fewer counts as if it lived. */
#define BURY_HITS 8

/* Is a loop captured once, unrolled, or left to Python? (loops/roll.c)
 *
 * Larger: more loops are captured once, after more iterations, restarts and comparisons of states,
 * which all take time. */

/* Iterations that are compared, at most, until two are alike. */
#define ROLL_TRIES 6
/* Of one capture for the sake of its loops. */
#define ROLL_RESTARTS 48
/* Iterations after which the names that a loop exchanges may be back where they were. */
#define ROLL_ORDER 4
/* Array operations: an unrolled loop of more is left to Python. */
#define ROLL_NODES 2000
/* Tokens of states that are compared in one capture: a program with more keeps too many objects. */
#define ROLL_WALKED (1 << 18)
/* Iterations at either end of a loop that are evaluated by themselves. */
#define ROLL_ENDS_MOST 12
/* Iterations: how far the range of a count goes. */
#define ROLL_FOREVER ((int64_t)1 << 40)
/* Items at the end of a list that grows which the body may read. */
#define LIST_VISIBLE 4
/* Iterations, at most, that are one of the loop in the graph. */
#define ROLL_PERIOD 16
/* States at the head that are kept for it. */
#define ROLL_PAST (2 * ROLL_PERIOD)

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
/* Of a list or tuple: each is guarded by itself. */
#define CAPTURE_SIZE_RESTARTS 64
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
#define WRAP_MAX_ITEMS 1024

#endif
