"""JAX's own tests of derivatives and of vmap, with NumPy for `jax.numpy` and frameloom's functions in place of JAX's.

    python test/suites/jax_gradients.py FOLDER [--table FILE] [TEST ...]

FOLDER is a checkout of JAX's repository. Of its tests those run whose code asks for a derivative or for vmap. `jax_stand_in.py` is what they
import as `jax`. JAX_NUM_GENERATED_CASES is the number of cases of each parametrised test (4). Ends with 1 when a test is *wrong* (`derivatives.py`).
"""

import ast
import functools
import os
import pathlib
import re
import signal
import sys

import derivatives

TEXT = """# JAX's own tests

Written by `make test-jax`: those of JAX's tests that ask for derivatives or for `vmap`, where `jax.numpy` is NumPy, and
`grad`, `vjp`, `jvp`, `jacobian`, `hessian`, `vmap`, `checkpoint`, `custom_vjp` and `stop_gradient` are frameloom's. Functions of `jax.lax` are
written as functions of NumPy. Most checks compare a derivative with differences of the function, many of them second
derivatives, too; those of `vmap` compare with the function called for each element. *Refused*: frameloom says that it has no derivative,
and why. *Of JAX*: the test asks for what only JAX has. *Other convention*: the gradient of both is right.
"""
# Not api_test.py, which is about JAX's own machinery for the most part: name it to run it.
FILES = ("batching custom_api lax_autodiff lax_vmap lax_numpy lax_numpy_operators lax_numpy_reducers lax_numpy_indexing linalg fft "
         "lax_control_flow nn eigh generated_fun optimizers").split()
# What a test says that asks for a derivative or for vmap.
DERIVATIVE = re.compile(r"\b(check_grads\w*|check_[jv][vj]p|grad|value_and_grad|jvp|vjp|jacfwd|jacrev|jacobian|hessian|linearize|checkpoint|remat|vmap|"
                        r"custom_vjp|stop_gradient|_CheckBatching)\b")
# The texts of JAX's errors and logs, what its functions and arrays are asked for and given, its caches and compilations, and functions whose
# results are random or objects.
ALONE = re.compile(
    r"OfJaxAlone|of a module with its own lo|does not match \"|not raised|not found in|no logs of level|unexpected keyword argument|NameError|"
    r"must be an exception type|isinstance\(\) arg 2|has no attribute '(lower|func|trace|args_res|opaque_residuals|block_until_ready|aval|\w*jaxpr|weak_type|"
    r"defjvp|lin|res|is_fully_\w+|sharding|devices|eval_shape|unflatten_up_to|_\w+)'|of dtype 'V\d|RandomState|_getframe|_filters_mutated|"
    r"not supported for the input types|defvjp_with_logs|test_optimize_remat|testBatchOfCompile|testDotProductAttentionMask|testGradOfVmapOfScatter|testDynamicUpdateSliceValueAndGrad|InputSavedVJPTest|"
    r"test_(.*caching|.*retrac|.*cse|.*leak|.*traceback|.*docstr|.*jaxpr|.*weak_type|.*residual|.*policy|.*debug|.*error_message)|concreteness_error")
# The tests of another class under a setting of JAX, and hundreds of cases of its jit.
REPEATED = re.compile(r"::\w*3Test::|test_jit_forwarding")
# The derivative of 0 ** 0 is 0 here, NaN there.
CONVENTIONS = re.compile(r"testPowSecondDerivative")
SUITE = derivatives.Suite("JAX", "jax_gradients", [f"{name}_test.py" for name in FILES], ALONE, CONVENTIONS, TEXT, ("--assert=plain",))
LIMIT = 120  # seconds of CPU time; what takes longer stalls


# ---- in the process of the tests: a plugin of pytest ------------------------------------------------


def pytest_configure(config):
    import jax_stand_in

    os.environ.setdefault("JAX_NUM_GENERATED_CASES", "4")
    jax_stand_in.put_in_place(pathlib.Path.cwd().parent)


@functools.cache
def methods_of(path):
    """The names of the tests in a file that ask for derivatives, and of all."""
    text = pathlib.Path(path).read_text()
    lines = text.split("\n")
    methods = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]
    wanted = {node.name for node in methods if DERIVATIVE.search("\n".join(lines[node.lineno - 1 : node.end_lineno]))}
    return wanted, {node.name for node in methods}


def asks(item):
    """Does a test ask for a derivative? Cases have the name of their method and a number or words behind it."""
    wanted, every = methods_of(str(item.path))
    if REPEATED.search(item.nodeid):
        return False
    name = item.originalname or item.name
    of = max([method for method in every if name.startswith(method)], key=len, default=name)
    return of in wanted


def pytest_collection_modifyitems(config, items):
    import jax_stand_in

    jax_stand_in.Absent.loading = False
    items[:] = [item for item in items if asks(item)]


def stalls(number, frame):
    raise TimeoutError(f"it takes more than {LIMIT} seconds")


def pytest_runtest_setup(item):
    signal.signal(signal.SIGPROF, stalls)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)


def pytest_runtest_teardown(item):
    signal.setitimer(signal.ITIMER_PROF, 0)


def pytest_runtest_logreport(report):
    derivatives.report(report)


if __name__ == "__main__":
    sys.exit(derivatives.main(SUITE, __doc__))
