"""effects of call 0: ['getattr __array_ufunc__'] instead of []"""

class C0:

    def __init__(self, value=1):
        pass

    def __getattr__(self, name):
        say('getattr', name)

def program(x, y, n, scale, items, table, thing, text):
    o0 = C0(n)
    try:
        o0 = collections.deque(items, maxlen=3) + o0
    except Exception as e51:
        pass

def change(step):
    pass
