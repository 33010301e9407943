"""Arrays inside of the language: written, viewed, kept and compared."""

import numpy as np

from . import case, given


@case
def plain(x, y):
    return x * y + 1


@case
def result_is_the_argument(x, y):
    return x


@case
def same_result_twice(x, y):
    z = x + y
    return z, z


@case
def equal_results_apart(x, y):
    return x + y, x + y


@case
def view_of_an_argument(x, y):
    return x[1:3], x[::-1]


@case
def view_of_a_result(x, y):
    z = x + y
    return z, z[1:], z.reshape(2, -1) if len(z) % 2 == 0 else z


@case
def copies(x, y):
    return x.copy(), x[:2].copy(), np.array(x)


@case
def written_argument(x, y):
    x[0] = 5.0
    return x


@case
def written_slice(x, y):
    x[1:3] = y[1:3] * 2
    return x.sum()


@case
def written_through_a_view(x, y):
    v = x[1:]
    v += 1
    return x * 2, v


@case
def added_in_place(x, y):
    x += y
    return None


@case
def added_in_place_to_a_result(x, y):
    z = x * 2
    w = z
    w += y
    return z


@case
def swapped_contents(x, y):
    x[:], y[:] = y.copy(), x.copy()


@case
def masked(x, y):
    return x[x > 0]


@case
def written_under_a_mask(x, y):
    x[x < 0] = 0
    return x


@case
def where(x, y):
    return np.where(x > y, x, y)


@case
def out_argument(x, y):
    np.multiply(x, 2, out=y)
    return y


@case
def out_of_a_view(x, y):
    np.add(x[1:], 1, out=x[1:])
    return x


@case
def item_is_a_scalar(x, y):
    return x[0], type(x[0]).__name__, x[0] * 2


@case
def python_number_of_an_item(x, y):
    return float(x[0]) + 1, x.tolist()


@case
def shape_arithmetic(x, y):
    n, = x.shape
    return x.reshape(n, 1) * y, n // 2, -n % 4


@case
def loop_over_an_array(x, y):
    total = 0
    for v in x:
        total = total + v
    return total


@case
def array_in_a_dict(x, y):
    d = {"x": x, "z": x + 1}
    d["z"] *= 2
    return d


@case
def array_in_nested_lists(x, y):
    return [[x], [x, [y]]]


@case
def list_of_rows(x, y):
    return list(np.outer(x, y)[:2])


@case
def stacked(x, y):
    return np.stack([x, y, x + y])


@case
def reduced(x, y):
    return x.sum(), x.mean(), y.max(), x.argmin(), x.std()


@case
def truth_of_a_comparison(x, y):
    if (x > y).any():
        return x - y
    return y - x


@case
def iterated_writes(x, y):
    for i in range(3):
        x[i] += i
    return x


@case
def attributes(x, y):
    return x.dtype, x.ndim, x.size, x.T.shape, x.flags.writeable, x.itemsize


@case
def divided_by_zero(x, y):
    return x / (y - y)


@case
def divided_by_zero_quietly(x, y):
    with np.errstate(all="ignore"):
        z = x / (y - y)
    return z, np.log(-np.abs(x) - 1) if False else z


@case
def shapes_that_do_not_fit(x, y):
    return x + np.ones(len(x) + 1)


@case
def index_out_of_bounds(x, y):
    return x[100]


@case
def written_before_a_failure(x, y):
    x[0] = 9.0
    y[1] = 7.0
    return x + np.ones(len(x) + 1)


@given(lambda: np.arange(3), lambda: np.float32(2))
def integers_and_scalars(x, y, n, k):
    return n * k, n + 1, n / 2, x[n], n.dtype


@given(lambda: np.zeros((2, 3), order="F"))
def fortran(x, y, f):
    f += 1
    return f, f.T, f * 2


@given(lambda: np.arange(4)[::-1])
def reversed_view(x, y, r):
    r[0] = 100
    return r, r * 2


@given(lambda: np.array(3.0))
def no_dimension(x, y, z):
    z += 1
    return z, z * 2, x * z


@given(lambda: np.zeros(0))
def nothing_in_it(x, y, e):
    return e * 2, e.sum(), len(e)
