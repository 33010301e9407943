"""effects of call 8: ['getattr __array_struct__', 'getattr __array_interface__', 'getattr __array__', 'getattr __array_struct__', 'getattr __array_interface__', 'getattr __array__'] instead of ['getattr __array_struct__', 'getattr __array_interface__', 'getattr __array__']"""

class C0:

    def __init__(self, value=1):
        self.value = value

    def __getattr__(self, name):
        say('getattr', name)
        raise AttributeError(f'no {name}')

    def __iter__(self):
        yield self.value

class C1(C0):

    def __mul__(self, other):
        return C0(self.value * 2 % 99)

    def __getattribute__(self, name):
        return super().__getattribute__(name)

def program(x, y, n, scale, items, table, thing, text):
    i0 = G0
    c63 = 0
    while c63 < 3 and np.asarray(G1, float).sum() < 9:
        c63 += 1
        B0 = bool(0)

def change(step):
    global G0, G1, G2, C0, C1, say, brk, Pair, abs, len, sorted, keep, h0, h1, h2, h3, h4, g0, g1
    if step == 1:
        C1.__call__ = lambda self, other, k=0: other
    if step == 2:
        np.seterr(all='warn')
        Thing.extra = step
    if step == 4:
        np.seterr(divide='raise')
        h1 = lambda *a, **k: step
    if step == 6:
        G0 = float('nan')
    if step == 7:
        C0.prop = property(lambda self: step)
        np.maximum = np.minimum
    if step == 8:
        G1[0] = C0(3)
