"""effects of call 0: ['closed'] instead of []"""

def g2(given):
    i1 = 1
    try:
        i0 = (yield i1)
    except GeneratorExit:
        say('closed')

def program(x, y, n, scale, items, table, thing, text):
    try:
        q0 = l1
    except ZeroDivisionError:
        pass
    finally:
        z70 = g2(1)
        next(z70, 'end')
