"""Python's numbers, which go between arrays."""

import cmath
import math
import operator

import numpy as np

from . import case, given


@case
def integers(x, y):
    return 7 // 2, -7 // 2, 7 % -3, divmod(-7, 2), 2**10, 1 << 4, ~5, 6 & 3, 6 ^ 3, x


@case
def large_integers(x, y):
    n = 2**64
    return n + 1, n * n, -(2**63), (2**63) // 7, x


@case
def floats(x, y):
    return 0.1 + 0.2, 1e308 * 10, -0.0, 7.5 // 2, 7.5 % -2, round(2.675, 2), x


@case
def rounding(x, y):
    return round(2.5), round(3.5), round(1234, -2), int(-2.7), math.floor(-2.5), math.ceil(2.1), math.trunc(-2.5), x


@case
def complex_numbers(x, y):
    c = 1 + 2j
    return c * c, abs(c), c.conjugate(), c.real, cmath.phase(1j), x


@case
def booleans(x, y):
    return True + True, not 3, bool([]), True & False, 1 == True, x  # noqa: E712


@case
def mixed(x, y):
    return 1 + 2.0, 3 * True, 2 ** -1, 1 + 1j, 7 / 2, x


@case
def comparisons(x, y):
    return 1 < 2.0, 1 == 1.0, math.nan == math.nan, math.inf > 10**400, -0.0 == 0.0, x


@case
def divided_by_zero(x, y):
    try:
        return 1 / 0
    except ZeroDivisionError as error:
        return str(error), x


@case
def math_functions(x, y):
    return math.sqrt(2), math.gcd(12, 18), math.hypot(3, 4), math.isclose(0.1 + 0.2, 0.3), math.comb(5, 2), x


@case
def math_domain(x, y):
    try:
        return math.sqrt(-1)
    except ValueError as error:
        return str(error), x


@case
def overflow(x, y):
    try:
        return math.exp(1000)
    except OverflowError as error:
        return str(error), x


@case
def augmented(x, y):
    n = 3
    n += 1
    n *= 2
    n -= 1
    n //= 2
    n **= 2
    n %= 5
    n |= 8
    n <<= 1
    return n, x * n


@case
def of_arrays_and_numbers(x, y):
    return 2 - x, 2 / (x * x + 1), 2**3 * x, -x, +x, abs(x), x**2


@case
def numpy_scalars(x, y):
    k = np.float32(1.5)
    return k * 2, k * x, type(k * 2).__name__, np.int64(3) // 2, float(k)


@case
def promoted(x, y):
    return (x * np.float32(2)).dtype, (x.astype(np.float32) * 2.0).dtype, (np.arange(3) * 1.5).dtype


@case
def operator_module(x, y):
    return operator.add(x, y), operator.itemgetter(1)([1, 2]), operator.mul(3, 4), operator.attrgetter("ndim")(x)


@case
def powers_with_modulus(x, y):
    return pow(3, 20, 7), pow(2, -1, 7), x


@case
def bit_lengths(x, y):
    return (255).bit_length(), (5).to_bytes(2, "big"), int.from_bytes(b"\x01\x00", "big"), (0.5).hex(), (0.75).as_integer_ratio(), x


@case
def sum_of_products(x, y):
    return sum(i * i for i in range(10)) * x


@given(lambda: 3)
def int_argument(x, y, n):
    return x * n, n + 1, n // 2, -n, n**2, n % 2 == 1


@given(lambda: 2.5)
def float_argument(x, y, k):
    return x * k, k + 1, k // 1, -k, k * k


@given(lambda: 1 + 2j)
def complex_argument(x, y, c):
    return x * c, c + 1


@given(lambda: True)
def bool_argument(x, y, b):
    return x * b, b + 1, not b


@given(lambda: 0.0)
def zero_argument(x, y, z):
    return x * z, 1 if z else 2


@given(lambda: 10**25)
def large_argument(x, y, n):
    return n + 1, n % 7, x


@given(lambda: np.float32(0.5), lambda: np.int8(100))
def scalar_arguments(x, y, f, i):
    return x * f, f + 1, x * i, i // 3
