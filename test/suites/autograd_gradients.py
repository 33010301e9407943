"""autograd's own tests of gradients, with NumPy for `autograd.numpy` and frameloom's derivatives in place of autograd's.

    python test/suites/autograd_gradients.py FOLDER [--table FILE] [TEST ...]

FOLDER is a checkout of autograd's repository: its package has the checks (differences of the function beside the derivative, twice
for second derivatives), its folder `tests` the functions. Every derivative that a test asks for is frameloom.vjp's, jvp's, grad's,
jacobian's or hessian's. A test that fails is *refused* when frameloom says so, with a reason (a graph break, or an error of the
function that was asked); *of autograd* when it asks for what only autograd has; of *another convention* where both are right by their
own; else it is *wrong*. Ends with 1 when one is wrong.
"""

import re
import sys

import derivatives

TEXT = """# autograd's own tests

Written by `make test-autograd`: the gradient tests of the package `autograd`, where a derivative is
`frameloom.vjp`, `jvp`, `grad`, `jacobian` or `hessian`, and `autograd.numpy` is NumPy. Each check compares a derivative with
differences of the function, most of them second derivatives, too. *Refused*: frameloom says that it has no derivative, and why.
*Of autograd*: the test asks for what only autograd has. *Other convention*: the gradient by a symmetric matrix is symmetric.
"""
FILES = ("binary_ops builtins complex dict direct fft graphs jacobian linalg list logic misc numpy scalar_ops systematic truediv "
         "tuple wrappers").split()
# Boxes, rules and vector spaces of autograd's own, names of its NumPy, and what its functions are called or called with.
AUTOGRADS = re.compile(
    r"module 'numpy(\.linalg)?' has no attribute|unexpected keyword argument|got some positional-only arguments|"
    r"DID NOT RAISE|startswith\(\(|has no attribute '(numpy_boxes|_\w+)'|test_(no_\w+_def|custom_where|dtypes|wrapped_name|checkpoint|flatten|scalar_array_box)")
# Gradients by a symmetric matrix are symmetric here, as JAX's are; autograd's are those by the triangle that LAPACK reads.
CONVENTIONS = re.compile(r"test_eigvalh_(lower|upper)(_broadcasting)?$")
SUITE = derivatives.Suite("autograd", "autograd_gradients", [f"test_{name}.py" for name in FILES], AUTOGRADS, CONVENTIONS, TEXT)


# ---- in the process of the tests: a plugin of pytest ------------------------------------------------


def put_in_place():
    """frameloom's derivatives under autograd's names, and NumPy under that of autograd's NumPy."""
    import autograd
    import autograd.core
    import autograd.differential_operators
    import autograd.numpy
    import autograd.test_util
    import numpy

    import frameloom

    def make_vjp(f, x):
        return (lambda v: frameloom.vjp(f, x, cotangent=v)[1][0]), f(x)

    def make_jvp(f, x):
        return lambda v: frameloom.jvp(f, (x,), (v,))

    def named(operator):
        return lambda f, argnum=0: operator(f, tuple(argnum) if isinstance(argnum, list) else argnum)

    for module in (autograd.core, autograd.test_util):
        module.make_vjp, module.make_jvp = make_vjp, make_jvp
    autograd.differential_operators._make_vjp, autograd.differential_operators._make_jvp = make_vjp, make_jvp
    for name in ("grad", "value_and_grad", "jacobian", "hessian"):
        setattr(autograd, name, named(getattr(frameloom, name)))
        setattr(autograd.differential_operators, name, getattr(autograd, name))
    autograd.tuple, autograd.list, autograd.dict = tuple, list, dict
    for name in ("", ".random", ".linalg", ".fft"):
        sys.modules["autograd.numpy" + name] = sys.modules["numpy" + name]
    autograd.numpy = numpy


def pytest_configure(config):
    put_in_place()


def pytest_runtest_logreport(report):
    derivatives.report(report)


if __name__ == "__main__":
    sys.exit(derivatives.main(SUITE, __doc__))
