"""A keyword argument with two values is a KeyError where an exception is handled, which suppress(TypeError) lets through."""

class C0:
    total = 0
    cell = Cell()
    array = np.arange(4.0)

    def __init__(self, value=1):
        self.value = value
        self.log = [value]
        C0.total += 1

    @property
    def prop(self):
        say('prop')
        return self._p if hasattr(self, '_p') else 0

    @prop.setter
    def prop(self, other):
        if other < 0:
            raise ValueError('negative')
        self.value = other

    @classmethod
    def build(cls, value):
        return cls(value + 1)

    @classmethod
    def kind(cls, other=0):
        return len(cls.__name__) + other

    @staticmethod
    def fixed(other):
        return other + 1

    def __add__(self, other):
        return C0(self.value + getattr(other, 'value', 1))

    def __radd__(self, other):
        return type(self)(other)

    def __mul__(self, other):
        return C0(self.value * 2 % 99)

    def __matmul__(self, other):
        return C1(self.value - 1)

    def __iadd__(self, other):
        self.value += 1
        return self

    def __eq__(self, other):
        say('eq')
        return other is self

    def __lt__(self, other):
        return self.value < getattr(other, 'value', 0)

    def __getitem__(self, other):
        return [self.value, 1, 2][other]

    def __setitem__(self, other, more):
        self.value = other

    def __delitem__(self, other):
        say('del', other)

    def __call__(self, other, *, k=7):
        say('called', k)
        return k

    def __exit__(self, kind, error, traceback):
        return False

    def __getattr__(self, name):
        if name.startswith('missing'):
            return len(name)
        raise AttributeError(name)

    def __bool__(self):
        say('bool')
        return True

    def __len__(self):
        return 3

    def __iter__(self):
        say('iter')
        return iter((1,))

class C1(C0):

    def __init__(self, value=2, *more):
        super().__init__(value)
        self.extra = value

    def __abs__(self):
        return C1(abs(self.value))

    def __getitem__(self, other):
        say('get', other)
        return other * 2

    def __matmul__(self, other):
        return C1(self.value - 1)

    def __neg__(self):
        return C0(-self.value)

    def __getattribute__(self, name):
        return super().__getattribute__(name)

def program(x, y, n, scale, items, table, thing, text):
    global G0
    i0 = n
    i1 = G0
    s0 = text
    s1 = text
    d0 = table
    D0 = collections.defaultdict(list)
    a0 = x
    j0 = np.arange(4)
    o0 = C1(2)
    o1 = C0(n)

    @logged
    def k67():
        nonlocal s0, i0
        print(np.minimum(a0, y).size, str(C0(0)).strip(), sep='/')
        return 2
    say(k67(), k67())
    o1 = C1(1) * 2
    with contextlib.suppress(Oops, TypeError):
        o0 = i0 + C1(-1)
        try:
            if len(LOG) % 3:
                i1, n = (min(d0['a'], n), i0)
            elif (np.sqrt(abs(np.zeros(4))) * ~100).sum() > float((a0 + 1)[~i1]):
                brk()
            else:
                i1 = i1
        except Exception as e101:
            d0.update(a=o0(1), **d0)
        a0 = np.minimum(-x, a0)
    j0 = -j0
    return (s1, d0)

def vary(step, x, y, n, scale, items, table, thing, text):
    if step == 1:
        n = np.arange(3.0)
    if step == 2:
        x = x.tolist()
    if step == 3:
        y = np.float64(2)
        text = b'x'
    if step == 4:
        scale = 0
    if step == 5:
        del thing.items
        table = {'a': float('nan')}
    if step == 6:
        x = y
        table = {}
    if step == 7:
        n = n * 1.0
    if step == 8:
        del thing.items
    return (x, y, n, scale, items, table, thing, text)
