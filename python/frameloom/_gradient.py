"""Derivatives of functions over NumPy arrays: the names and the meaning are JAX's.

The functions here are plain Python, which is captured together with the differentiated function. Only those whose names begin
with an underscore are evaluated by capture itself (frontend/numpy/gradient.c): plain Python cannot compute them.
"""

import functools as _functools

def _open():
    """What is differentiated begins here."""


def _close():
    """It has ended."""


def _is_smooth(x):
    """Is it a float, a complex number or an array of them?"""
    import numpy as np

    return isinstance(x, (float, complex, np.inexact)) or isinstance(x, np.ndarray) and issubclass(x.dtype.type, np.inexact)


def _track(x):
    """x as a variable to differentiate by."""
    import numpy as np

    if not _is_smooth(x):
        what = f"an array of {x.dtype}" if isinstance(x, np.ndarray) else f"of type {type(x).__name__}"
        raise TypeError(f"what is differentiated by must be a float or an array of floats or complex numbers; it is {what}")
    return x


def _variable(x):
    """The variable that x, which _track() gave, was before anything was written into it."""
    return x


def _pull(y, cotangent, xs):
    """The cotangents of tracked values, given that of y (None: 1)."""
    import numpy as np

    if not isinstance(y, (float, np.inexact)) and not isinstance(y, np.ndarray):
        raise TypeError(f"what is differentiated must be a float or an array of floats, not of type {type(y).__name__}")
    if cotangent is None and np.ndim(y):
        raise TypeError(f"a gradient is that of one float: the result is an array of shape {np.shape(y)}")
    if cotangent is not None and np.shape(cotangent) != np.shape(y):
        raise ValueError(f"a cotangent must have the shape of the result, {np.shape(y)}, not {np.shape(cotangent)}")
    raise RuntimeError("a derivative needs the compiler, and this call ran as plain Python: compilation is disabled, a debugger, "
                       "profiler or tracer is active, or what the derivative calls raises (for example, the inverse of a singular matrix)")


def _refuse(what):
    """`what` has no derivative."""
    raise NotImplementedError(f"{what} has no derivative")


def _cofactors(a):
    """The derivatives of the determinants of matrices, also of singular ones. The plan calls it."""
    import numpy as np

    d = np.linalg.det(a)[..., None, None]
    singular = d == 0
    one = np.eye(a.shape[-1], dtype=a.dtype)
    found = d * np.swapaxes(np.linalg.inv(np.where(singular, one, a)), -1, -2)
    if not singular.any():
        return found
    u, s, vh = np.linalg.svd(a)
    others = np.prod(np.where(one == 1, 1, s[..., None, :]), axis=-1)[..., None, :]
    turned = (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]
    return np.where(singular, turned * np.conj(u * others @ vh), found)


def _derives():
    """Is what runs now differentiated?"""
    return False


def _known(ys, xs, rule):
    """The floats and arrays `ys` as values whose cotangents `rule` pulls back to those of `xs`."""
    return ys


def _begin_checkpoint():
    """Does a checkpoint begin here, and not inside of another one?"""
    return False


def _end_checkpoint(begun):
    return None


def stop_gradient(x):
    """The same number or array (of any shape and dtype), which counts as a constant where derivatives are taken.

    A pytree (tuples, lists, dicts, dataclasses) is taken leaf by leaf by `frameloom.stop_gradient` itself only when it is one
    leaf. Outside of `frameloom.grad` and the like it gives `x` back.
    """
    return x


# ---- trees of arguments ----


def _map(leaf_of, tree):
    """The same tuples, lists, dicts and dataclasses with other leaves; None has none."""
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {key: _map(leaf_of, item) for key, item in tree.items()}
    if isinstance(tree, list):
        return [_map(leaf_of, item) for item in tree]
    if isinstance(tree, tuple):
        items = [_map(leaf_of, item) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    if hasattr(type(tree), "__dataclass_fields__"):
        return type(tree)(**{name: _map(leaf_of, getattr(tree, name)) for name in tree.__dataclass_fields__})
    return leaf_of(tree)


def _leaves(tree):
    found = []
    _map(found.append, tree)
    return found


def _tracked(tree, variables):
    def track(x):
        tracked = _track(x)
        variables.append(_variable(tracked))
        return tracked

    return _map(track, tree)


def _like(tree, leaves):
    """The tree with these leaves, an iterator, in place of its own."""
    return _map(lambda leaf: next(leaves), tree)


# ---- functions ----


def _plain(fun, what):
    from . import _native

    if isinstance(fun, _native.Callable):
        return fun
    if not callable(fun):
        raise TypeError(f"frameloom.{what} expects a function, not {type(fun).__name__}")
    return fun


def _positions(argnums, what):
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not numbers or not all(isinstance(i, int) and not isinstance(i, bool) for i in numbers):
        raise TypeError(f"frameloom.{what}: argnums must be an int or a tuple of ints, not {argnums!r}")
    return numbers


def _compiled(function, fun, text):
    from . import _native
    from ._api import _settings

    if _native.is_compiling():
        return function  # which is captured with what calls it
    name = getattr(fun, "__name__", type(fun).__name__)
    function.__name__ = function.__qualname__ = f"{text}({name})"
    function.__doc__ = f"{text} of {name}.\n\n{getattr(fun, '__doc__', None) or ''}"
    return _native.Callable(function, **_settings(True, None, None, None, False), derives=True)


def _arguments(args, numbers, variables):
    """The arguments with those of the numbers tracked."""
    given = list(args)
    for i in numbers:
        given[i] = _tracked(given[i], variables)
    return given


def _is_complex(y):
    import numpy as np

    return isinstance(y, (complex, np.complexfloating)) or isinstance(y, np.ndarray) and issubclass(y.dtype.type, np.complexfloating)


def _is_real(y):
    """y, the result of a function that has a gradient."""
    if _is_complex(y):
        raise TypeError("a gradient is that of one float: the result is a complex number, whose derivatives frameloom.vjp gives")
    return y


def _differentiated(fun, argnums, has_aux, args, kwargs):
    """(what fun gives, the gradients as `value_and_grad` gives them)"""
    numbers, variables = argnums if isinstance(argnums, tuple) else (argnums,), []
    _open()
    try:
        given = _arguments(args, numbers, variables)
        value = fun(*given, **kwargs)
    finally:
        _close()
    found = iter(_pull(_is_real(value[0] if has_aux else value), None, tuple(variables)))
    gradients = tuple([_like(args[i], found) for i in numbers])
    return value, gradients if isinstance(argnums, tuple) else gradients[0]


def value_and_grad(fun, argnums=0, has_aux=False):
    """A function that gives `(fun(...), gradient)`.

    fun      a Python function over NumPy arrays and numbers whose result is one float: a Python float, a NumPy scalar or an
             array without axes; with `has_aux`, a pair of such a result and anything else
    argnums  the number of the positional argument to differentiate by, or a tuple of numbers. Such an argument is a float,
             an array of floats or complex numbers, or a tree of them: tuples, lists, dicts, named tuples, dataclasses
    has_aux  the value is then the pair, as `fun` gives it

    The gradient has the shape and dtype of the argument (for a tuple `argnums`: a tuple of gradients, for a tree: the
    same tree). That of a complex argument z = x + iy is df/dx - i df/dy. Side effects of `fun` happen once. No
    floating-point warning is shown.

    The function is captured whole, as with `fullgraph=True`: raises `frameloom.GraphBreak` with the line where it cannot be, or
    where an operation has no derivative (FL0029). Raises TypeError when the result is not one float, or an argument has no
    float, RuntimeError where nothing is compiled.
    """
    fun = _plain(fun, "value_and_grad")
    _positions(argnums, "value_and_grad")

    def gradient(*args, **kwargs):
        return _differentiated(fun, argnums, has_aux, args, kwargs)

    return _compiled(gradient, fun, "value_and_grad")


def grad(fun, argnums=0, has_aux=False):
    """A function that gives the gradient of `fun`; with `has_aux`, `(gradient, aux)`.

    Arguments, result and errors are those of `value_and_grad`.
    """
    fun = _plain(fun, "grad")
    _positions(argnums, "grad")

    def gradient(*args, **kwargs):
        value, gradients = _differentiated(fun, argnums, has_aux, args, kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return _compiled(gradient, fun, "grad")


def checkpoint(fun):
    """`fun`, of which derivatives keep no values inside but compute them again: JAX's `checkpoint` (`remat`).

        def loss(layers, x):
            for weights in layers:
                x = frameloom.checkpoint(layer)(weights, x)
            return np.sum(x ** 2)

    fun   any function; arguments and results may be any objects

    Gives a function with the arguments and results of `fun`. A derivative keeps what a call reads, and what others read of it.
    What is computed in between is computed once more where the derivative needs it, so that it takes no memory until then.
    Values and derivatives are those of `fun`; its side effects happen once. A call that calls the library is differentiated as
    without a checkpoint, and so is one inside of another.

    Raises TypeError where `fun` cannot be called.
    """
    if not callable(fun):
        raise TypeError(f"frameloom.checkpoint expects a function, not {type(fun).__name__}")

    @_functools.wraps(fun)
    def checkpointed(*args, **kwargs):
        begun = _begin_checkpoint()
        try:
            return fun(*args, **kwargs)
        finally:
            _end_checkpoint(begun)

    return checkpointed


def _parameters(fun):
    """The names of a Python function's parameters, in order, and the defaults of the last ones; None: not all can be given by position."""
    import types

    code = fun.__code__ if isinstance(fun, types.FunctionType) else None
    if code is None or code.co_kwonlyargcount or code.co_flags & 12:  # *args, **kwargs
        return None
    return code.co_varnames[: code.co_argcount], fun.__defaults__ or ()


def _positional(fun, args, kwargs):
    """The arguments of a call, all by position; None: they are none of the function's, or nobody knows."""
    known = _parameters(fun)
    if known is None:
        return None if kwargs else args
    names, defaults = known
    given, left = list(args), dict(kwargs)
    for i in range(len(args), len(names)):
        place = i - (len(names) - len(defaults))
        if names[i] in left:
            given.append(left.pop(names[i]))
        elif place >= 0:
            given.append(defaults[place])
        else:
            return None
    return None if left else tuple(given)


class custom_vjp:
    """A function whose derivative is given by a rule: JAX's `custom_vjp`.

        @frameloom.custom_vjp
        def f(x, y): ...
        f.defvjp(forward, backward)

    fun                a function: of floats, arrays, trees of them, and any other objects
    nondiff_argnums    numbers of arguments that nothing is differentiated by; they come first in `backward`
    forward(*args)     gives `(fun(*args), residuals)`
    backward(residuals, cotangent)
                       gives a tuple: for each argument its cotangent, of the argument's shape (a tree: of its structure), or
                       None for zero. `cotangent` has the structure of the result

    Where nothing is differentiated `fun` itself is called. Inside of a derivative `forward` is called in its place, and
    `backward` where the derivative comes to it. `forward` may call the function itself. Keyword arguments and defaults of `fun`
    are given to both as positional arguments. Loops of such a derivative are unrolled, and a branch on data is an error there
    (GraphBreak).

    Raises `frameloom.GraphBreak` (FL0029) where a derivative is taken before `defvjp()`, where a rule raises, and where it gives
    something else than is said here.
    """

    def __init__(self, fun, nondiff_argnums=()):
        if not callable(fun):
            raise TypeError(f"frameloom.custom_vjp expects a function, not {type(fun).__name__}")
        self.fun, self.nondiff_argnums = fun, tuple(nondiff_argnums)
        self.forward = self.backward = None
        self.runs_forward = False
        _functools.update_wrapper(self, fun)

    def defvjp(self, forward, backward):
        """The rule: see the class."""
        self.forward, self.backward = forward, backward

    def __call__(self, *args, **kwargs):
        if not _derives():
            return self.fun(*args, **kwargs)
        if self.forward is None:
            _refuse("a custom_vjp without defvjp()")
        args = _positional(self.fun, args, kwargs)
        if args is None:
            _refuse("a custom_vjp with keyword arguments that are not its function's")
        if self.runs_forward:  # what comes back asks forward for the residuals
            return self._marked(args, self.fun(*args), lambda: self._forward(args)[1])
        value, residuals = self._forward(args)
        return self._marked(args, value, lambda: residuals)

    def _forward(self, args):
        outer, self.runs_forward = self.runs_forward, True
        try:
            made = self.forward(*args)
        except Exception as error:  # plain Python does not call it
            _refuse(f"a custom_vjp whose forward rule raises {type(error).__name__}: {error}: it")
        finally:
            self.runs_forward = outer
        if not isinstance(made, tuple) or len(made) != 2:
            _refuse("a custom_vjp whose forward rule gives no pair of the result and the residuals")
        return made

    def _marked(self, args, value, residuals):
        """`value` with the rule, which asks for the residuals."""
        by = [x for i, x in enumerate(args) if i not in self.nondiff_argnums]
        others = [args[i] for i in self.nondiff_argnums]

        def rule(*cotangents):
            smooth = iter(cotangents)
            whole = _map(lambda leaf: next(smooth) if _is_smooth(leaf) else None, value)
            found = self.backward(*others, residuals(), whole)
            if not isinstance(found, (tuple, list)) or len(found) != len(by):
                raise TypeError(f"the backward rule of a frameloom.custom_vjp must give a tuple of {len(by)} cotangents")
            given = []
            for x, cotangent in zip(by, found):
                leaves = _leaves(x)
                parts = [None] * len(leaves) if cotangent is None else _parts(x, cotangent)
                given += [part for leaf, part in zip(leaves, parts) if _is_smooth(leaf)]
            return tuple(given)

        results = [leaf for leaf in _leaves(value) if _is_smooth(leaf)]
        marked = iter(_known(tuple(results), tuple([leaf for x in by for leaf in _leaves(x) if _is_smooth(leaf)]), rule))
        return _map(lambda leaf: next(marked) if _is_smooth(leaf) else leaf, value)


def _parts(tree, other):
    """For each leaf of a tree what stands there in another tree of this structure; None stands for None at all leaves."""
    if other is None:
        return [None] * len(_leaves(tree))
    if isinstance(tree, dict):
        if not isinstance(other, dict) or other.keys() != tree.keys():
            raise TypeError("the cotangent of a dict must be a dict of the same keys")
        return [part for key in tree for part in _parts(tree[key], other[key])]
    if isinstance(tree, (list, tuple)):
        if not isinstance(other, (list, tuple)) or len(other) != len(tree):
            raise TypeError("the cotangent of a list or tuple must be one of the same length")
        return [part for one, two in zip(tree, other) for part in _parts(one, two)]
    if hasattr(type(tree), "__dataclass_fields__"):
        return [part for name in tree.__dataclass_fields__ for part in _parts(getattr(tree, name), getattr(other, name))]
    return [] if tree is None else [other]


def _pull_tree(results, cotangents, variables):
    """The cotangents of the variables, given those of all leaves of a result."""
    sums = None
    for y, cotangent in zip(_leaves(results), _leaves(cotangents), strict=True):
        found = _pull(y, cotangent, variables)
        sums = found if sums is None else tuple([a + b for a, b in zip(sums, found)])
    return tuple([x * 0.0 for x in variables]) if sums is None else sums


def vjp(fun, *primals, cotangent):
    """`(fun(*primals), cotangents of the primals)`, given the cotangent of the result.

    fun        a function over NumPy arrays and numbers, whose result is a float, an array of floats or a tree of them
    primals    its arguments: each a float, an array of floats or complex numbers, or a tree of them
    cotangent  of the shape of the result (a tree: of the same structure)

    JAX's `vjp` gives a function of the cotangent instead; `vjp(fun, x, cotangent=c)` is its `vjp(fun, x)[1](c)`, compiled as one.
    Errors are those of `value_and_grad`; ValueError for a cotangent of another shape.
    """
    return _made(_pullback_of, _plain(fun, "vjp"))(primals, cotangent)


def _made(make, fun):
    """make(fun), made once: it is compiled for each."""
    from . import _native

    return make(fun) if _native.is_compiling() else _made_once(make, fun)


@_functools.lru_cache(maxsize=256)
def _made_once(make, fun):
    return make(fun)


def _pullback_of(fun):
    def pullback(primals, cotangent):
        variables = []
        _open()
        try:
            given = [_tracked(x, variables) for x in primals]
            value = fun(*given)
        finally:
            _close()
        found = iter(_pull_tree(value, cotangent, tuple(variables)))
        return value, tuple([_like(x, found) for x in primals])

    return _compiled(pullback, fun, "vjp")


def jvp(fun, primals, tangents):
    """`(fun(*primals), tangent of the result)`, given tangents of the primals: the derivative along a direction.

    fun       as in `vjp`
    primals   a tuple or list of arguments
    tangents  one for each of the primals, of its shape

    Errors are those of `vjp`.
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("frameloom.jvp: primals and tangents must be tuples or lists")
    if len(primals) != len(tangents):
        raise TypeError(f"frameloom.jvp: {len(primals)} primals and {len(tangents)} tangents")
    return _made(_pushforward_of, _plain(fun, "jvp"))(tuple(primals), tuple(tangents))


def _inner(a, b):
    import numpy as np

    return np.sum(a * b)


def _pushforward_of(fun):
    # The pullback is linear in the cotangent, and the transpose of a transpose is the map itself.
    def pushforward(primals, tangents):
        variables, cotangents = [], []
        _open()
        try:
            given = [_tracked(x, variables) for x in primals]
            value = fun(*given)
            _tracked(_map(lambda y: y * 0.0, value), cotangents)  # of any value
            found = iter(_pull_tree(value, cotangents, tuple(variables)))
            along = 0.0
            for pulled, tangent in zip(found, _leaves(tangents), strict=True):
                along = along + _inner(pulled, tangent)
        finally:
            _close()
        pushed = iter(_pull(along, None, tuple(cotangents)))
        return value, _like(value, pushed)

    return _compiled(pushforward, fun, "jvp")


def _pull_batch(y, cotangents, variables):
    """The cotangents of tracked values for each of the cotangents of y, along a first axis."""
    import numpy as np

    from ._vmap import _batch, _example

    if not cotangents.shape[0]:
        return [np.zeros((0,) + np.shape(x), np.asarray(x).dtype) for x in variables]
    one = _example(cotangents)
    rows = _batch(_pull(y, one, variables), (one,), (cotangents,))
    return [np.broadcast_to(np.asarray(x) * 0, cotangents.shape[:1] + np.shape(x)) if row is None else row
            for row, x in zip(rows, variables)]


def _rows(y, variables):
    """The cotangents of tracked values for each element of y, which has the shape and then theirs."""
    import numpy as np

    if _is_complex(y):
        raise TypeError("a Jacobian is that of real numbers: the result is complex; take its real and its imaginary part")
    if not np.ndim(y):
        return _pull(y, None, variables)
    # The cotangent of each element, along a first axis.
    basis = np.eye(y.size, dtype=y.dtype).reshape((y.size,) + y.shape)
    return [rows.reshape(y.shape + np.shape(x)) for rows, x in zip(_pull_batch(y, basis, variables), variables)]


def jacobian(fun, argnums=0):
    """A function that gives the Jacobian of `fun`: an array of the result's shape and then the argument's.

    fun      a function over NumPy arrays and numbers whose result is a float, an array of floats or a tree of them
    argnums  the number of the argument, or a tuple of numbers; each a float, an array of floats or a tree of them

    For trees: the tree of the result, in which for each leaf stands the tree of the argument with an array at each of its leaves;
    with a tuple `argnums` a tuple of these. One backward pass over a batch for each leaf of the result: its elements. Errors are
    those of `value_and_grad`.
    """
    fun, numbers = _plain(fun, "jacobian"), _positions(argnums, "jacobian")
    single = not isinstance(argnums, tuple)

    def jacobian(*args, **kwargs):
        variables, made = [], []
        _open()
        try:
            value = fun(*_arguments(args, numbers, variables), **kwargs)
            for y in _leaves(value):
                found = iter(_rows(y, tuple(variables)))
                parts = tuple([_like(args[i], found) for i in numbers])
                made.append(parts[0] if single else parts)
        finally:
            _close()
        return _like(value, iter(made))

    return _compiled(jacobian, fun, "jacobian")


def hessian(fun, argnums=0):
    """A function that gives the Hessian of `fun`: for a result of one float an array of the argument's shape twice.

    fun, argnums  as in `jacobian`, whose Jacobian it is: for a result of more elements their shape comes first
    """
    return jacobian(jacobian(fun, argnums), argnums)
