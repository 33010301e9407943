"""effects of call 0: ['100'] instead of ['100', '100', '100']"""

class C0:

    def __init__(self, value=1):
        pass

    def __exit__(self, kind, error, traceback):
        return 1

    def __enter__(self):
        pass

def h1(p, q=0, *rest, **more):
    return 1

def program(x, y, n, scale, items, table, thing, text):
    i0 = n
    f0 = scale
    f1 = scale
    s1 = text
    q0 = 1
    a0 = 1
    a1 = x
    o0 = C0(n)
    with o0 as m65:
        for v70 in items:
            say(100)
            try:
                pass
            except 1:
                pass
            else:
                n += h1(1, w=1, **{**{}, s1: 3})

def vary(step, x, y, n, scale, items, table, thing, text):
    text = type('S', (str,), {})('ab')
    return (x, y, n, scale, items, table, thing, text)
