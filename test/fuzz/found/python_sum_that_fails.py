"""The error of sum() comes before the generator goes on: what it would raise then is not raised."""

BACKEND = 'interpret'


def g0(stop):
    i0 = yield 1
    with Failing('out'):
        yield i0


def program(x, y, n, scale, items, table, thing, text):
    try:
        n += sum(g0(n))
    except KeyError:
        pass
