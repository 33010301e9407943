"""Texts of arguments: what each kind of parameter may be given, by what the names at hand stand for."""

import numpy as np
from numpy_table import CHOICES, KIND_OF, SPECIAL

WILD = ["None", "-1", "2**40", "-2**40", "2**63", "2**64", "-2**63 - 1", "1.5", "'x'", "b'y'", "(1, 2)", "()", "[]", "np.nan", "1j",
        "True", "...", "slice(1)", "np.array(3)", "np.array([])", "(i for i in range(3))", "{}", "np.float32(2)", "np.int8(-1)",
        "object()", "range(2)", "np.bool_(True)", "[[1, 2], [3]]", "-0.0", "np.longdouble(1)", "10**30", "{1, 2}"]
SCALARS = ["0", "1", "2", "-1", "3", "True", "0.5", "-0.0", "2.0", "1e300", "float('inf')", "float('nan')", "1j", "127", "128", "255", "-129",
           "2**31", "2**63 - 1", "-2**63", "np.float32(1.5)", "np.float16(2)", "np.int8(-3)", "np.uint8(200)", "np.int64(7)",
           "np.uint64(2**63)", "np.float64(-2.5)", "np.complex64(1 - 2j)", "np.bool_(True)", "np.float64('nan')", "1e-320"]
DTYPES = ["'f8'", "'c16'", "np.int64", "np.float32", "bool", "'i1'", "'i2'", "np.int32", "int", "'u1'", "'u2'", "np.uint32", "np.uint64", "np.float16", "'f4'", "float", "np.complex64",
          "complex", "None", "'>f8'", "'>i4'", "np.dtype('f4')", "object", "'M8[s]'", "'U2'", "np.longdouble"]


class Words:
    def __init__(self, rng, space, wild=0.02, shares=(0.0, 0.1, 0.3)):
        self.rng, self.space = rng, space  # space: what each name stands for in the program's first call
        self.wild, self.shares = wild, shares  # of arguments that are anything; of optional parameters that are given
        self.first = None  # the array that the call is about

    def one_of(self, texts):
        return self.rng.choice(texts)

    def chance(self, share):
        return self.rng.random() < share

    def value(self, text):
        return eval(text, {"np": np}, self.space)

    def names(self, fits=lambda v: True):
        return [n for n, v in self.space.items() if isinstance(v, (np.ndarray, np.generic)) and fits(v)]

    # ---- kinds of parameters ----

    def array(self):
        """An array at hand, as it is or looked at in another way; the first of a call is what others are made to fit."""
        if self.first is not None and self.chance(0.6):
            text = self.operand()
        else:
            names = self.names() or ["1.5"]
            text = self.one_of(names)
            if self.chance(0.12):
                text += self.one_of(["[::-1]", ".T", "[None]", "[..., None]", "[1:]", "[:0]", ".astype('f4')", ".ravel()", "[()]", "[..., ::2]",
                                     ".real", ".copy()", "[0]"])
            elif self.chance(0.05):
                text = self.one_of(SCALARS + ["[1, 2, 3]", "[[1.5, 2], [3, 4]]", "[True, False]", "[]", "(1, 2j)", f"[{text}, {text}]"])
        if self.first is None:
            try:
                self.first = np.asarray(self.value(text))
            except Exception:
                self.first = np.zeros(3)
        return text

    def operand(self):
        """Broadcasts with the first array, most of the time."""
        if self.chance(0.25):
            return self.one_of(SCALARS)

        def fits(value):
            try:
                np.broadcast_shapes(np.shape(value), self.first.shape if self.first is not None else ())
                return True
            except ValueError:
                return False
        names = self.names(fits) if self.chance(0.8) else self.names()
        return self.one_of(names) if names else self.one_of(SCALARS)

    def axis(self):
        rank = self.first.ndim if self.first is not None else 2
        if self.chance(0.08):
            return self.one_of([str(rank), str(-rank - 1), "1.0", "'0'", "(0, 0)", "2**40", "np.int8(0)", "True", "np.array(0)", "[0]", "(0, 5)", "range(1)",
                                "range(2)", "np.array([0])", "(np.int64(0),)", "np.uint8(0)", "(None,)", "False", "()", "(0, -1)"])
        texts = [str(i) for i in range(-rank, rank)] + ["None"]
        if rank > 1 and self.chance(0.2):
            texts = [f"({i}, {j})" for i in range(-rank, rank) for j in range(rank)]
        return self.one_of(texts)

    def axes(self):
        rank = self.first.ndim if self.first is not None else 2
        if self.chance(0.3):
            return self.axis()
        some = [self.rng.choice([i, i - rank]) for i in self.rng.sample(range(rank), self.rng.randrange(rank + 1))]
        return repr(tuple(some))

    def permutation(self):
        rank = self.first.ndim if self.first is not None else 2
        return repr(tuple(self.rng.sample(range(rank), rank))) if self.chance(0.8) else self.axes()

    def flag(self):
        return self.one_of(["True", "False"]) if self.chance(0.95) else self.one_of(["None", "1", "np.bool_(1)", "'x'", "2"])

    def count(self):
        return self.one_of(["0", "1", "2", "3", "5", "-1", "-2", "7", "np.int8(2)"])

    def number(self):
        return self.one_of(SCALARS) if self.chance(0.8) else self.operand()

    def dtype(self):
        return self.one_of(DTYPES)

    def shape(self):
        size = self.first.size if self.first is not None else 6
        exact = [f"({size},)", f"({size}, 1)", "-1", "(-1, 1)", str(size), "(1, -1)"]
        exact += [f"({d}, {size // d})" for d in (2, 3, 4) if size % d == 0] + [f"(-1, {d})" for d in (2, 3) if size % d == 0]
        return self.one_of(exact if self.chance(0.7) else ["(2, 3)", "(0,)", "()", "4", "(3, 0)", "(-1, 0)", "(-2, 3)", "(2.0,)", "[2, 2]",
                                                           "(np.int8(2), 3)", "(1, 2, 1)", "None", "(2, -1, -1)"])

    def indices(self):
        size = max(1, self.first.shape[-1] if self.first is not None and self.first.ndim else 1)
        if self.chance(0.1):
            return self.one_of([str(size), str(-size - 1), "1.0", "[0.5]", "[[0], [0]]", "slice(0, 2)", "np.array([], int)", "True", "[]",
                                "np.array([True, False])", "np.uint64(0)", "None"])
        inside = [self.rng.randrange(-size, size) for _ in range(self.rng.randrange(1, 4))]
        return self.one_of(["0", "-1", repr(inside), f"np.array({inside})", f"np.array({inside}, np.int16)", str(inside[0])])

    def sections(self):
        return self.one_of(["1", "2", "3", "[1]", "[1, 2]", "[0, 5]", "0", "-1", "[-1]", "[]", "np.array([1])", "4", "1.0"])

    def mask(self):
        names = self.names(lambda v: v.dtype == bool)
        name = self.one_of(self.names() or ["a"])
        return self.one_of(names + [f"{name} > 0", f"{name} == {name}", "True", "False", "[True, False, True]", f"~({name} < 1)", name])

    def strings(self):
        names = self.names(lambda v: v.dtype.kind in "SUO")
        return self.one_of(names + ["np.array(['a', 'bb', ''])", "np.array([b'xa', b' ab'])", "'abc'", "b'a'", "np.array([['a1', '2'], ['Ab', ' ']])",
                                    "np.array(['a', 'bb'], 'T')", self.array()])

    def masked(self):
        name = self.one_of(self.names() or ["1.5"])
        return self.one_of([f"np.ma.array({name})", f"np.ma.masked_equal({name}, 1)", f"np.ma.array({name}, mask={name} == {name})",
                            f"np.ma.masked_array({name}, {name} != 0, fill_value=3)", "np.ma.masked"])

    def weights(self):
        return self.one_of(self.names() + ["None", "[1, 2, 3]"])

    def arrays(self):
        if self.first is None:
            self.array()
        items = [self.array() for _ in range(self.rng.randrange(1, 4))]
        if self.chance(0.4):
            items = items[:1] * len(items)
        if self.chance(0.04):
            return self.one_of(["[]", "()", f"(n for n in [{items[0]}])", items[0]])
        return f"[{', '.join(items)}]" if self.chance(0.5) else f"({', '.join(items)},)"

    def pads(self):
        return self.one_of(["1", "2", "(1, 2)", "0", "((1, 0), (0, 2))", "-1", "(0, 3)", "((1,),)", "1.0", "[1, 1]", "{0: (1, 1)}"])

    def fractions(self):
        return self.one_of(["0.5", "0", "1", "0.3", "[0.25, 0.75]", "25", "np.float32(0.1)", "-0.1", "np.array([[0.1], [0.9]])", "[]", "np.nan"])

    def bins(self):
        return self.one_of(["3", "4", "[0, 1, 2]", "np.array([-1.0, 0, 0.5, 3])", "'auto'", "0", "-1", "[2, 1]", "[0, 0, 1]", "[]", "1.5"])

    def interval(self):
        return self.one_of(["None", "(0, 1)", "(-2.0, 3.0)", "(1, 0)", "(0, 0)", "(0, np.inf)"])

    def order(self):
        return self.one_of(["'C'", "'F'", "'A'", "'K'"]) if self.chance(0.95) else self.one_of(["None", "'c'", "'X'", "0"])

    def out(self):
        return self.one_of(self.names() + ["None"])

    def nothing(self):
        return None

    # ---- calls ----

    def argument(self, function, parameter):
        """A text for a parameter of a function, or None where none is known."""
        if self.chance(self.wild):
            return self.one_of(WILD)
        kind = SPECIAL.get(function, {}).get(parameter) or CHOICES.get(parameter) or KIND_OF.get(parameter) or parameter
        if isinstance(kind, list):
            return self.one_of(kind)
        if function.startswith(("np.strings.", "np.char.")) and kind == "array":
            return self.strings()
        if function.startswith("np.ma.") and kind in ("array", "operand") and self.chance(0.6):
            return self.masked()
        make = getattr(self, kind, None) if kind in KIND_OF.values() or kind in ("out", "operand", "permutation", "nothing") else None
        return make() if make else None

    def call(self, name, parameters):
        """The call's text. Parameters as numpy_table.parameters gives them."""
        positional, keywords, named = [], [], False
        share = self.one_of(self.shares)
        for parameter, required, how in parameters:
            if how == "many":
                positional += [self.many(name, parameter) for _ in range(self.rng.randrange(1, 4))]
                named = True
                continue
            if how == "keywords" or not required and not self.chance(share):
                named = True
                continue
            given = self.argument(name, parameter)
            if given is None:
                named = True
            elif how == "positional" and not named:
                positional.append(given)
            else:
                keywords.append(f"{parameter}={given}")
        return f"{name}({', '.join(positional + keywords)})"

    def many(self, name, parameter):
        if name == "np.broadcast_shapes":
            return self.shape()
        if name == "np.result_type":
            return self.one_of([self.array(), self.dtype(), self.one_of(SCALARS)])
        if name == "np.ix_":
            return self.one_of(["[0, 1]", "[0]", self.array()])
        if name in ("np.einsum", "np.einsum_path") and self.first is None:
            return self.one_of(SPECIAL[name]["args"]) if self.chance(0.97) else self.array()
        return self.argument(name, parameter) or self.array()
