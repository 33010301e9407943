#!/usr/bin/env python3
"""Writes frontend/torch/special.def: Chebyshev series of special functions, fitted with mpmath.

    python3 scripts/special_tables.py > frontend/torch/special.def

A row is SERIES(name, number of coefficients, coefficients from the lowest degree on) in the variable
t in [-1, 1] that the comment names; half of the first coefficient counts.
"""

import mpmath as mp

mp.mp.dps = 40
NODES = 80


def series(f, low=-1, high=1):
    """Coefficients of f over t in [-1, 1], to a part in 1e18 of the largest."""
    nodes = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / NODES) for k in range(NODES)]
    values = [f(t) for t in nodes]
    out = []
    for j in range(NODES):
        terms = (v * mp.cos(mp.pi * j * (k + mp.mpf(1) / 2) / NODES) for k, v in enumerate(values))
        out.append(2 * mp.fsum(terms) / NODES)
    largest = max(abs(c) for c in out)
    while abs(out[-1]) < largest * mp.mpf("1e-18"):
        out.pop()
    return out


def row(name, text, f):
    coefficients = series(f)
    print(f"\n/* {text} */")
    print(f"SERIES({name}, {len(coefficients)},")
    lines = []
    for i in range(0, len(coefficients), 3):
        lines.append("       " + ", ".join(mp.nstr(c, 18, min_fixed=1, max_fixed=0) for c in coefficients[i : i + 3]))
    print(",\n".join(lines) + ")")


def inner(f, edge):
    """Over x in [0, edge] in t = 2 x / edge - 1."""
    return lambda t: f((t + 1) * edge / 2)


def outer(f, edge):
    """Over x in [edge, inf) in t = 2 edge / x - 1."""
    return lambda t: f(2 * edge / (t + 1))


def squares(f, edge):
    """Over x in [0, edge] in t = 2 (x / edge) ** 2 - 1."""
    return lambda t: f(edge * mp.sqrt((t + 1) / 2))


def far_squares(f, edge):
    """Over x in [edge, inf) in t = 2 (edge / x) ** 2 - 1."""
    return lambda t: f(edge / mp.sqrt((t + 1) / 2))


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def erfinv_of(w):
    """erfinv(x) / x where w = -log(1 - x * x)."""
    if w == 0:
        return mp.sqrt(mp.pi) / 2
    if w < mp.mpf("1e-3"):
        x = mp.sqrt(-mp.expm1(-w))
        return mp.erfinv(x) / x
    tail = -mp.expm1(mp.log1p(-mp.exp(-w)) / 2)  # 1 - x
    y = mp.sqrt(max(-mp.log(tail * mp.sqrt(mp.pi)), mp.mpf("0.2")))
    for _ in range(60):  # Newton on log(erfc)
        step = (mp.log(mp.erfc(y)) - mp.log(tail)) / (-2 / mp.sqrt(mp.pi) * mp.exp(-y * y) / mp.erfc(y))
        y -= step
        if abs(step) < mp.mpf("1e-36"):
            break
    return y / (1 - tail)


def phase(order):
    """The slowly varying parts of J and Y: J = sqrt(2 / (pi x)) (P cos(c) - Q sin(c))."""

    def parts(x):
        c = x - mp.pi * (2 * order + 1) / 4
        scale = mp.sqrt(mp.pi * x / 2)
        j, y = mp.besselj(order, x) * scale, mp.bessely(order, x) * scale
        return j * mp.cos(c) + y * mp.sin(c), (y * mp.cos(c) - j * mp.sin(c)) * x

    return (lambda x: parts(x)[0]), (lambda x: parts(x)[1])


def airy_phase(part):
    def f(s):  # s = 1 / zeta ** 2 in [0, 1 / zeta(2) ** 2]
        zeta = 1 / mp.sqrt(s)
        x = (zeta * 3 / 2) ** (mp.mpf(2) / 3)
        angle, scale = zeta + mp.pi / 4, mp.sqrt(mp.pi) * x ** (mp.mpf(1) / 4)
        a, b = mp.airyai(-x) * scale, mp.airybi(-x) * scale
        both = a * mp.sin(angle) + b * mp.cos(angle), (b * mp.sin(angle) - a * mp.cos(angle)) * zeta
        return both[part]

    return f


def main():
    print("/* Chebyshev series, made by scripts/special_tables.py: SERIES(name, count, coefficients). */")
    row("ERFCX", "(1 + 2 x) exp(x * x) erfc(x), x >= 0; t = 1 - 7.5 / (x + 3.75)",
        lambda t: (lambda x: (1 + 2 * x) * erfcx(x))(mp.mpf("7.5") / (1 - t) - mp.mpf("3.75")))
    for name, low, high in (("ERFINV_A", 0, "6.25"),):
        row(name, "erfinv(x) / x by w = -log(1 - x * x) in [0, 6.25]; t = w / 3.125 - 1",
            lambda t: erfinv_of((t + 1) * mp.mpf("3.125")))
    for name, low, high in (("ERFINV_B", "2.5", "4"), ("ERFINV_C", "4", "8"), ("ERFINV_D", "8", "28")):
        low, high = mp.mpf(low), mp.mpf(high)
        row(name, f"the same by sqrt(w) in [{mp.nstr(low)}, {mp.nstr(high)}]",
            lambda t: erfinv_of((low + (t + 1) * (high - low) / 2) ** 2))
    row("I0_A", "exp(-x) I0(x), x <= 8; t = x / 4 - 1", inner(lambda x: mp.exp(-x) * mp.besseli(0, x), 8))
    row("I0_B", "sqrt(x) exp(-x) I0(x), x >= 8; t = 16 / x - 1",
        outer(lambda x: mp.sqrt(x) * mp.exp(-x) * mp.besseli(0, x), 8))
    row("I1_A", "exp(-x) I1(x) / x, x <= 8; t = x / 4 - 1", inner(lambda x: mp.exp(-x) * mp.besseli(1, x) / x, 8))
    row("I1_B", "sqrt(x) exp(-x) I1(x), x >= 8; t = 16 / x - 1",
        outer(lambda x: mp.sqrt(x) * mp.exp(-x) * mp.besseli(1, x), 8))
    row("K0_A", "K0(x) + log(x / 2) I0(x), x <= 2; t = x * x / 2 - 1",
        squares(lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x), 2))
    row("K0_B", "sqrt(x) exp(x) K0(x), x >= 2; t = 4 / x - 1",
        outer(lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(0, x), 2))
    row("K1_A", "x (K1(x) - log(x / 2) I1(x)), x <= 2; t = x * x / 2 - 1",
        squares(lambda x: x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x)), 2))
    row("K1_B", "sqrt(x) exp(x) K1(x), x >= 2; t = 4 / x - 1",
        outer(lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(1, x), 2))
    two = 2 / mp.pi
    row("J0_A", "J0(x), x <= 8; t = x * x / 32 - 1", squares(lambda x: mp.besselj(0, x), 8))
    row("J1_A", "J1(x) / x, x <= 8; t = x * x / 32 - 1", squares(lambda x: mp.besselj(1, x) / x, 8))
    row("Y0_A", "Y0(x) - 2 / pi log(x) J0(x), x <= 8; t = x * x / 32 - 1",
        squares(lambda x: mp.bessely(0, x) - two * mp.log(x) * mp.besselj(0, x), 8))
    row("Y1_A", "(Y1(x) - 2 / pi (log(x) J1(x) - 1 / x)) / x, x <= 8; t = x * x / 32 - 1",
        squares(lambda x: (mp.bessely(1, x) - two * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x, 8))
    for order in (0, 1):
        p, q = phase(order)
        where = f"J{order} and Y{order}, x >= 8; t = 128 / (x * x) - 1"
        row(f"P{order}", f"in phase, of {where}", far_squares(p, 8))
        row(f"Q{order}", f"out of phase, times x, of {where}", far_squares(q, 8))
    row("AIRY_A", "Ai(x), -2 <= x <= 2; t = x / 2", lambda t: mp.airyai(2 * t))
    zeta = mp.mpf(2) / 3 * mp.mpf(2) ** mp.mpf("1.5")

    def far_airy(t):
        z = 2 * zeta / (t + 1)
        x = (z * 3 / 2) ** (mp.mpf(2) / 3)
        return mp.airyai(x) * mp.exp(z) * 2 * mp.sqrt(mp.pi) * x ** (mp.mpf(1) / 4)

    row("AIRY_B", "2 sqrt(pi) x ** 0.25 exp(z) Ai(x), x >= 2, z = 2 / 3 x ** 1.5; t = 2 z(2) / z - 1", far_airy)
    most = 1 / zeta**2
    for i, name in enumerate(("AIRY_P", "AIRY_Q")):
        row(name, ("in phase", "out of phase, times z")[i] + ", of Ai(-x), x >= 2; t = 2 (z(2) / z) ** 2 - 1",
            lambda t: airy_phase(i)((t + 1) * most / 2))


if __name__ == "__main__":
    main()
