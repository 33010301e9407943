"""effects of call 5: exit p UnboundLocalError cannot access local variable 'S0' where it is not associated with a value 5 instead of exit p UnboundLocalError cannot access local variable 'S0' where it is not associated with a value 6 at [2]"""

def program(x, y, n, scale, items, table, thing, text):

    @logged
    def k79(*, s1='q'):
        with Guard('p', ValueError, KeyError) as m86:
            S0 = S0
    i0 = k79()

def change(step):
    pass
