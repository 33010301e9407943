"""A module `jax` that stands for JAX in its own tests: `jax.numpy` is NumPy, and derivatives and `vmap` are frameloom's.

`put_in_place(folder)` installs it. What can be read as functions of NumPy is written so here: most of `jax.lax`, the trees, random
numbers. Three modules come from the checkout as they are: `jax._src.test_util`, `jax._src.public_test_util` (which compare derivatives with
differences) and `jax._src.internal_test_util.lax_test_util`. Every other name of JAX can be imported; its use raises OfJaxAlone.
Tests are read with `x.at[index]` as an object of a class here: arrays of NumPy have no attribute `at`.
"""

import ast
import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import math
import pathlib
import sys
import types
import unittest

import numpy as np

import frameloom


class OfJaxAlone(Exception):
    """A test uses what only JAX has."""


class Absent:
    """Something that only JAX has. While modules are loaded it can be called and asked for attributes; later this raises."""

    loading = True

    def __init__(self, name):
        self.__dict__.update(_name=name, __name__=name)

    def __getattr__(self, name):
        if name.startswith("__") or name in ("dtype", "shape"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")

    def __call__(self, *args, **kwargs):
        if Absent.loading and len(args) == 1 and isinstance(args[0], types.FunctionType):
            return functools.wraps(args[0])(only_jax(self._name))
        if Absent.loading:
            return Absent(f"{self._name}()")
        raise OfJaxAlone(self._name)

    def __mro_entries__(self, bases):
        return (object,)

    def __enter__(self):
        raise OfJaxAlone(self._name)

    def __exit__(self, *args):
        return None

    def __iter__(self):
        if Absent.loading:
            return iter(())
        raise OfJaxAlone(self._name)

    def __or__(self, other):
        return self

    __ror__ = __getitem__ = __sub__ = __or__

    def __setitem__(self, key, value):
        pass


class Module(types.ModuleType):
    """A module of JAX: names that were given, those of a module of NumPy, and absent ones."""

    def __init__(self, name, names=(), library=None):
        super().__init__(name)
        self.__path__ = []
        self.__dict__.update({key: value for key, value in vars(library or object).items() if not key.startswith("_")})
        self.__dict__.update(names)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        whole = f"{self.__name__}.{name}"
        if whole in MODULES or whole in OF_THE_CHECKOUT or whole in SETTINGS_MODULES:
            return importlib.import_module(whole)
        return Absent(f"{self.__name__}.{name}")


def only_jax(name):
    def function(*args, **kwargs):
        raise OfJaxAlone(name)

    return function


# ---- derivatives ----


def _numbers(argnums):
    return argnums if isinstance(argnums, int) else tuple(argnums)


def taking_numbers(function):
    """The same of numbers of NumPy: JAX's functions see no number of Python."""

    def taken(*args, **kwargs):
        return function(*tree_map(as_number, args), **tree_map(as_number, kwargs))

    return taken


def grad(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    if allow_int or holomorphic and (argnums != 0 or has_aux):
        return only_jax("grad(allow_int=)")
    if holomorphic:
        return lambda x: frameloom.vjp(fun, as_number(x), cotangent=np.complex128(1))[1][0]
    return taking_numbers(frameloom.grad(fun, _numbers(argnums), has_aux))


def value_and_grad(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    if allow_int or holomorphic:
        return only_jax("value_and_grad(allow_int=)")
    return taking_numbers(frameloom.value_and_grad(fun, _numbers(argnums), has_aux))


def as_number(x):
    """A number of NumPy: JAX gives none of Python."""
    return np.float64(x) if type(x) is float else np.complex128(x) if type(x) is complex else x


def pullback(fun, primals):
    return lambda cotangent: tree_map(as_number, frameloom.vjp(fun, *primals, cotangent=cotangent)[1])


def vjp(fun, *primals, has_aux=False):
    if has_aux:
        value, aux = fun(*primals)
        return value, pullback(lambda *args: fun(*args)[0], primals), aux
    primals = tree_map(as_number, primals)
    return fun(*primals), pullback(fun, primals)


def jvp(fun, primals, tangents, has_aux=False):
    if has_aux:
        return (*frameloom.jvp(lambda *args: fun(*args)[0], primals, tangents), fun(*primals)[1])
    return frameloom.jvp(fun, tree_map(as_number, tuple(primals)), tree_map(as_number, tuple(tangents)))


def linearize(fun, *primals, has_aux=False):
    if has_aux:
        raise OfJaxAlone("linearize(has_aux=)")
    return fun(*primals), lambda *tangents: frameloom.jvp(fun, primals, tangents)[1]


def jacobian(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    if has_aux or holomorphic or allow_int:
        return only_jax("jacobian(has_aux=)")
    return taking_numbers(frameloom.jacobian(fun, _numbers(argnums)))


def jacrev(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    return jacobian(fun, argnums, has_aux, holomorphic, allow_int)


def jacfwd(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    return jacobian(fun, argnums, has_aux, holomorphic, allow_int)


def hessian(fun, argnums=0, has_aux=False, holomorphic=False):
    if has_aux or holomorphic:
        return only_jax("hessian(has_aux=)")
    return taking_numbers(frameloom.hessian(fun, _numbers(argnums)))


def vmap(fun, in_axes=0, out_axes=0, axis_name=None, axis_size=None, spmd_axis_name=None):
    return frameloom.vmap(fun, in_axes, out_axes)


def checkpoint(fun=None, *, prevent_cse=True, policy=None, static_argnums=(), concrete=False):
    if fun is None:
        return functools.partial(checkpoint, policy=policy)
    return frameloom.checkpoint(fun)


class custom_vjp(frameloom.custom_vjp):
    def __init__(self, fun, nondiff_argnums=(), nondiff_argnames=()):
        if nondiff_argnames:
            raise OfJaxAlone("custom_vjp(nondiff_argnames=)")
        super().__init__(fun, nondiff_argnums)

    def defvjp(self, fwd, bwd, symbolic_zeros=False, optimize_remat=False):
        if symbolic_zeros:
            raise OfJaxAlone("custom_vjp.defvjp(symbolic_zeros=)")
        super().defvjp(fwd, bwd)


def jit(fun=None, **options):
    return fun if fun is not None else lambda fun: fun


def stop_gradient(x):
    return tree_map(frameloom.stop_gradient, x)


# ---- trees ----


def _children(tree):
    """The parts of a tree, None of a leaf."""
    if tree is None:
        return []
    if isinstance(tree, dict):
        return [tree[key] for key in sorted(tree)]
    return list(tree) if isinstance(tree, (list, tuple)) else None


def _again(tree, children):
    if tree is None:
        return None
    if isinstance(tree, dict):
        return type(tree)(zip(sorted(tree), children))
    return type(tree)(*children) if hasattr(tree, "_fields") else type(tree)(children)


def tree_map(fun, tree, *rest, is_leaf=None):
    children = None if is_leaf and is_leaf(tree) else _children(tree)
    if children is None:
        return fun(tree, *rest)
    others = [_children(other) for other in rest]
    if any([other is None or len(other) != len(children) for other in others]):
        raise ValueError("trees of different structure")
    return _again(tree, [tree_map(fun, *row, is_leaf=is_leaf) for row in zip(children, *others)])


def tree_leaves(tree, is_leaf=None):
    found = []
    tree_map(found.append, tree, is_leaf=is_leaf)
    return found


class Structure:
    def __init__(self, tree):
        self.tree = tree_map(lambda leaf: 0, tree)

    def __eq__(self, other):
        return isinstance(other, Structure) and self.tree == other.tree

    __hash__ = None

    def unflatten(self, leaves):
        leaves = iter(leaves)
        return tree_map(lambda leaf: next(leaves), self.tree)


def tree_flatten(tree, is_leaf=None):
    return tree_leaves(tree, is_leaf), Structure(tree)


def tree_unflatten(structure, leaves):
    return structure.unflatten(leaves)


def tree_reduce(fun, tree, *initial):
    return functools.reduce(fun, tree_leaves(tree), *initial)


def tree_all(tree):
    return all(tree_leaves(tree))


TREES = dict(tree_map=tree_map, tree_leaves=tree_leaves, tree_flatten=tree_flatten, tree_unflatten=tree_unflatten, tree_structure=Structure,
             tree_reduce=tree_reduce, tree_all=tree_all, Partial=functools.partial)
TREE = {name.removeprefix("tree_"): function for name, function in TREES.items()}


# ---- jax.lax ----


def convert_element_type(x, dtype):
    x = np.asarray(x)
    if np.iscomplexobj(x) and not issubclass(np.dtype(dtype).type, np.complexfloating):
        x = x.real
    return x.astype(dtype)


def complex_(real, imag):
    return real + np.asarray(1j, np.result_type(real, np.complex64)) * imag


def dot_general(a, b, dimension_numbers, precision=None, preferred_element_type=None):
    (of_a, of_b), (batch_a, batch_b) = dimension_numbers
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    names_a, names_b = [next(letters) for _ in range(np.ndim(a))], [next(letters) for _ in range(np.ndim(b))]
    for i, j in itertools.chain(zip(of_a, of_b), zip(batch_a, batch_b)):
        names_b[j] = names_a[i]
    rest_a = [name for i, name in enumerate(names_a) if i not in of_a and i not in batch_a]
    rest_b = [name for i, name in enumerate(names_b) if i not in of_b and i not in batch_b]
    out = [names_a[i] for i in batch_a] + rest_a + rest_b
    return np.einsum("".join(names_a) + "," + "".join(names_b) + "->" + "".join(out), a, b)


def dot(a, b, precision=None, preferred_element_type=None, **options):
    return np.dot(a, b)


def broadcast_in_dim(x, shape, broadcast_dimensions):
    sizes = [1] * len(shape)
    for size, i in zip(np.shape(x), broadcast_dimensions):
        sizes[i] = size
    return np.broadcast_to(np.reshape(x, sizes), shape)


def reshape(x, new_sizes, dimensions=None):
    return np.reshape(x if dimensions is None else np.transpose(x, dimensions), new_sizes)


def pad(x, padding_value, padding_config):
    """Zeros between elements, then before and behind them; a negative count takes elements away."""
    for axis, (low, high, between) in enumerate(padding_config):
        x = np.moveaxis(x, axis, 0)
        n = x.shape[0] + between * max(x.shape[0] - 1, 0)
        wide = np.full((n,) + x.shape[1:], padding_value, x.dtype)
        wide[:: between + 1] = x
        sides = [np.full((max(k, 0),) + x.shape[1:], padding_value, x.dtype) for k in (low, high)]
        x = np.concatenate([sides[0], wide[max(-low, 0) : n - max(-high, 0)], sides[1]])
        x = np.moveaxis(x, 0, axis)
    return x


def slice_(x, start_indices, limit_indices, strides=None):
    strides = strides or [1] * len(start_indices)
    return x[tuple([slice(a, b, c) for a, b, c in zip(start_indices, limit_indices, strides)])]


def _windows(x, starts, sizes):
    """For each axis the indices of a window, which is moved inside of x."""
    found = []
    for axis, (start, size) in enumerate(zip(starts, sizes)):
        at = np.clip(np.where(start < 0, start + x.shape[axis], start), 0, x.shape[axis] - size) + np.arange(size)
        found.append(at.reshape([-1 if i == axis else 1 for i in range(len(sizes))]))
    return tuple(found)


def dynamic_slice(x, start_indices, slice_sizes):
    return x[_windows(x, start_indices, slice_sizes)]


def dynamic_update_slice(x, update, start_indices):
    made = np.array(x)
    made[_windows(x, start_indices, np.shape(update))] = update
    return made


def dynamic_index_in_dim(x, index, axis=0, keepdims=True):
    found = np.take(x, index, axis=axis, mode="clip")
    return np.expand_dims(found, axis) if keepdims else found


def index_in_dim(x, index, axis=0, keepdims=True):
    return dynamic_index_in_dim(x, index, axis, keepdims)


def dynamic_update_index_in_dim(x, update, index, axis):
    made = np.moveaxis(np.array(x), axis, 0)
    made[index] = np.moveaxis(update, axis, 0)[0] if np.ndim(update) == np.ndim(x) else update
    return np.moveaxis(made, 0, axis)


def slice_in_dim(x, start_index, limit_index, stride=1, axis=0):
    return np.moveaxis(np.moveaxis(x, axis, 0)[start_index:limit_index:stride], 0, axis)


def split(x, sizes, axis=0):
    found, at = [], 0
    for size in sizes:
        found.append(slice_in_dim(x, at, at + int(size), axis=axis))
        at += int(size)
    return found


def select_n(which, *cases):
    made = cases[0]
    for i, case in enumerate(cases[1:]):
        made = np.where(which == i + 1, case, made)
    return made


def cumulative(function):
    def cumulated(x, axis=0, reverse=False):
        if reverse:
            return np.flip(function(np.flip(x, axis), axis=axis), axis)
        return function(x, axis=axis)

    return cumulated


def reduce(operands, init_values, computation, dimensions):
    name = {add: np.add, mul: np.multiply, max_: np.maximum, min_: np.minimum}.get(computation)
    if name is None or isinstance(operands, (tuple, list)):
        raise OfJaxAlone("lax.reduce")
    return name(name.reduce(operands, axis=tuple(dimensions)), init_values)


def reducer(function):
    return lambda x, axes, **options: function(x, axis=tuple(axes))


def sort(x, dimension=-1, is_stable=True, num_keys=1):
    if isinstance(x, tuple):
        raise OfJaxAlone("lax.sort of several arrays")
    return np.sort(x, axis=dimension)


def sort_key_val(keys, values, dimension=-1, is_stable=True):
    order = np.argsort(keys, axis=dimension, kind="stable")
    return np.take_along_axis(keys, order, dimension), np.take_along_axis(values, order, dimension)


def top_k(x, k, axis=-1):
    order = np.moveaxis(np.moveaxis(np.argsort(-x, axis=axis, kind="stable"), axis, 0)[:k], 0, axis)
    return np.take_along_axis(x, order, axis), order


def cond(pred, true_fun, false_fun, *operands, **named):
    if named or not callable(true_fun):
        raise OfJaxAlone("lax.cond of such arguments")
    return true_fun(*operands) if pred else false_fun(*operands)


def switch(index, branches, *operands):
    return branches[min(max(index, 0), len(branches) - 1)](*operands)


def fori_loop(lower, upper, body, init, unroll=None):
    value = init
    for i in range(lower, upper):
        value = body(i, value)
    return value


def while_loop(cond_fun, body_fun, init):
    value = init
    while cond_fun(value):
        value = body_fun(value)
    return value


def scan(f, init, xs=None, length=None, reverse=False, unroll=1, _split_transpose=False):
    n = length if xs is None or not tree_leaves(xs) else len(tree_leaves(xs)[0])
    carry, rows = init, []
    order = range(n - 1, -1, -1) if reverse else range(n)
    for i in order:
        carry, y = f(carry, tree_map(lambda x: x[i], xs))
        rows.append(y)
    if reverse:
        rows.reverse()
    return carry, tree_map(lambda *ys: np.stack(ys), *rows)


def map_(f, xs, batch_size=None):
    return scan(lambda _, x: ((), f(x)), (), xs)[1]


def function_of(ufunc):
    """A lax function of one name and no further arguments, as a function in Python: tests compare its attributes."""

    def function(*args, out_dtype=None, accuracy=None):
        return ufunc(*args) if out_dtype is None else convert_element_type(ufunc(*args), out_dtype)

    function.__name__ = ufunc.__name__
    return function


POINTWISE = dict(
    neg="negative", sign="sign", floor="floor", ceil="ceil", round="round", is_finite="isfinite", exp="exp", exp2="exp2", expm1="expm1",
    log="log", log1p="log1p", sin="sin", cos="cos", tan="tan", asin="arcsin", acos="arccos", atan="arctan", sinh="sinh", cosh="cosh",
    tanh="tanh", asinh="arcsinh", acosh="arccosh", atanh="arctanh", atan2="arctan2", add="add", sub="subtract", mul="multiply",
    max="maximum", min="minimum", pow="power", rem="fmod", eq="equal", ne="not_equal", ge="greater_equal", gt="greater", le="less_equal",
    lt="less", bitwise_and="bitwise_and", bitwise_or="bitwise_or", bitwise_xor="bitwise_xor", bitwise_not="invert",
    shift_left="left_shift", real="real", imag="imag", conj="conj", abs="abs", sqrt="sqrt", cbrt="cbrt", square="square",
    nextafter="nextafter", population_count="bitwise_count")


def div(x, y):
    return np.trunc(x / y).astype(x.dtype) if np.asarray(x).dtype.kind in "iu" else np.true_divide(x, y)


def rsqrt(x):
    return 1 / np.sqrt(x)


def logistic(x, accuracy=None):
    return 1 / (1 + np.exp(-x))


LAX = dict(
    {name: function_of(getattr(np, of)) for name, of in POINTWISE.items()}, div=div, rsqrt=rsqrt, logistic=logistic,
    reciprocal=lambda x: 1 / x, integer_pow=lambda x, y: x**y, complex=complex_, clamp=lambda low, x, high: np.clip(x, low, high),
    convert_element_type=convert_element_type, concatenate=lambda operands, dimension: np.concatenate(operands, axis=dimension),
    split=split, dot=dot, dot_general=dot_general, batch_matmul=lambda a, b, precision=None: np.matmul(a, b),
    broadcast=lambda x, sizes: np.broadcast_to(x, tuple(sizes) + np.shape(x)), broadcast_in_dim=broadcast_in_dim, reshape=reshape, pad=pad,
    rev=lambda x, dimensions: np.flip(x, tuple(dimensions)), select=np.where, select_n=select_n, slice=slice_, dynamic_slice=dynamic_slice,
    dynamic_update_slice=dynamic_update_slice, dynamic_index_in_dim=dynamic_index_in_dim, index_in_dim=index_in_dim,
    dynamic_update_index_in_dim=dynamic_update_index_in_dim, slice_in_dim=slice_in_dim, transpose=lambda x, permutation: np.transpose(x, permutation),
    reduce=reduce, reduce_sum=reducer(np.sum), reduce_prod=reducer(np.prod), reduce_max=reducer(np.max), reduce_min=reducer(np.min),
    reduce_and=reducer(np.bitwise_and.reduce), reduce_or=reducer(np.bitwise_or.reduce), reduce_xor=reducer(np.bitwise_xor.reduce),
    argmax=lambda x, axis, index_dtype: np.argmax(x, axis=axis).astype(index_dtype),
    argmin=lambda x, axis, index_dtype: np.argmin(x, axis=axis).astype(index_dtype),
    cumsum=cumulative(np.cumsum), cumprod=cumulative(np.cumprod), cummax=cumulative(np.maximum.accumulate), cummin=cumulative(np.minimum.accumulate),
    sort=sort, sort_key_val=sort_key_val, top_k=top_k, iota=lambda dtype, size: np.arange(size, dtype=dtype),
    full=lambda shape, value, dtype=None: np.full(shape, value, dtype), full_like=lambda x, value, dtype=None, shape=None: np.full_like(x, value, dtype),
    zeros_like_array=np.zeros_like, squeeze=lambda x, dimensions: np.squeeze(x, tuple(dimensions)),
    expand_dims=lambda x, dimensions: np.expand_dims(x, tuple(dimensions)), stack=np.stack, unstack=lambda x, axis=0: list(np.moveaxis(x, axis, 0)),
    tile=lambda x, reps: np.tile(x, reps), stop_gradient=stop_gradient, cond=cond, switch=switch, fori_loop=fori_loop, while_loop=while_loop,
    scan=scan, map=map_, broadcast_shapes=np.broadcast_shapes, optimization_barrier=lambda x: x)
add, mul, max_, min_ = LAX["add"], LAX["mul"], LAX["max"], LAX["min"]


# ---- jax.numpy, jax.dtypes, jax.random ----


class bfloat16(np.void):
    """A type that NumPy does not have."""


def canonical(dtype, **options):
    return dtype if isinstance(dtype, Absent) else np.dtype(dtype)


def transposed(x):
    return np.swapaxes(x, -1, -2)


def without_precision(function):
    @functools.wraps(function)
    def computed(*args, precision=None, **named):
        return function(*args, **named)

    return computed


NUMPY = {name: without_precision(getattr(np, name)) for name in ("dot", "matmul", "vdot", "inner", "outer", "tensordot", "einsum")}
NUMPY.update(float_=np.float64, int_=np.int64, complex_=np.complex128, bfloat16=bfloat16, matrix_transpose=transposed,
             vectorize=only_jax("numpy.vectorize"), Array=np.ndarray)
DTYPES = dict(issubdtype=np.issubdtype, finfo=np.finfo, iinfo=np.iinfo, result_type=np.result_type, promote_types=np.promote_types, float0=np.dtype([]),
              canonicalize_dtype=canonical, dtype=lambda x: np.asarray(x).dtype, bfloat16=bfloat16, int1=None, uint1=None,
              python_scalar_types_to_dtypes={bool: np.dtype(bool), int: np.dtype(int), float: np.dtype(float), complex: np.dtype(complex)},
              default_types={}, default_float_dtype=lambda: np.dtype(float), default_int_dtype=lambda: np.dtype(int), _intn_dtypes=[],
              to_inexact_dtype=lambda dtype: np.promote_types(dtype, np.float32), to_complex_dtype=lambda dtype: np.promote_types(dtype, np.complex64))
DTYPES.update({name: bfloat16 for name in ("int2 int4 uint2 uint4 float4_e2m1fn float8_e3m4 float8_e4m3 float8_e8m0fnu float8_e4m3b11fnuz float8_e4m3fn "
                                            "float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz").split()})


def promoted(*args):
    dtype = np.result_type(*args)
    return [np.asarray(x, dtype) for x in args]


def promoted_inexact(*args):
    dtype = np.result_type(*args, np.float32)
    return [np.asarray(x, dtype) for x in args]


def key(seed):
    return np.array([0, seed], dtype=np.uint32)


def state_of(key):
    return np.random.RandomState(np.asarray(key).ravel())


RANDOM = dict(
    key=key, PRNGKey=key, split=lambda key, num=2: state_of(key).randint(1 << 31, size=(num, 2)).astype(np.uint32),
    normal=lambda key, shape=(), dtype=float: np.asarray(state_of(key).standard_normal(shape)).astype(dtype),
    uniform=lambda key, shape=(), dtype=float, minval=0.0, maxval=1.0: np.asarray(state_of(key).uniform(minval, maxval, shape)).astype(dtype),
    bernoulli=lambda key, p=0.5, shape=(): state_of(key).uniform(size=shape) < p)


# ---- settings ----


class Flag:
    """A setting of JAX: read by `value`, and a context in which nothing changes."""

    def __init__(self, value=None):
        self.value = value

    def __call__(self, value=None):
        return Nothing()

    def __bool__(self):
        return bool(self.value)


class Settings(Module):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"config.{name}") if name[0].isupper() else Flag()


def flag(name, default, *args, **kwargs):
    return Flag(default)


SETTINGS = dict(parse_flags_with_absl=lambda: None, update=lambda *args: None, string_flag=flag, int_flag=flag, bool_flag=flag,
                bool_env=lambda name, default: default, enable_x64=Flag(True), config_states={}, read=lambda name: None, x64_enabled=True, jax_enable_x64=True)


def decorator_or_context(*args, **kwargs):
    return Nothing()


class Nothing(contextlib.ContextDecorator):
    def __enter__(self):
        return None

    def __exit__(self, *args):
        return None


# ---- modules ----

SETTINGS_MODULES = ("jax.config", "jax._src.config")
CORE = dict(
    grad=grad, value_and_grad=value_and_grad, vjp=vjp, jvp=jvp, linearize=linearize, jacobian=jacobian, jacrev=jacrev, jacfwd=jacfwd,
    hessian=hessian, vmap=vmap, checkpoint=checkpoint, remat=checkpoint, custom_vjp=custom_vjp, jit=jit, Array=np.ndarray,
    device_put=lambda x, *args, **options: x, device_get=lambda x: x, block_until_ready=lambda x: x, float0=np.dtype([]),
    **{name: decorator_or_context for name in ("default_matmul_precision numpy_dtype_promotion numpy_rank_promotion named_scope disable_jit "
                                               "checking_leaks debug_nans enable_x64").split()})


def safe_zip(*args):
    return list(zip(*args, strict=True))


def safe_map(f, *args):
    return list(map(f, *args))


UTIL = dict(safe_zip=safe_zip, safe_map=safe_map, unzip2=lambda pairs: tuple(zip(*pairs)) or ((), ()), install_failure_signal_handler=lambda: None,
            split_list=lambda xs, ns: only_jax("split_list")(), prod=math.prod, test_event_listener=None)
MODULES = {
    "jax": (CORE, None), "jax.numpy": (NUMPY, np), "jax.numpy.linalg": ({}, np.linalg), "jax.numpy.fft": ({}, np.fft), "jax.lax": (LAX, None),
    "jax._src.lax.lax": (LAX, None), "jax._src.lax": (LAX, None), "jax.random": (RANDOM, None), "jax._src.random": (RANDOM, None),
    "jax.dtypes": (DTYPES, None), "jax._src.dtypes": (DTYPES, None), "jax.tree_util": (TREES, None), "jax._src.tree_util": (TREES, None),
    "jax.tree": (TREE, None), "jax._src.api": (CORE, None), "jax._src.util": (UTIL, None), "jax.lax.linalg": ({}, None),
    "jax._src.numpy.util": (dict(promote_dtypes=promoted, promote_dtypes_inexact=promoted_inexact), None),
    "jax._src.test_loader": (dict(thread_unsafe_test=decorator_or_context, thread_unsafe_test_class=lambda *args: lambda cls: cls,
                                  TEST_NUM_THREADS=Flag(0)), None),
    "jax._src.core": (dict(reset_trace_state=lambda: True), None),
    "jax.lib": (dict(__version__="99.0.0"), None), "jax._src.lib": (dict(version=(99, 0, 0)), None), "jax.ad_checkpoint": (dict(checkpoint=checkpoint, checkpoint_name=lambda x, name: x), None),
    "jax._src.ad_checkpoint": (dict(checkpoint=checkpoint, checkpoint_name=lambda x, name: x), None),
}
OF_THE_CHECKOUT = {f"jax._src.{name}": f"jax/_src/{name.replace('.', '/')}.py" for name in
                   ("test_util", "public_test_util", "test_warning_util", "internal_test_util.lax_test_util")}


class At(ast.NodeTransformer):
    """x.at[index] -> _at_(x, key[index])"""

    def visit_Subscript(self, node):
        self.generic_visit(node)
        match node.value:
            case ast.Attribute(value=x, attr="at"):
                picked = ast.Subscript(ast.Name("_index_key_", ast.Load()), node.slice, ast.Load())
                call = ast.Call(ast.Name("_at_", ast.Load()), [x, picked], [])
                return ast.fix_missing_locations(ast.copy_location(call, node))
        return node


class Key:
    def __getitem__(self, index):
        return index


class Updates:
    """x.at[index]: what its methods give is a copy."""

    def __init__(self, x, index):
        self.x, self.index = x, index

    def get(self, mode=None, fill_value=None, indices_are_sorted=False, unique_indices=False, wrap_negative_indices=True):
        return self.x[self.index]

    def apply(self, function):
        made = np.array(self.x)
        made[self.index] = function(made[self.index])
        return made

    def set(self, value, mode=None, indices_are_sorted=False, unique_indices=False, wrap_negative_indices=True):
        made = np.array(self.x)
        made[self.index] = value
        return made


def update_by(function):
    def update(self, value, mode=None, indices_are_sorted=False, unique_indices=False, wrap_negative_indices=True):
        made = np.array(self.x)
        function.at(made, self.index, value)
        return made

    return update


for name, function in dict(add=np.add, subtract=np.subtract, multiply=np.multiply, mul=np.multiply, divide=np.divide, max=np.maximum, min=np.minimum,
                           power=np.power).items():
    setattr(Updates, name, update_by(function))


class Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, *, _optimize=-1):
        return compile(At().visit(ast.parse(data)), path, "exec", dont_inherit=True)

    def get_code(self, name):  # without bytecode of an earlier run
        return self.source_to_code(self.get_data(self.path), self.path)

    def exec_module(self, module):
        module.__dict__.update(_index_key_=Key(), _at_=Updates)
        super().exec_module(module)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if name in OF_THE_CHECKOUT:
            return importlib.util.spec_from_file_location(name, self.folder / OF_THE_CHECKOUT[name])
        if name.split(".")[0] in ("jax", "jaxlib"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        where = self.folder / "tests" / f"{name}.py"
        if name.endswith("_test") and where.exists():
            return importlib.util.spec_from_file_location(name, where, loader=Loader(name, str(where)))
        return None

    def create_module(self, spec):
        if spec.name in SETTINGS_MODULES:
            return Settings(spec.name, SETTINGS)
        names, library = MODULES.get(spec.name, ({}, None))
        return Module(spec.name, names, library)

    def exec_module(self, module):
        pass


def of_no_cases(decorator):
    """A decorator of the package absl that takes a table of cases without any, for types that NumPy does not have."""

    def decorated(kind, cases):
        cases = list(cases[0] if len(cases) == 1 and not isinstance(cases[0], (tuple, dict, str)) else cases)
        return decorator(kind, [cases]) if cases else unittest.skip("no cases")

    return decorated


def put_in_place(folder):
    from absl.testing import parameterized

    parameterized._parameter_decorator = of_no_cases(parameterized._parameter_decorator)
    sys.meta_path.insert(0, Finder(pathlib.Path(folder)))
    import jax
    import jax._src.config
    import jax._src.test_util as test_util
    import jax.lax
    import jax.lax.linalg
    import jax.numpy
    import jax.numpy.fft
    import jax.numpy.linalg
    import jax.test_util

    jax.config = jax._src.config
    jax.numpy.linalg.cholesky = lambda a, upper=False, symmetrize_input=True: np.linalg.cholesky((a + np.conj(transposed(a))) / 2, upper=upper)
    jax.numpy.linalg.eigh = lambda a, UPLO=None, symmetrize_input=True: np.linalg.eigh((a + np.conj(transposed(a))) / 2, UPLO or "L")
    for name in ("check_grads", "check_jvp", "check_vjp"):
        setattr(jax.test_util, name, getattr(test_util, name))
    test_util.test_device_matches = lambda types: "cpu" in types
    test_util._get_device_tags = lambda: {"cpu"}
    test_util.device_under_test = lambda: "cpu"
    for name in "is_device_rocm is_device_cuda is_device_oneapi is_cloud_tpu is_sanitized is_asan is_tsan is_msan".split():
        setattr(test_util, name, lambda: False)
    dtypes = {np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64, np.complex64, np.complex128}
    test_util.supported_dtypes = lambda: dtypes
    test_util.with_config = test_util.with_global_config = lambda **settings: lambda cls: cls

    def set_up(self):
        self._rng = np.random.RandomState(test_util.zlib.adler32(self._testMethodName.encode()))

    test_util.JaxTestCase.setUp, test_util.JaxTestCase.tearDown = set_up, lambda self: None
