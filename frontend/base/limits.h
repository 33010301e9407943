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
/* Time that capturing one instruction is taken to cost, in ns. */
#define WEIGH_STEP_NS 1000
/* Instructions that the first capture of a function that the user asked to compile may evaluate,
 * although no plain run has paid for them yet. */
#define WEIGH_ASKED_STEPS 10000
/* The same for the first capture of a part behind a break. */
#define WEIGH_PART_STEPS 3000
/* Time that any capture may take, in ns. */
#define WEIGH_LEAST_NS 1000000
/* Time that a generator is taken to run from one yield to the next, in ns. */
#define WEIGH_YIELD_NS 20000
/* Plain runs that are shorter than this, in ns, are slowed down noticeably by the checks before
 * them. */
#define WEIGH_SHORT_NS 20000
/* Captures of the parts of a function and of functions that they call, after which the first
 * version of another one has to be paid for as well once the budget is used up. */
#define WEIGH_MANY_BUILDS 32
/* Items of a container, or attributes of an object, that are searched for arrays. */
#define WEIGH_ITEMS 32
/* Levels of containers within each other that are searched; the attributes of an argument are one
 * level. */
#define WEIGH_DEPTH 3

/* How often is a capture tried? (dispatch/miss.c)
 *
 * Larger: more kinds of calls of a function are compiled in the end, and a function that cannot be
 * compiled costs more captures. */

/* Kinds of calls (signatures) that could not be captured: so many are remembered, and not tried
 * again. */
#define CALLABLE_NEGATIVES 32
/* Captures that broke, after which the plain function is always used. */
#define CALLABLE_MAX_FAILURES 64
/* Versions of a part behind a break that end in front of the code that reads a value which differs
 * in every call. */
#define BUILD_MAX_SPLITS 8

/* Is a version slower than the plain function? (dispatch/trial.c)
 *
 * More runs in a comparison: noise decides more seldom, and a version that loses runs longer.
 * Sooner comparisons again: a change of the sizes is noticed earlier, and more runs are plain ones.
 */

/* Compiled calls before a comparison, which do not count: they compile. */
#define TRIAL_WARM_UP 2
/* Plain runs before a comparison, which do not count: the interpreter rewrites code that it has run
 * so often. */
#define TRIAL_WARM_UP_PLAIN 8
/* Pairs of a compiled and a plain run in one comparison, at most. */
#define TRIAL_PAIRS 7
/* Pairs in one comparison, at most, where runs are brief (TRIAL_BRIEF_NS). */
#define TRIAL_PAIRS_BRIEF 9
/* Pairs after which a clear case is decided: one kind is 1.5 times as fast as the other. */
#define TRIAL_CLEAR_PAIRS 3
/* A version that is so many times as fast after TRIAL_CLEAR_PAIRS pairs stays. */
#define TRIAL_WON_SOON 1.15
/* Plain runs in a row that raise although the compiled run before them returned, or the reverse.
 * Then a compiled run is made again. */
#define TRIAL_ODD 4
/* The first plain run need not wait when it is likely to take less than this, in ns. */
#define TRIAL_AT_ONCE_NS 20000000
/* There is no comparison when a plain run is likely to take longer than this, in ns. */
#define TRIAL_AT_ALL_NS 30000000000
/* A version without breaks waits for its comparison. Meanwhile only runs that are longer than this,
 * in ns, are timed. */
#define TRIAL_SHORT_NS 50000
/* Of runs that are shorter than this, in ns, only the wall time is taken: asking for CPU time would
 * disturb them. */
#define TRIAL_BRIEF_NS 20000
/* One plain run that takes at least this, in ns, is enough to see that plain runs take too long. */
#define TRIAL_LONG_NS 1000000
/* The CPU time of all threads is compared only for runs that are longer than this, in ns. */
#define TRIAL_THREADS_NS 50000
/* Difference between two runs, in ns, that means nothing. */
#define TRIAL_NOISE_NS 60
/* Percent by which a version may be slower than the plain function. */
#define TRIAL_LOSS 4
/* Bytes of an intermediate array that the plain function may need on any machine. */
#define TRIAL_BULK (256 << 20)
/* Plain calls until the next comparison. */
#define TRIAL_AGAIN 256
/* TRIAL_AGAIN is doubled at each comparison, at most so often. */
#define TRIAL_AGAIN_MOST 6
/* Compiled calls until the next comparison when neither kind has won. */
#define TRIAL_AGAIN_DOUBT 64
/* Compiled calls until the next comparison when the version has won. */
#define TRIAL_AGAIN_CLOSE 2048
/* Compiled calls until the next comparison when the version has won by far. */
#define TRIAL_AGAIN_CLEAR 32768
/* Calls of a function between two checks whether its version is to be compared again. */
#define TRIAL_LOOK 1024
/* A plain run that takes so many times as long as the longest plain run of the trial has grown:
 * sizes have changed. */
#define TRIAL_GROWN 4
/* Grown plain runs in a row, after which the version is compared again. */
#define TRIAL_GROWN_RUNS 3
/* A version that stays is compared again when a run takes so many times as long as the longest
 * compiled run of its trial. */
#define TRIAL_CHANGED 2
/* When all has been decided, one of so many plain runs is timed. */
#define TRIAL_SELDOM 8
/* Runs until the callees of a function are compiled and have been compared themselves. */
#define TRIAL_CALLEES_RUNS 16
/* Pairs of a run with compiled callees and one without. */
#define TRIAL_CALLEES_PAIRS 5
/* Lost comparisons of such pairs, after which callees are not compiled either. */
#define TRIAL_CALLEES_LOST 3
/* Runs without a callee that can be compiled, after which there are no such comparisons. */
#define TRIAL_NO_CALLEES 2

/* When are parts, callees and generators left to Python? Larger: code that computes something only
 * now and then is still compiled when it does. Code that never computes anything costs so many
 * looks before it is left to Python. */

/* A function that compiled code calls is left to Python after so many calls with nothing to
 * compute. */
#define HOOK_IDLE 4
/* A function that compiled code calls is left to Python after so many calls that could not be
 * compiled. */
#define HOOK_FAILURES 16
/* Functions that one compiled function may call and have compiled. */
#define HOOK_CALLEES 1024
/* Steps of a generator before its comparison, which do not count: they compile. */
#define HOOK_TRIAL_WARM_UP 8
/* Steps of each kind in the comparison of a generator. */
#define HOOK_TRIAL_STEPS 24
/* One step counts as at most so many times the mean of its kind. */
#define HOOK_TRIAL_ODD 4
/* A generator is left to Python after so many parts in a row with nothing to compute. */
#define GENERATOR_IDLE 4
/* A generator is left to Python after so many queries for which there was no part. */
#define GENERATOR_FAILURES 16
/* Places of one function at which a part may begin. */
#define RESUME_MAX_POINTS 256
/* The rest of a call runs as plain bytecode after so many instructions with nothing to compute. */
#define RESUME_IDLE_STEPS 256
/* The whole function is left to Python after so many such calls. */
#define RESUME_IDLE_RUNS 4
/* A version is no longer tried after so many runs in a row that end in the plain function. */
#define ENTRY_GIVE_UPS 8
/* Such a version is tried again in one of so many calls. */
#define ENTRY_TRY_AGAIN 64
/* A function whose version is left to Python is passed to Python without a look at its guards after
 * so many calls in a row. */
#define LET_BE_ROW 16
/* Then the guards are checked again once in so many calls: at first in every second one, then ever
 * more rarely. */
#define LET_BE_MOST 127
/* A version that dies after fewer runs than this was not worth compiling; it counts as one that
 * still lives. */
#define BURY_HITS 8

/* Is a loop captured once, unrolled, or left to Python? (loops/roll.c)
 *
 * Larger: more loops are captured once, after more iterations, restarts and comparisons of states,
 * which all take time. */

/* Iterations whose states are compared, at most, until two of them are alike. */
#define ROLL_TRIES 6
/* Restarts of one capture for the sake of its loops. */
#define ROLL_RESTARTS 48
/* Iterations, at most, after which names that a loop exchanges (`a, b = b, a`) are back where they
 * were. */
#define ROLL_ORDER 4
/* Array operations of a loop when it is unrolled. A loop of more is left to Python. */
#define ROLL_NODES 2000
/* Tokens of states that one capture compares. A program with more of them keeps too many objects to
 * be compared. */
#define ROLL_WALKED (1 << 18)
/* Iterations at the begin or the end of a loop that may be peeled. */
#define ROLL_ENDS_MOST 12
/* The largest number of iterations of a loop that data ends. */
#define ROLL_FOREVER ((int64_t)1 << 40)
/* Items at the end of a growing list that the loop's body may read. */
#define LIST_VISIBLE 4
/* Iterations of a loop, at most, that are one iteration of the graph's loop: its period. */
#define ROLL_PERIOD 16
/* Earlier states at a loop's head that are kept to find its period. */
#define ROLL_PAST (2 * ROLL_PERIOD)
/* Iterations of a loop that data ends that may be peeled: they stay in front of it. */
#define END_PEELED 2
/* Branches on data within each other in such a loop. */
#define END_NESTED 6
/* Iterations in which the items of a sequence are compared one by one: the first items may differ
 * from all that follow. */
#define ITER_LOOKS 4
/* Iterations at one end of a loop that may be peeled because a decision on the index differs in
 * them. */
#define LOOP_NEAR 8

/* Does a version that often ends in the plain function get a witness? (run/witness.c)
 *
 * Larger: fewer plans are compiled beside the version's own, and more calls run twice. */

/* Runs in vain before a witness is made: fewer than those after which the version is left to
 * Python. For each further witness it takes four times as many. */
#define WITNESS_ASKED 6
/* Witnesses that one version may get. */
#define WITNESS_MOST 3
/* Answers of a witness that no warning is due, with no run in between that raised no flag, after
 * which the hush is made. */
#define WITNESS_NOISY 8
/* One of so many runs of the hush is made by the version's own plan. */
#define WITNESS_LOOK 64
/* Such runs in a row that raise no flag, after which all runs are made by the version's own plan
 * again. */
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
/* Items whose search counts as one instruction. */
#define TRACE_ITEMS_A_STEP 32
/* Restarts of one capture that only make sizes known or equal. */
#define CAPTURE_SIZE_RESTARTS 64
/* Items of one sequence that capture makes. */
#define TRACE_MAX_ITEMS 1000000
/* Items of one list or tuple that existed before the call: each needs a guard. */
#define WRAP_MAX_ITEMS 1024
/* Items of all such lists and tuples together. */
#define WRAP_MAX_ALL 4096
/* Items of a set that existed before the call. */
#define WRAP_MAX_SET 64
/* Items of a dictionary that existed before the call and that is iterated over. */
#define LIVE_MAX_ITEMS 4096
/* Items of a deque that existed before the call. */
#define MODEL_MAX_ITEMS 1024
/* Iterations of a loop, at most, for which numbers that Python computes from the index are
 * tabulated. */
#define SERIES_MAX 131072
/* Iterations that such a table has room for, at least, when the number of iterations varies. */
#define SERIES_LEAST 256
/* Operations that an operand of such a number may consist of. */
#define SERIES_NODES 64
/* Formulas of one capture: numbers that Python computes from sizes on each call. */
#define FORMULA_ROWS 256
/* Operations that one formula may consist of. */
#define FORMULA_NODES 48
/* Arrays and numbers in one item of a list that a loop iterates over. */
#define GATHER_LEAVES 16
/* Levels of lists and tuples within such an item. */
#define GATHER_DEPTH 4
/* Items that one operation joins. */
#define GATHER_JOIN 32
/* Pairs of objects that guards keep apart, at most. */
#define APART_MAX_PAIRS 20000
/* Up to so many pairs of objects of one type get a guard each; for more, one guard compares all of
 * them. */
#define APART_FEW_PAIRS 12

#endif
