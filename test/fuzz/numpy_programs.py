"""Random programs over NumPy. A program is a module's text with `arguments(size)` and `program(...)`; see numpy_kind.py.

Statements are made one after another and each is run at once, so that what comes after knows what it works on. Most that
raise are made again, the others stay: errors must be the same, too.
"""

import re
import signal
import warnings

import arrays
import numpy as np
from numpy_table import EXACT, attributes, functions, methods, parameters, ufuncs
from words import DTYPES, SCALARS, WILD, Words

FUNCTIONS, UFUNCS, METHODS, ATTRIBUTES = functions(), ufuncs(), methods(), attributes()
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^", "<", "<=", "==", "!=", ">", ">="]
STATES = ["all='ignore'", "all='warn'", "all='raise'", "divide='raise'", "over='ignore', invalid='raise'", "under='warn'", "invalid='ignore'",
          "all='ignore', over='warn'"]
# Most differences are made by capture, which the reference interpreter shows in a sixth of the time that kernels take.
BACKENDS = ["loom", "interpret", "interpret", "interpret"]
LIMIT = 1 << 20  # bytes of a value
PRODUCTS = re.compile(r"outer|grid|kron|tensordot|ix_|diagflat|val\w*\(|multi_dot")  # whose work grows with the product of sizes
WORK = 1 << 22  # elements of such a product


class TooLong(BaseException):
    """A statement that takes more than a second of the processor when it is made: what it is does not depend on what else runs."""


def alarm(*_):
    raise TooLong


class Program:
    def __init__(self, rng):
        self.rng = rng
        self.arguments = []  # (name, text)
        self.body, self.levels, self.results = [], {}, []
        self.written, self.count = 0, 0
        self.profile = rng.choice(["tame", "tame", "small", "special", "few special", "normal", "positive", "mixed"])

    def make(self):
        """The text."""
        self.make_arguments()
        self.state = self.rng.choice(STATES) if self.rng.random() < 0.35 else None
        first, second = self.built()
        self.space = dict(first)
        self.growth = max(max(np.size(second[name]), 1) / max(np.size(value), 1) for name, value in first.items())
        if self.rng.random() < 0.25:
            self.add_call()
            return self.text()
        for _ in range(self.rng.choice([1, 1, 1, 2, 2, 3, 4, 6, 8])):
            if not self.add_statement():
                break
        return self.text()

    # ---- arguments ----

    def make_arguments(self):
        dims = [self.rng.sample([(2, 4), (3, 5), (4, 7), (5, 3), (6, 2)], 1)[0] for _ in range(3)]
        if self.rng.random() < 0.03:  # more than one vector, and chunks of several threads
            dims = [(9, 40), (33, 17), (70, 130)]
        dims[1:] = dims[1:] if self.rng.random() < 0.5 else [dims[0]] * 2  # squares are frequent
        m, n, k = dims
        one, none = (1, 1), (0, 0)
        shapes = [(m, n), (m, n), (n,), (n,), (m, n), (one, n), (m, one), (), (n, m), (k, m, n), (none,), (m, none), (one, one), (n, n)]
        base = self.rng.choice(arrays.NUMBERS)
        for name in "abcd"[:self.rng.choice([1, 2, 2, 3, 3, 4])]:
            self.arguments.append((name, self.argument(name, base, shapes)))

    def argument(self, name, base, shapes):
        rng, chance = self.rng, self.rng.random()
        if self.arguments and chance < 0.06:
            other = rng.choice(self.arguments)[0]
            return rng.choice([other, f"{other}[::-1]", f"{other}.T", f"{other}[1:]", f"{other}[..., :-1]"])
        if chance < 0.12:
            return rng.choice(SCALARS + ["2.5", "-3", "(2, 5)[size]", "(1.5, 2.5)[size]", "[1, 2.0, 3]", "(1, 2)"])
        dtype = base if rng.random() < 0.5 else rng.choice(arrays.NUMBERS)
        if rng.random() < 0.05:
            dtype = rng.choice(arrays.LONG + arrays.OTHERS)
        layout = "C" if rng.random() < 0.5 else rng.choice(arrays.LAYOUTS if rng.random() < 0.3 else arrays.COMPILED)
        values = rng.choice(arrays.VALUES) if self.profile == "mixed" else self.profile
        shape = rng.choice(shapes)
        sizes = [repr(tuple(d[i] for d in shape)) for i in (0, 1)]
        sizes = sizes[0] if sizes[0] == sizes[1] else f"({', '.join(sizes)})[size]"
        return f'array("{dtype}", {sizes}, "{layout}", "{values}", {rng.randrange(1000)})'

    def built(self):
        scopes = []
        for size in (0, 1):
            scope = {"np": np, "array": arrays.array, "size": size}
            values = {}
            for name, text in self.arguments:
                try:
                    values[name] = scope[name] = eval(text, scope)
                except (IndexError, TypeError, AttributeError):  # a view of what has no dimensions
                    self.arguments[:] = [(n, t if n != name else "1.5") for n, t in self.arguments]
                    values[name] = scope[name] = 1.5
            scopes.append(values)
        return scopes

    # ---- statements ----

    def add_call(self):
        """One call with many of its parameters, some of them anything, whether or not it raises."""
        for attempt in range(8):
            words = Words(self.rng, self.space, wild=self.rng.choice([0.02, 0.1, 0.2]), shares=(0.2, 0.5, 0.8))
            maker = self.rng.choices([function_call, method_call, ufunc, ufunc_method], [6, 3, 1, 1])[0]
            if (made := maker(self, words)) is None:
                continue
            before = self.bytes()
            value, error = self.attempted(*made)
            self.writes = self.bytes() != before
            if not isinstance(error, (SyntaxError, TooLong, MemoryError)):
                self.take(*made, value, error)
                return

    def add_statement(self):
        """False when the program ends with an error."""
        for attempt in range(8):
            words = Words(self.rng, self.space)
            made = self.rng.choices(MAKERS, WEIGHTS)[0](self, words)
            if made is None:
                continue
            target, text = made
            before = self.bytes()
            value, error = self.attempted(target, text)
            self.writes = self.bytes() != before
            if error is not None and self.rng.random() < 0.85:
                continue
            if isinstance(error, (SyntaxError, TooLong, MemoryError)) or text in (line.partition(" = ")[2] for line in self.body):
                continue
            return self.take(target, text, value, error)
        return True

    def bytes(self):
        """Of all arrays at hand."""
        return [np.asarray(v).tobytes() for v in self.space.values() if isinstance(v, np.ndarray) and v.dtype != object]

    def attempted(self, target, text):
        """Runs a statement; None and what it raised, or the value."""
        space = {"np": np, **self.space}
        if self.kills(text) or PRODUCTS.search(text) and self.work(text) > WORK:
            return None, TooLong()
        if re.search(r"\*\*|pow|<<|left_shift", text) and any(getattr(v, "dtype", None) == object for v in self.space.values()):
            return None, TooLong()  # of Python's integers
        signal.signal(signal.SIGPROF, alarm)
        signal.setitimer(signal.ITIMER_PROF, 1)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                if target == "value":
                    value = eval(text, space)
                    return (None, TooLong()) if size_of(value) > LIMIT else (value, None)
                exec(text, space)
                return None, None
        except (Exception, TooLong) as error:
            return None, error
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def kills(self, text):
        """May NumPy itself die of it, or read what is none of its arrays? It swaps bytes of what points to strings, accumulates into
        an array without dimensions, and takes a row again and again for more indices than it has numbers."""
        behind = text.partition(",")[2]
        given = [self.space[name] for name in re.findall(r"\b[a-z]\w*", behind) if name in self.space]
        single = "np.array(3)" in behind or any(isinstance(v, np.ndarray) and not v.ndim for v in given)
        strings = any(isinstance(v, np.ndarray) and v.dtype.char == "T" for v in self.space.values())
        return ("byteswap" in text and (strings or "'T'" in text) or re.search(r"cum\w+\(|accumulate\(", text) and single
                or ".at(" in text and "[[" in behind)

    def work(self, text):
        """At most so many elements has the product of all that a statement names, of the second size."""
        given = dict(self.arguments)
        sizes = [np.size(self.space[name]) * (self.growth if name in given else self.growth**2)
                 for name in re.findall(r"\b[a-z]\w*", text) if name in self.space]
        return np.prod([max(size, 1) for size in sizes * (2 if "diagflat" in text else 1)], dtype=float)

    def take(self, target, text, value, error):
        level = self.level(text, value)
        if target != "value":
            self.body.append(self.wrapped(text) if error is None else text)
            self.note_write(text, level)
            return error is None
        name = f"v{self.count}"
        self.count += 1
        if error is not None and self.rng.random() < 0.6:
            said = self.rng.choice(["type(error).__name__, str(error)", "type(error).__name__", "'raised'"])  # a message is the library's own
            self.body.append(f"try:\n    {name} = {text}\nexcept Exception as error:\n    {name} = {said}")
        else:
            self.body.append(self.wrapped(f"{name} = {text}") if error is None else f"{name} = {text}")
        if self.writes or "out=" in text or ".at(" in text or any(f"{w}(" in text for w in ("copyto", "put", "putmask", "place", "fill_diagonal",
                                                                             "put_along_axis", "sort", "fill", "partition", "byteswap")):
            self.note_write(text, level)
        if "empty" in text and error is None:
            self.body.append(f"{name}.fill(0)")  # any bytes before
        self.results.append(name)
        self.levels[name] = level
        if error is None:
            self.space[name] = value
        return error is None or self.body[-1].startswith("try")

    def wrapped(self, statement):
        """The same in a function, a loop, a `with` or a handler, now and then."""
        if self.rng.random() < 0.9 or not re.fullmatch(r"[a-z]\w* = .*|.*\)", statement):
            return statement
        name, _, value = statement.partition(" = ")
        some = [f"with np.errstate({self.rng.choice(STATES)}):\n    {statement}", f"for i in range(2):\n    {statement}",
                f"try:\n    {statement}\nfinally:\n    done = True", f"for i in range(3):\n    if i == 1:\n        {statement}\n        break",
                f"while True:\n    {statement}\n    break"]
        if value and name not in self.space:
            some += [f"def inner():\n    return {value}\n{name} = inner()", f"{name} = [{value} for i in range(2)][-1]",
                     f"{name} = (lambda: {value})()", f"{name} = {{'k': {value}}}['k']", f"{name}, *rest = {value}, 1, 2",
                     f"def inner():\n    yield {value}\n({name},) = inner()", f"if len(str(np.shape(a))) > 3:\n    {statement}\nelse:\n    {name} = 0"]
        return self.rng.choice(some)

    def level(self, text, value):
        """0: bits are the library's; 1: computed from such within a bound; 2: computed from what is within a bound."""
        used = re.findall(r"\b[a-z]\w*", text)
        below = max((self.levels.get(name, 0) for name in used), default=0)
        if below and self.jumps(text, value):
            return 2
        if isinstance(value, str) or self.moves(text, value):
            return below
        return min(2, below + 1)

    def jumps(self, text, value):
        """Is it another result altogether for numbers that differ a little?"""
        values = value if isinstance(value, (tuple, list)) else [value]
        discrete = any(np.asarray(v).dtype.kind in "biu" for v in values if isinstance(v, (np.ndarray, np.generic, int)))
        return discrete or re.search(r"floor|ceil|trunc|rint|round|fix|mod|rem|sign|//|%|unique|where|heaviside|spacing|nextafter|sort|frexp", text)

    def moves(self, text, value):
        calls = re.findall(r"\.?\b([A-Za-z_]\w*)\b", re.sub(r"'[^']*'|\w+=", "", text))
        known = set(self.space) | {"np", "float", "int", "bool", "complex", "None", "True", "False", "object", "nan", "inf"}
        if any(c not in EXACT and c not in known for c in calls) or "**" in text or "@" in text:
            return False
        if re.search(r"\.(reduce|accumulate|reduceat|at|outer)\b", text):
            return False
        plain = re.fullmatch(r"[\w.]+", text) or not re.search(r"multiply|divide|reciprocal|square|\*|/|abs|sqrt|sign\b|round|around|ptp", text)
        return plain or not any(np.asarray(v).dtype.kind == "c" for n, v in [*self.space.items(), ("", value)]
                                if isinstance(v, (np.ndarray, np.generic, complex)))

    def note_write(self, text, level):
        """What a statement writes may be anything that it names, and whatever shares its memory."""
        named = [self.space[n] for n in set(re.findall(r"\b[a-z]\w*", text)) & set(self.space)]
        for name, value in self.space.items():
            if isinstance(value, np.ndarray) and any(isinstance(o, np.ndarray) and np.may_share_memory(o, value) for o in named):
                self.levels[name] = max(self.levels.get(name, 0), level)
        self.written = max(self.written, level)

    def text(self):
        names = [name for name, _ in self.arguments]
        lines = ["import numpy as np", "from arrays import array", "", f"LEVELS = {self.levels!r}", f"WRITTEN = {self.written}",
                 f"FILTERS = {self.rng.choice(['always'] * 6 + ['error', 'ignore'])!r}",
                 f"BACKEND = {self.rng.choice(BACKENDS)!r}", "", "", "def arguments(size):"]
        lines += [f"    {name} = {text}" for name, text in self.arguments]
        lines += [f"    return {', '.join(names)},", "", "", f"def program({', '.join(names)}):"]
        indent = "    "
        if self.state:
            lines.append(f"    with np.errstate({self.state}):")
            indent = "        "
        for statement in self.body:
            lines += [indent + line for line in statement.split("\n")]
        if self.state and not self.body:
            lines.append(indent + "pass")
        returned = self.results + [n for n in names if self.rng.random() < 0.1]
        lines.append(f"    return {', '.join(returned) + ',' if returned else '()'}")
        return "\n".join(lines) + "\n"


def size_of(value):
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, (tuple, list, dict)):
        return 8 * len(value) + sum(size_of(v) for v in list(value)[:64])
    return len(value) if isinstance(value, (str, bytes)) else 8


# ---- makers of statements: ("value", expression) or ("effect", statement) ----


def operator(program, words):
    left = words.array()
    text = f"{left} {words.one_of(OPERATORS)} {words.operand()}" if words.chance(0.85) else \
        f"{words.operand()} {words.one_of(OPERATORS)} {left}"
    if words.chance(0.15):
        text = words.one_of([f"-{left}", f"~{left}", f"+{left}", f"abs({left})", f"({text}) * {words.operand()}"])
    return "value", text


def ufunc_options(program, words, text, count):
    """Options behind the operands."""
    options = []
    if words.chance(0.15):
        value, error = program.attempted("value", text + ")")
        if error is None and isinstance(value, np.ndarray) and words.chance(0.7):
            dtype = value.dtype.str if words.chance(0.7) else words.one_of(["f8", "i4", "f4", "c16", "?"])
            options.append(f"out=np.zeros({value.shape}, '{dtype}')" if words.chance(0.4) else f"out={words.out()}")
        else:
            options.append(f"out={words.out()}")
    for name, make in (("where", words.mask), ("dtype", words.dtype), ("order", words.order)):
        if words.chance(0.06):
            options.append(f"{name}={make()}")
    if words.chance(0.06):
        options.append(f"casting={words.argument('', 'casting')}")
    if words.chance(0.02):
        options.append(f"subok={words.flag()}")
    if any(o.startswith("where") for o in options):
        options = [o for o in options if not o.startswith("out")]
        options.append(f"out={words.one_of(words.names() or ['np.zeros(3)'])}")  # what is left out would be any bytes
    return "".join(", " + o for o in options)


def ufunc(program, words):
    name = words.one_of(list(UFUNCS))
    function = UFUNCS[name]
    text = f"{name}({words.array()}" + "".join(", " + words.operand() for _ in range(function.nin - 1))
    if words.chance(0.03):
        text += ", " + words.one_of(WILD)
    return "value", text + ufunc_options(program, words, text, function.nin) + ")"


def ufunc_method(program, words):
    name = words.one_of(list(UFUNCS))
    function, method = UFUNCS[name], words.one_of(["reduce", "reduce", "accumulate", "reduceat", "outer", "at"])
    if function.nin != 2 and method != "at" and words.chance(0.9):
        return None
    text = f"{name}.{method}({words.array()}"
    if method == "outer":
        return "value", f"{text}, {words.array()})"
    if method in ("at", "reduceat"):
        text += ", " + words.indices()
    if method == "at":
        return "effect", text + ("" if function.nin == 1 else ", " + words.operand()) + ")"
    text += f", axis={words.axis()}" if words.chance(0.6) else ""
    text += f", dtype={words.dtype()}" if words.chance(0.1) else ""
    if method == "reduce":
        text += f", keepdims={words.flag()}" if words.chance(0.2) else ""
        text += f", initial={words.number()}" if words.chance(0.15) else ""
        text += f", where={words.mask()}" if words.chance(0.15) else ""
    text += f", out={words.out()}" if words.chance(0.06) else ""
    return "value", text + ")"


def function_call(program, words):
    name = words.one_of(list(FUNCTIONS))
    if isinstance(FUNCTIONS[name], np.ufunc):  # of strings
        return "value", f"{name}({', '.join(words.strings() for _ in range(FUNCTIONS[name].nin))})"
    known = parameters(FUNCTIONS[name])
    text = words.call(name, known) if known is not None else None
    if name == "np.histogramdd" and words.first is not None and words.first.shape[-1:] > (3,):
        return None  # its result has an axis for each column
    if text and (name in FACTORS or name.startswith(("np.linalg.", "np.polynomial."))) and not bounded(words, text):
        return None  # LAPACK may iterate for ever over other numbers
    return ("value", text) if text else None


FACTORS = {"np.polyfit", "np.roots", "np.poly"}


def bounded(words, text):
    """Whether all numbers that a call names are finite and of moderate size."""
    for name in set(re.findall(r"\b[a-z]\w*", text)) & set(words.space):
        value = np.asarray(words.space[name])
        if value.dtype.kind not in "biufc" or value.size and not (np.abs(value.astype(complex)) < 1e6).all():
            return False
    return not re.search(r"nan|inf|e300|\*\*", text)


def method_call(program, words):
    text, method = words.array(), words.one_of(METHODS)
    if not re.fullmatch(r"[\w.\[\]:(), -]+", text) or text[0] in "-0123456789":
        return None
    if method in ("tobytes", "view", "getfield") and getattr(words.first, "dtype", None) == object:
        return None  # addresses
    known = [p for p in parameters(getattr(np.ndarray, method)) or [] if p[2] not in ("keywords",)]
    call = words.call("np." + method, known)
    if method in ("view", "item", "reshape", "transpose", "astype", "getfield") and words.chance(0.8):
        call = "." + method + {"view": f"({words.dtype()})", "item": words.one_of(["()", "(0)", "(0, 0)", "(-1)"]),
                               "reshape": f"({words.shape()})", "transpose": words.one_of(["()", f"({words.permutation()})"]),
                               "astype": f"({words.dtype()})", "getfield": f"({words.dtype()}, 0)"}[method]
    return "value", text + "." + call.removeprefix("np.").removeprefix(".")


def attribute(program, words):
    return "value", f"{words.one_of(words.names() or ['np.pi'])}.{words.one_of(ATTRIBUTES)}"


def index(program, words, value):
    """What is between the brackets."""
    rank, shape = value.ndim, value.shape
    parts = []
    for axis in range(words.rng.randrange(max(rank, 1) + 1)):
        n = max(1, shape[axis] if axis < rank else 1)
        pick = [words.rng.randrange(-n, n) for _ in range(words.rng.randrange(1, 4))]
        parts.append(words.one_of([":", ":", str(pick[0]), "::-1", "1:", ":-1", "::2", f"{pick[0]}:", "-1::-2", repr(pick), f"np.array({pick})",
                                   "None", "...", f"np.array([{pick}])", "5:1", "-100:100", f"np.int8({pick[0]})"]))
    if words.chance(0.15):
        name = words.one_of(words.names())
        parts = [words.one_of([f"{name} > 0", f"{name} != {name}", name, f"np.nonzero({name})", "[True, False, True]", "True", "False"])]
    if words.chance(0.06):
        parts = [words.one_of([str(shape[0] if rank else 0), "2**40", "-2**63", "1.0", "'x'", "0, 0, 0, 0, 0", "..., ...", "[0.5]", "None, 0",
                               "slice(None, None, 0)", "np.array([9])", "[[0], [9]]", "()", "np.uint8(1)", "1j"])]
    return ", ".join(parts) or "..."


def getting(program, words):
    names = words.names()
    if not names:
        return None
    name = words.one_of(names)
    return "value", f"{name}[{index(program, words, np.asarray(words.space[name]))}]"


def setting(program, words):
    names = words.names(lambda v: isinstance(v, np.ndarray))
    if not names:
        return None
    name = words.one_of(names)
    words.first = words.space[name]
    value = words.operand() if words.chance(0.9) else words.one_of(WILD)
    if words.chance(0.3):  # itself, seen in another way: what is read and what is written overlap
        value = name + words.one_of(["[::-1]", ".T", "[1:]", "[:-1]", "[..., ::-1]", "[None]", "[0]", " * 2", ".sum()", "[[0]]", ".copy()"])
    if words.chance(0.15):
        return "effect", words.one_of([
            f"{name}.shape = {words.shape()}", f"{name}.flat = {value}", f"{name}.flat[{words.indices()}] = {value}", f"{name}.real = {value}",
            f"{name}.imag = {value}", f"{name}.dtype = {words.dtype()}", f"{name}.flags.writeable = {words.flag()}", f"del {name}[0]",
            f"{name}.setflags(write=False)", f"{name}.T[...] = {value}", f"{name}[...].sort()", f"{name}.ravel()[:] = {value}",
            f"{name}.reshape(-1)[::2] = {value}", f"for x in {name}: x[...] = 0", f"for i in range(len({name})): {name}[i] = {name}[-i]",
            f"{name}[0], {name}[-1] = {name}[-1], {name}[0]", f"{name}.strides = {name}.strides", f"{name}.T.sort()", f"{name}[1:] += {name}[:-1]"])
    return "effect", f"{name}[{index(program, words, words.first)}] {words.one_of(['=', '=', '=', '+=', '*=', '-='])} {value}"


def in_place(program, words):
    names = words.names(lambda v: isinstance(v, np.ndarray))
    if not names:
        return None
    name = words.one_of(names)
    words.first = words.space[name]
    sign = words.one_of(OPERATORS[:13])
    return "effect", f"{name} {sign}= {words.operand()}"


def builtin(program, words):
    a, b = words.array(), words.operand()
    return "value", words.one_of([
        f"abs({a})", f"sum({a})", f"len({a})", f"min({a})", f"max({a})", f"round({a})", f"divmod({a}, {b})", f"pow({a}, {b})", f"float({a})",
        f"int({a})", f"bool({a})", f"complex({a})", f"list({a})", f"sorted({a})", f"tuple({a})", f"[x for x in {a}]", f"{b} in {a}",
        f"list(zip({a}, {b}))", f"list(enumerate({a}))", f"round({a}, 1)", f"str({a})", f"repr({a})", f"hash({a}) if {a} == {a} else 0", f"isinstance({a}, np.ndarray)",
        f"range({a})", f"any({a})", f"all({a})", f"{a} if {b} else {b}", f"not {a}", f"{a} and {b}", f"{a} is {b}", f"list(reversed({a}))",
        f"type({a})", f"'%s' % ({a},)", f"f'{{{a}}}'", f"[*{a}]", f"{{'k': {a}}}['k']", f"next(iter({a}))"])


def generated(program, words):
    count = words.one_of(["3", "(2, 3)", "()", "(0,)", "None"])
    return "value", words.one_of([
        f"np.random.default_rng({words.one_of(['1', '7'])}).{call}" for call in (
            f"standard_normal({count})", f"random({count})", f"integers(0, 10, {count})", f"permutation({words.array()})",
            f"choice({words.array()})", f"uniform(-1, 1, {count})", "normal(2.0, 0.5, 4)", f"shuffle({words.array()})")])


def constructed(program, words):
    return "value", words.one_of([
        f"np.array({words.argument('', 'object')}, {words.dtype()})", f"np.{words.one_of(['float32', 'int8', 'uint64', 'bool_', 'complex64'])}"
        f"({words.array()})", f"np.full({words.shape()}, {words.operand()}, {words.one_of(DTYPES)})",
        f"np.array([{words.array()}, {words.operand()}])", f"np.r_[{words.array()}, {words.operand()}]", f"np.c_[{words.array()}, {words.array()}]",
        f"np.mgrid[:3, {words.count()}:4]", "np.ogrid[0:1:3j, :2]", f"list(np.ndenumerate({words.array()}))", f"list(np.ndindex({words.shape()}))",
        f"[x.sum() for x in {words.array()}]", f"np.vectorize(lambda x: x + 1)({words.array()})", f"[x.copy() for x in np.nditer({words.array()})]",
        f"np.broadcast({words.array()}, {words.operand()}).shape", f"np.iinfo({words.dtype()}).max", f"np.finfo({words.array()}.dtype).eps",
        f"(lambda q, *r: q + r[0])({words.array()}, {words.operand()})", f"np.float64({words.array()}) + {words.operand()}", f"np.zeros({words.shape()}, {words.dtype()})", f"np.arange({words.number()})"])


TABLE = ((ufunc, 20), (operator, 12), (ufunc_method, 7), (function_call, 34), (method_call, 14), (attribute, 2), (getting, 9), (setting, 8),
         (in_place, 5), (builtin, 4), (generated, 1), (constructed, 3))
MAKERS, WEIGHTS = zip(*TABLE)
