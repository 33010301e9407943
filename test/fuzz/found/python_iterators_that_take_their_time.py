"""Iterators of itertools take an item when they are asked for one: who gave it, and when, is seen."""


def counted(stop):
    for i in range(stop):
        say("gives", i)
        yield i


def noted(p, r):
    say("adds", p, r)
    return p + r


def program(x, y, n, scale, items, table, thing, text):
    source = counted(9)
    for item in itertools.islice(source, 5):
        say("has", item)
        break
    say("left", next(source))
    for item in itertools.islice(source, 1, None, 2):
        say("every second", item)
        if item > 4:
            break
    for item in itertools.accumulate(items, noted, initial=n):
        say("sum", item)
        if item > 2:
            break
    for item in itertools.starmap(noted, [(1, 2), (3, 4)]):
        say("star", item)
        break
    for item in itertools.pairwise(counted(4)):
        say("pair", item)
        if item[0]:
            break
    for item in itertools.zip_longest(counted(3), items, fillvalue=x):
        say("longest", item[0] is x, item[1] is x)
    late = itertools.islice(items, 9)
    items.append(7)
    say(list(late), list(itertools.islice("abc", 2)), list(itertools.accumulate((1, 2, 3))))
