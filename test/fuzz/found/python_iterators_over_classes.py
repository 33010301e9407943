"""Behind a break iterators are made again without asking classes for iterators of their own once more."""

BACKEND = 'interpret'


class Told(list):
    def __iter__(self):
        say("iter of a list")
        return list.__iter__(self)


class Steps:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        say("iter")
        return self

    def __next__(self):
        if not self.items:
            raise StopIteration
        return self.items.pop()


def program(x, y, n, scale, items, table, thing, text):
    numbered, two = enumerate(Steps([n, 1])), zip(Steps([3]), Told([4]))
    over = iter(Told(items))
    frameloom.graph_break()
    return list(numbered), list(two), list(over), len({brk(p) for p in Told(items)}), [brk(p) for p in Told(items)]
