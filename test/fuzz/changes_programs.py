"""Programs of python_programs.py with what changes between their calls: `change(step)` works on what the program finds around it, `vary(step, ...)` on arguments."""

from python_programs import Writer

STEPS = 9
NUMBERS = ["0", "1", "-2", "2.5", "True", "2**70", "np.float32(1.5)", "np.int64(3)", "np.float64(-1)", "1e300", "-0.0", "float('nan')"]
OTHERS = ["None", "'q'", "[1, 2]", "(1, 2)", "np.arange(3.0)", "np.array(2)", "1j", "C0(3)", "b'z'", "Pair(1, 2)", "{'a': 1}"]
FUNCTIONS = ["h0", "h1", "h2", "h3", "h4", "g0", "g1"]
CHANGES = [
    "G0 = @", "G0 = @", "G0 += 1", "G1 = [5, 6, 7]", "G1.append(step)", "G1.clear()", "G1[:] = [1.5, 2]", "G1 = G1[:]", "G1 = (1, 2)", "G1[0] = @", "G2['a'] = @", "G2['a'] = step", "G2['new'] = 1", "G2.pop('a', 0)", "G2 = dict(reversed(G2.items()))", "G2 = {'z': 3}", "G2.clear()",
    "C0.total = @", "C1.total = step", "C0.array = np.arange(3.0) + step", "C0.array[0] = step", "C0.cell = 7", "C0.__bool__ = lambda self: step % 2 == 0", "C0.__add__ = lambda self, other: self", "C1.__len__ = lambda self: step", "C0.made = lambda self: C0(step)", "C0.prop = property(lambda self: step)", "C1.scaled = C0.scaled",
    "C0.__getattr__ = lambda self, name: step", "C0.__init__ = lambda self, value=1: setattr(self, 'value', value)", "C1.__bases__ = C0.__bases__[:0] + (C0,)", "C0.__getitem__ = lambda self, key: key", "C0.__eq__ = lambda self, other: True", "C1.__call__ = lambda self, other, k=0: other", "C0.kind = classmethod(lambda cls, other=0: step)",
    "h0.__defaults__ = tuple([step] * len(h0.__defaults__ or ()))", "h0.__kwdefaults__ = {'k': step}", "h2.__code__ = (lambda p=0: p + step).__code__ if not h2.__closure__ and not (lambda p=0: p).__closure__ else h2.__code__", "h4.__code__ = (lambda p, *a, **k: p * 2).__code__ if not h4.__closure__ else h4.__code__",
    "h1 = lambda *a, **k: step", "h3 = lambda p, q=0: (p, q)", "h2 = h0", "h0, keep = (lambda p, q=1, k=2: q), h0", "h0 = functools.partial(h1, 1)", "h4 = np.negative", "g0 = lambda stop: iter([1, 2, step])", "C0, C1 = C1, C0", "C1 = type('C1', (C0,), {'total': 3})", "say = print", "brk = abs",
    "math.floor = math.ceil", "math.copysign = lambda p, r: p", "np.square = np.negative", "np.sort = np.abs", "operator.mul = operator.add", "np.where = original_where if step % 2 else (lambda p, q, r: q)", "builtins.len = len", "abs = lambda p: 3", "len = lambda p: 2", "sorted = list", "Pair = collections.namedtuple('Pair', 'left right')",
    "np.seterr(all='ignore')", "np.seterr(divide='raise')", "np.seterr(invalid='raise', over='ignore')", "np.seterr(all='warn')", "warnings.simplefilter('error')", "warnings.simplefilter('ignore')", "warnings.simplefilter('always')", "Guard.__exit__ = lambda self, *given: True", "Cell.__get__ = lambda self, instance, owner=None: step",
    "Thing.extra = step", "Thing.__getattr__ = lambda self, name: 1", "Point.__match_args__ = ('y', 'x')", "np.maximum = np.minimum", "functools.reduce = lambda *a: 0", "del G2", "G2 = {'a': 1, 'b': 2}", "globals()['G0'] = step", "program.__defaults__ = (1,) * step", "np.float64 = np.float32", "np.array(1)"]
VARIED = [
    "x = x.astype('f4')", "x = x.astype(np.int64)", "x = x[::-1]", "x = x[:0]", "x = x[:1]", "x = np.arange(7.0)", "x = np.repeat(x, 2)[::2]", "x = x.reshape(2, -1)", "x = x.tolist()", "x = y", "y = x", "y = x[1:]", "y = x[::-1]", "y = np.float64(2)", "y = y.astype(complex)", "y = np.broadcast_to(2.0, x.shape)", "x = np.asfortranarray(np.ones((2, 2)))",
    "x.flags.writeable = False", "y = y.astype('f2')", "y = y > 0", "n = @", "n = @", "n = n + 1", "n = True", "n = n * 1.0", "scale = @", "scale = n", "items = [1.5, 'a']", "items = items + [1, 2, 3, 4]", "items = []", "items = tuple(items)", "items = [True, 2]", "items = [x, y]", "items = [2**65]", "items = G1", "table = {}", "table = {'a': @}", "table = dict(reversed(table.items()))",
    "table = collections.OrderedDict(table)", "table = {1: 2, 'a': 3}", "table = collections.defaultdict(int, table)", "table = {**table, 'q': 1}", "table = G2", "thing.value = @", "thing.items = (1, 2)", "thing.new = 1", "thing = C0(4)", "thing.array = x", "del thing.items", "thing.items = items", "text = 'abc'", "text = b'x'", "text = ''", "text = type('S', (str,), {})('ab')",
    "thing.__class__ = type('Other', (Thing,), {'value': 9})", "thing = type('Sub', (Thing,), {})(step)", "thing.array = thing.array[::-1]", "thing.array = np.arange(step)"]


class Changed(Writer):
    """Writes a short program, and what changes."""

    def value(self, text):
        return text.replace("@", self.rng.choice(NUMBERS if self.rng.random() < 0.7 else OTHERS))

    def made(self):
        self.size = self.rng.choice([4, 6, 8])
        text = self.program()
        lines = ["", "", "def change(step):", "    global " + ", ".join(["G0", "G1", "G2", "C0", "C1", "say", "brk", "Pair", "abs", "len", "sorted", "keep", *FUNCTIONS])]
        lines += self.steps(CHANGES, 2) + ["", "", "def vary(step, x, y, n, scale, items, table, thing, text):"]
        lines += self.steps(VARIED, 2) + ["    return x, y, n, scale, items, table, thing, text"]
        return text + "\n".join(lines) + "\n"

    def steps(self, templates, most):
        lines = []
        for step in range(1, STEPS):
            if self.rng.random() < 0.7:
                lines.append(f"    if step == {step}:")
                lines += [f"        {self.value(self.rng.choice(templates))}" for _ in range(self.rng.randint(1, most))]
        return lines or ["    pass"]
