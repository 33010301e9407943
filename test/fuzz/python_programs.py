"""Random programs over the whole language. A program is a module's text with classes, functions, generators and `program`.

Texts are made of the templates below. `$i` stands for an expression of kind i, `#i` for a name of that kind, `%%` for a
fresh number. Each kind has names that are bound from the function's beginning, so that most of what is written runs.
"""

import re

KINDS = {"i": "int", "f": "float", "s": "str", "y": "bytes", "B": "bool", "l": "list of int", "d": "dict of str to int", "S": "set of int",
         "t": "tuple of two ints", "q": "deque of int", "D": "defaultdict of lists", "a": "array of float64", "j": "array of int64", "o": "object"}

NAMES = {"i": ["i0", "i1", "n"], "f": ["f0", "f1"], "s": ["s0", "s1"], "y": ["y0"], "B": ["B0"], "l": ["l0", "l1", "items"], "d": ["d0", "table"], "S": ["S0"],
         "t": ["t0"], "q": ["q0"], "D": ["D0"], "a": ["a0", "a1", "x", "y"], "j": ["j0"], "o": ["o0", "o1"]}

LEAVES = {
    "i": ["0", "1", "2", "-1", "3", "7", "100", "G0", "2**40", "True"], "f": ["0.5", "-1.5", "2.0", "0.0", "1e3", "0.25"],
    "s": ["'a'", "'b'", "''", "'xyz'", "'Hello w'", "'é1'"], "y": ["b'ab'", "b''", "b'\\x00z'"], "B": ["True", "False"],
    "l": ["[1, 2, 3]", "[]", "[5]", "list(range(4))", "G1"], "d": ["{'a': 1, 'b': 2}", "{}", "dict(b=3, c=0)", "G2"], "S": ["{1, 2}", "set()", "frozenset((2, 5))"],
    "t": ["(1, 2)", "(0, -3)", "Pair(4, 5)"], "q": ["collections.deque([1, 2], 4)", "collections.deque()"], "D": ["collections.defaultdict(list, a=[1])"],
    "a": ["np.arange(4.0)", "np.zeros(4)", "np.ones(3)", "np.array([1.5, -2.0, 0.0, 4.0])"], "j": ["np.arange(4)", "np.array([3, -1, 2, 0])"],
    "o": ["C0(2)", "C1(1)", "C1($i)", "C0($i)"]}

EXPRESSIONS = {
    "i": [
        "$i + $i", "$i - $i", "$i * $i % 97", "$i // ($i or 1)", "$i % ($i or 3)", "-$i", "~$i", "$i & $i", "$i | $i", "$i ^ $i", "$i << ($i & 3)", "$i >> ($i & 3)", "$i // $i",
        "abs($i)", "int($f * 4)", "len($l)", "len($s)", "sum($l)", "max($l, default=$i)", "min($i, $i)", "$l.count($i)", "$d.get($s, $i)", "$t[0]", "$t[-1]",
        "(lambda p, q=$i: p - q)($i)", "$i if $B else $i", "($i and $i)", "($i or $i)", "ord($s[:1] or 'z')", "(w%% := $i)", "int($B)", "($i).bit_length()", "divmod($i, $i or 5)[1]",
        "pow($i % 5, 2, 7)", "round($f)", "#o.value", "$o.scaled($i)", "$o[$i]", "len($o)", "h0($i, $i)", "h0($i, k=$i)", "h1($i, *$l)", "h1($i, w=$i, **$d)", "next(iter($l), $i)",
        "functools.reduce(lambda p, r: p + r, $l, $i)", "sum(p * r for p, r in zip($l, $l))", "sum(p for p in $l if p > $i)", "len([p for p in $l for r in $t if p != r])",
        "$l[$i]", "$d['a']", "$l.index($i)", "int($s, 16)", "max($d.values())", "#d.setdefault($s, $i)", "#d.pop($s, $i)", "len({p % 3 for p in $l})", "h2(abs($i) % 4)", "brk($i)", "$y[0]", "len($y)",
        "int(a%%.size) if (a%% := $a) is not None else 0", "int($j.sum())", "int($a.max())", "len($a)", "$a.size", "$a.shape[0]", "#l.pop() if #l else $i", "#q.popleft() if #q else 0", "len($q)",
        "operator.mul($i, 3)", "sum(map(lambda p: p + $i, $l))", "any(p > $i for p in $l) + 1", "$s.find($s)", "$s.count('a')", "len($s.split())", "sum(len(p) for p in $D.values())",
        "min($l, key=lambda p: -p, default=0)", "#o.cell", "#o.prop", "$o.missing_%%", "$o(1)", "$o($i, k=$i)", "($i).__add__($i)", "int.__mul__($i, 2)", "getattr($o, 'value')", "getattr($o, $s, $i)",
        "($f).__floor__()", "next((p for p in $l if p % 2), -1)", "[*$l, *$t][0]", "{**$d, 'k': $i}['k']", "($i, $i)[$B]", "[$i for _ in range(2)][1]", "list(accumulate%%)[-1] if (accumulate%% := list(itertools.accumulate($l, initial=1))) else 0",
        "sum(itertools.chain($l, $t))", "list(zip(*[$l, $l], strict=True))[0][0]", "sum(1 for p in enumerate($l, $i) if sum(p) > 2)", "$o.made().value", "(yielded%%.send(None) if (yielded%% := g0($i)) else 0)",
        "sum(g0($i))", "list(g1($l))[0]", "next(g1($l))", "isinstance($o, C1) + isinstance($i, (int, str))", "C1.total", "type($o).kind($i)", "C0.fixed($i)", "id(#l) == id(#l)", "hash($s) == hash($s)", "hash($t) == hash(tuple($t))"],
    "f": [
        "$f + $f", "$f - $i", "$f * 0.5", "$f / ($f or 1.0)", "$f / $i", "$f // ($f or 2.0)", "$f % ($f or 3.0)", "-$f", "abs($f)", "float($i % 1000)", "round($f, 1)", "$f if $B else $f", "max($f, $f)",
        "($i % 50) ** 0.5 if $B else $f", "float($a.sum())", "float($a[0])", "float($a[$i])", "math.floor($f) + 0.5", "math.sqrt(abs($f))", "$i / 4", "($f).real", "math.copysign(2.0, $f)", "float($s)", "(f%% := $f)", "brk($f)",
        "$a.sum()", "$a[1]", "$a.mean()", "np.float64($f)", "$a @ $a", "float('inf') if $B else $f", "sum($a.tolist())", "math.fsum([$f, $f])", "($f).__mul__(2)", "np.sqrt($f)"],
    "s": [
        "($s + $s)[:9]", "$s.upper()", "$s[::-1]", "$s[$i:]", "$s[$i:$i]", "str($i)", "f'{$i}'", "f'{$i:>5d}|{$s!r}'", "f'{$f:.2f}'", "f'{$i:#x}{$i:08b}'", "f'{$s:^{abs($i) % 9}}'", "f'{$f:+e}'", "f'{$i:,}'", "'%d-%s' % ($i, $s)",
        "'%5.1f|%r' % ($f, $s)", "'{}:{!r:>4}'.format($i, $s)", "'{0[0]}{k}'.format($t, k=$i)", "$s.replace('a', $s)[:9]", "' '.join(sorted($d))", "$s.strip()", "$s.title()", "'-'.join(str(p) for p in $l)", "repr($l)", "repr($d)", "str($t)",
        "$s if $B else $s", "chr(97 + abs($i) % 26)", "$s.partition('l')[0]", "$s.center(7, '*')", "str($o)", "repr($o)", "f'{$o}'", "f'{$o:>4}'", "str($f)", "repr($y)", "$y.decode('latin-1')", "$s.zfill(4)", "($s * 2)[:9]", "brk($s)", "(s%% := $s)",
        "type($o).__name__", "$s.swapcase()", "$s.split('b')[0]", "$s.rstrip('abc')", "$s.expandtabs()", "next(iter($d), 'none')", "f'{$l}'", "f'{$B=}'", "$s[$i]", "str($S and sorted($S))", "repr($q)", "f'{$a[:2]}'", "str($a.shape)", "$a.dtype.name", "str($a.tolist())",
        "h0.__name__", "$o.__class__.__qualname__", "ascii($s)", "bin($i % 64)", "format($i, '04d')", "format($f, '.3g')", "$s.join(['p', 'r'])", "$s.translate({97: 'A'})", "$s.encode().hex()"],
    "y": ["($y + $y)[:6]", "$y[1:]", "$s.encode()", "bytes($l)", "$y.upper()", "bytes([abs($i) % 256])", "$y.replace(b'a', b'xx')", "bytes(bytearray($y))", "b'%d' % $i", "$y[::-1]", "($y * 2)[:8]"],
    "B": [
        "$i < $i", "$i == $i", "$i < $i <= $i", "$f > $f", "$s == $s", "$s in $s", "$i in $l", "not $B", "$B and $B", "$B or $B", "$i != $f", "$l == $l", "$t < $t", "$d == $d", "'a' in $d", "$i in $S", "$S <= $S", "bool($l)", "bool($i)", "$s.isdigit()",
        "isinstance($o, C0)", "hasattr($o, $s)", "all($l)", "any($l)", "#l is #l", "$i is None", "$o == $o", "$o < $o", "$i in $o", "bool($o)", "callable($o)", "$s.startswith($s)", "$s < $s", "bool(($a > $f).any())", "bool(np.all($a == $a))", "brk($B)",
        "issubclass(type($o), C0)", "$y == $y", "$i == $s", "($i, $s) == ($i, $s)", "$o is not $o", "$q == $q", "$i % 2 == 0 == $i", "$l is not None", "$f == $f != $i", "$a is #a", "len($d) > $i", "np.isscalar($f)", "$s.endswith(('a', 'b'))"],
    "l": [
        "($l + $l)[:7]", "$l[$i:]", "$l[::-1]", "$l[$i:$i:2]", "sorted($l)", "sorted($l, key=lambda p: (p % 3, -p))", "sorted($l, reverse=$B)", "list($t)", "[p * $i % 50 for p in $l]", "[p for p in $l if p > $i]", "list(map(abs, $l))", "list(filter(None, $l))",
        "[*$l, $i][:8]", "[$i, $i]", "list($d.values())", "sorted($S)", "[len(p) for p in $s.split()]", "list(range($i % 5))", "[p + r for p in $l[:3] for r in $t]", "($l * 2)[:6]", "$l.copy()", "$l if $B else $l", "[r for r, p in enumerate($l) if p]", "brk($l)",
        "list(g0($i))[:7]", "list(g1($l))[:7]", "[(lambda: p)() for p in $l]", "list(reversed($l))", "$a.tolist()", "$j.tolist()", "list($y)", "list($q)", "[p for p in $o]", "[*$o][:5]", "list(itertools.islice($l, 2))", "[p for t in [$t, $t] for p in t]", "(l%% := $l)",
        "list($D['a'])", "[p if p > $i else -p for p in $l]", "[x%% := $i, x%% + 1]", "list(itertools.chain($l, $l))[:6]", "list(dict.fromkeys($l))", "list(itertools.takewhile(lambda p: p < $i, $l))", "list(g2($l))[:6]", "[f() for f in [lambda: $i, lambda: $i]]"],
    "d": [
        "{**$d, $s: $i}", "{p: len(p) for p in $s.split()}", "dict(zip($s, $l))", "{str(p): p for p in $l}", "dict($d)", "$d | {'q': $i}", "{p: r + $i for p, r in $d.items()}", "dict(sorted($d.items(), key=lambda p: p[1]))", "$d if $B else $d", "dict(a=$i)", "$d.copy()", "brk($d)",
        "{p: r for r, p in enumerate($s)}", "dict.fromkeys($s, $i)", "{p: r for p, r in $d.items() if r > $i}", "(lambda **k: k)(**$d)", "vars($o) and {'v': $i}", "collections.Counter($s) and {'c': $i}"],
    "S": ["$S | {$i}", "$S & $S", "$S - {$i}", "$S ^ $S", "set($l)", "{p % 5 for p in $l}", "{*$l, *$t}", "frozenset($l)", "set(range($i % 4))", "$S.union($l)", "$S if $B else $S", "set($d.values())"],
    "t": ["($i, $i)", "tuple($l[:1] + [$i])[-1:] + ($i,)", "divmod($i, $i or 3)", "$t[::-1]", "Pair($i, $i)", "($t[1], $t[0])", "$t if $B else $t", "Pair(*$t)._replace(left=$i)", "(*$t[:1], $i)", "(min($i, $i), $i)", "$a.shape * 2", "brk($t)", "h3($i, $i)"],
    "q": ["collections.deque($l)", "collections.deque($l, maxlen=3)", "$q.copy()", "collections.deque([$i, $i])"],
    "D": ["collections.defaultdict(list, {$s: [$i]})", "collections.defaultdict(list)", "$D.copy()"],
    "a": [
        "$a + 1", "$a * 0.5", "$a - $f", "$a + #a", "#a * #a", "-$a", "abs($a)", "np.maximum($a, $f)", "np.where($a > $f, $a, 0.0)", "$a[::-1]", "#a.copy()", "np.sqrt(abs($a))", "$a.cumsum()", "$a * $i", "np.minimum($a, #a)", "brk($a)", "$a.astype('f8')", "np.floor($a)", "$a if $B else $a",
        "np.roll($a, $i)", "np.clip($a, -2, $f)", "$a / 2", "$a // 2", "$a % 3", "np.stack([$a, $a])[0]", "np.concatenate([$a, $a])[:4]", "np.array($l + [1.5])", "$a.reshape(-1)", "h4($a)", "(lambda p: p * 2)($a)", "$a ** 2", "np.sign($a)", "[$a, $a][$B]", "$j * 0.5", "$a / $i", "$a / $a", "np.add($a, $f)",
        "(a%% := $a + 1)", "np.full(4, $f)", "sum([$a, $a])", "#o.array", "np.where($B, $a, $a)", "np.outer($a, $a)[0]", "np.sort($a)", "np.asarray($l, float)", "$a[$j % len($a)]", "$a[$a > $f]", "np.tile($a, 2)[:4]", "np.square($a)", "np.add.reduce([$a, $a])"],
    "j": ["$j + 1", "$j * $i", "-$j", "np.array($l + [1])", "$j % 3", "$j // 2", "$a.astype(np.int64)", "np.arange($i % 6)", "np.where($j > $i, $j, 0)", "$j[::-1]", "np.argsort($a)", "$j & 3", "np.cumsum($j)", "abs($j)", "(a%% := $j)", "$j ** 2", "$j << 1"],
    "o": ["C0($i)", "C1($i)", "$o + $i", "$i + $o", "$o + $o", "$o.made()", "-$o", "$o if $B else $o", "C1(value=$i)", "$o @ $o", "$o * 2", "abs($o)", "brk($o)", "(o%% := $o)", "C1.build($i)", "type($o)($i)", "($o and $o)"],
}

STATEMENTS = [
    (4, "#i += $i"), (2, "#i -= $i"), (1, "#i //= $i or 2"), (1, "#i *= 2; #i %= 1000"), (1, "#f += $f"), (1, "#f /= $f or 2.0"), (1, "#s += $s[:2]; #s = #s[-9:]"), (1.5, "#l += [$i]"), (1, "#l[0] = $i"), (1, "#l[$i] += 1"), (1, "#l[1:2] = $l[:3]"),
    (2, "len(#l) < 9 and #l.append($i)"), (0.7, "#l.insert($i, $i)"), (0.7, "#l.remove($i)"), (0.7, "#l.sort(key=lambda p: -p)"), (0.7, "#l.reverse()"), (0.7, "#l.extend($t)"), (0.5, "#l.clear()"), (0.7, "del #l[$i]"), (0.5, "del #l[:1]"), (0.6, "del #d['a']"),
    (1.5, "#d[$s] = $i"), (1, "#d['a'] += $i"), (0.7, "#d.update(a=$i, **$d)"), (0.5, "#d |= $d"), (0.5, "#d.popitem()"), (0.5, "#d.clear()"), (0.7, "#S.add($i)"), (0.5, "#S |= $S"), (0.5, "#S.discard($i)"), (0.5, "#S.remove($i)"), (0.6, "#q.append($i)"), (0.5, "#q.appendleft($i)"),
    (0.4, "#q.rotate($i)"), (0.4, "#q.extend($l)"), (1, "#D[$s].append($i)"), (1.2, "#a += $f"), (1, "#a *= 2"), (1, "#a[0] = $f"), (0.8, "#a[$i] = $f"), (0.8, "#a[1:] = $a[1:]"), (0.7, "#a[:2] += 1"), (0.5, "#a[$a > 1] = $f"), (0.5, "#a.sort()"), (0.6, "#a -= #a"), (0.5, "#j[0] += $i % 9"), (0.5, "#j += 1"),
    (0.5, "np.add(#a, 1, out=#a)"), (0.5, "#a.fill($f)"), (1, "thing.value = $i"), (0.8, "thing.items.append($i)"), (0.8, "thing.array = $a"), (0.6, "thing.array += 1"), (0.5, "thing.extra%% = $l"), (0.4, "del thing.items"), (0.4, "setattr(thing, 'value', $i)"), (1.2, "#o.value += $i"),
    (0.8, "#o.value = $i"), (0.7, "#o[$i] = $i"), (0.6, "#o.cell = $i"), (0.6, "#o.prop = $i"), (0.5, "del #o[$i]"), (0.5, "del #o.prop"), (0.6, "#o += $i"), (0.5, "#o.new = $l"), (0.5, "C1.total += 1"), (0.4, "C0.total = $i"), (2.5, "say($i, $s)"), (1.5, "say($s)"), (1, "say(repr($l), $d)"), (1.2, "print($i, $s, sep='/')"),
    (0.5, "print(f'{$f:.1f}', end=';')"), (1, "brk()"), (0.5, "frameloom.graph_break()"), (0.7, "G1.append($i)"), (0.6, "G2[$s] = $i"), (0.7, "assert $B, $s"), (1, "#i, #i = $i, $i"), (1, "#i, #i = $t"), (1, "#i, *#l = [$i, *$l]"), (0.7, "*#l, #i = $l"), (0.6, "#i, (#f, *#l) = $i, [$f, *$t]"), (0.6, "#i = #i = $i"),
    (0.6, "#l[0], #i = #i, 5"), (0.5, "#i, #l[0:1] = $i, [$i, $i]"), (0.4, "[#s, #i] = [$s, $i]"), (0.3, "#i, #i = $l"), (0.4, "del #i; #i = $i"), (0.2, "del #i"), (0.2, "del #l"), (0.3, "#i: int = $i"), (0.8, "raise Oops($s)"), (0.5, "raise ValueError($i)"), (0.4, "raise KeyError($s)"), (0.3, "raise Oops($i) from KeyError($s)"),
    (0.2, "raise Oops"), (0.2, "raise $i"), (0.2, "raise ValueError from None"), (0.3, "1 // ($i * 0)"), (0.3, "$l[99]"), (0.3, "$d['nope']"), (0.3, "$i + $s"), (0.3, "None.nothing"), (0.3, "unknown_%%"), (0.3, "[][0]"), (0.3, "np.ones(3) + np.ones(4)"), (0.3, "int('x')"), (0.2, "$l < $i"),
    (0.3, "import math as m%%; #f = m%%.floor($f)"), (0.3, "from operator import add as add%%; #i = add%%($i, 1)"), (0.4, "exec%% = lambda p=$i: p + #i; #i = exec%%()"), (0.3, "next(iter([]))"), (0.3, "h0()"), (0.3, "h1($i, unknown=$i)"), (0.3, "h2(*$l)"), (0.3, "f1%% = f'{$i!r}' f'{$s}'; say(f1%%)"), (0.5, "bump($i)"), (0.5, "say(bump($i))"),
    (0.4, "#i = sum(p for p in g0(3) for _ in range(2))"), (0.4, "say(*map(str, $l), sep%% := '')"), (0.3, "np.divide($a, 0)"), (0.4, "say(repr(handled()))"), (0.3, "say(np.float64($f) / 0)"), (0.3, "say($a.sum() > 2)"), (0.3, "#l[:] = [p + 1 for p in #l]"), (0.4, "for p in $l: #i += p"), (0.3, "#a = #a * 1; #a[0] = $i % 7"),
]
WEIGHTS, LINES = zip(*STATEMENTS)
NEVER = re.compile("(?!)")

HEADERS = {
    "for": ["for v%% in range(3):", "for v%% in $l[:5]:", "for v%% in #l:", "for v%% in list($l):", "for v%%, r%% in enumerate($l[:3]):", "for v%%, r%% in $d.items():", "for v%%, r%% in zip($l, $l):", "for v%% in $s[:3]:", "for v%% in g0(3):", "for v%% in g1($l):", "for v%% in sorted($S):", "for v%% in $a[:3]:", "for v%% in reversed($l[:5]):",
            "for v%% in range($i % 4):", "for v%% in range(4, 0, -1):", "for v%% in $t:", "for v%% in brk(range(2)):", "for v%% in $o:", "for v%% in (p + $i for p in $l[:3]):", "for v%% in itertools.islice(iter(lambda: bump(0) % 4, 3), 5):", "for thing.value in range(2):", "for #i in range(3):", "for l0[0] in range(2):", "for v%%, *r%% in [$t, $l + [1]]:"],
    "with": ["with Guard('p'):", "with Guard('p', ValueError, KeyError) as m%%:", "with Guard('p', Exception):", "with managed($i) as m%%:", "with managed('p', (Oops, IndexError)):", "with Guard('p') as m%%, managed('r', Exception):", "with np.errstate(all='ignore'):", "with np.errstate(divide='raise', invalid='warn'):", "with Failing('in'):", "with Failing('out'):",
             "with contextlib.suppress(Oops, TypeError):", "with $o as m%%:", "with contextlib.nullcontext($i) as m%%:", "with contextlib.ExitStack() as m%%:", "with brk(Guard('p')) as (thing.kept):"],
    "except": ["except Oops:", "except Oops as e%%:", "except (ValueError, KeyError) as e%%:", "except Exception as e%%:", "except ZeroDivisionError:", "except (TypeError, AttributeError):", "except LookupError as e%%:", "except brk(Oops):", "except ArithmeticError:", "except UnboundLocalError:", "except (StopIteration, AssertionError):"],
    "if": ["if $B:", "if $i % 2:", "if $l:", "if n > 1:", "if $f > 0.5:", "if $a.sum() > $f:", "if $o:", "if (p%% := $i) > 2:", "if brk($B):", "if len(LOG) % 3:", "if not $s:"],
    "while": ["$i > 0", "$B", "$l", "len($s) < 9", "True", "brk(True)", "$a.sum() < 9"],
}
PATTERNS = {
    "$i": ["0", "1 | 2", "p%% if p%% > $i", "-1", "int(p%%)", "bool()", "_ if $B"], "$t": ["(0, p%%)", "[p%%, r%%] if p%% < r%%", "(p%%, _) as r%%", "Pair(left=0)", "Pair(p%%, r%%)"], "$l": ["[]", "[p%%]", "[p%%, *r%%]", "[*p%%, 2]", "[_, r%%, *_]"],
    "$d": ["{'a': 1}", "{'a': p%%, **r%%}", "{'z': _}", "{}"], "$s": ["'a'", "'' | 'b'", "str() as p%%", "'xyz'"], "Point($i, $i)": ["Point(0, y=p%%)", "Point(p%%, r%%) if p%% == r%%", "Point(x=1 | 2)", "Point(p%%)"], "$o": ["C1(value=p%%)", "C0(value=1)", "C0()"],
    "($i, $s)": ["(1, 'a')", "(p%%, 'b' | 'a')", "(int(), str(r%%))"], "brk($i)": ["0", "1", "p%%"]}

SIGNATURES = {
    "h0": ["(p, q=2, /, *, k=3)", "(p, q=0, *rest, k=1)", "(p, q=len(G1), **more)", "(p, /, q=4, k=0)"], "h1": ["(p, *rest, w=1, **more)", "(p, q=0, *rest, **more)", "(p, *rest, **more)", "(p, q=1, r=2, w=5, a=0, b=0, c=0, **more)"],
    "h2": ["(p)", "(p, q=0)", "(p=1)"], "h3": ["(p, q)", "(p, q=3, *, r=0)", "(*p)"], "h4": ["(p)", "(p, *, scale=2.0)", "(p, q=None)"]}
RETURNS = {"h0": "p + $i", "h1": "p - $i", "h2": "$i", "h3": "($i, $i)", "h4": "p * $f"}
MEMBERS = {
    "__add__": ["return type(self)(self.value + (other.value if isinstance(other, C0) else other))", "return C0(self.value + getattr(other, 'value', 1))", "return NotImplemented"],
    "__radd__": ["return C1(other + self.value)", "return type(self)(other)"], "__mul__": ["return C0(self.value * 2 % 99)"], "__matmul__": ["return C1(self.value - 1)"],
    "__iadd__": ["self.value += 1; return self", "say('iadd'); return type(self)(self.value + 1)", "return NotImplemented"],
    "__eq__": ["return isinstance(other, C0) and self.value == other.value", "say('eq'); return other is self", "return NotImplemented"], "__lt__": ["return self.value < getattr(other, 'value', 0)", "return NotImplemented"],
    "__getitem__": ["return self.value + other", "return [self.value, 1, 2][other]", "say('get', other); return other * 2"], "__setitem__": ["self.value = other", "say('set', other, more)", "raise KeyError(other)"], "__delitem__": ["say('del', other)", "self.value = 0"],
    "__contains__": ["return other == self.value", "say('in'); return other > 1"], "__call__": ["return self.value + other", "say('called', k); return k"], "__exit__": ["say('bye', kind and kind.__name__); return bool(self.value % 2)", "return False"],
    "__getattr__": ["if name.startswith('missing'): return len(name)\n        raise AttributeError(name)", "say('getattr', name)\n        raise AttributeError(f'no {name}')"],
    "__bool__": ["return self.value % 2 == 0", "say('bool'); return True"], "__len__": ["return abs(self.value) % 5", "return 3"], "__iter__": ["return iter([self.value, 1])", "yield self.value; yield 2", "say('iter'); return iter((1,))"],
    "__repr__": ["return f'{type(self).__name__}({self.value})'", "return 'R' + str(self.value)"], "__str__": ["return 'S%d' % self.value"], "__format__": ["return f'<{spec}{self.value}>'", "return str(self.value) + spec"], "__neg__": ["return C0(-self.value)"], "__abs__": ["return C1(abs(self.value))"],
    "__enter__": ["say('hello'); return self", "return self.value"], "scaled": ["return self.value * other", "self.value += 1\n        return self.value - other", "return other + super().__len__() if hasattr(super(), '__len__') else other"], "made": ["return C0(self.value + 1)", "return self", "return type(self)(3)"],
    "__hash__": ["return 5"]}
PARAMETERS = {"__setitem__": "self, other, more", "__call__": "self, other, *, k=7", "__exit__": "self, kind, error, traceback", "__getattr__": "self, name", "__format__": "self, spec"}
UNARY = {"__bool__", "__len__", "__iter__", "__repr__", "__str__", "__neg__", "__abs__", "__enter__", "made", "__hash__"}


class Writer:
    """Writes one program."""

    def __init__(self, rng):
        self.rng, self.lines, self.count = rng, [], 0
        self.names, self.left, self.size = NAMES, 0, 14
        self.later = NEVER  # what may not be called here: recursion would have no end
        self.caught = rng.choice([0, 0, 0.1, 0.6])  # how many statements what they raise is caught at
        self.confused = False  # names and expressions may be of any kind

    # ---- texts of templates ----

    def expand(self, template, depth):
        self.count += 1
        text = template.replace("%%", str(self.count))
        text = re.sub(r"#([a-zA-Z])\b(?!')", lambda m: self.rng.choice(self.names[m[1]]) if m[1] in self.names else m[0], text)
        return re.sub(r"\$([a-zA-Z])\b", lambda m: self.expression(m[1], depth), text)

    def expression(self, kind, depth):
        rng = self.rng
        if self.confused and rng.random() < 0.15:
            kind = rng.choice(list(self.names))
        if depth <= 0 or rng.random() < 0.3:
            return rng.choice(self.names[kind]) if rng.random() < 0.7 else self.expand(rng.choice(LEAVES[kind]), depth - 1)
        text = self.expand(self.one_of(EXPRESSIONS[kind]), depth - 1)
        return text if re.fullmatch(r"[\w.]+|[\w.]*\([^()]*\)", text) else f"({text})"

    def one_of(self, templates):
        while re.search(self.later, template := self.rng.choice(templates)):
            pass
        return template

    def line(self, template, depth=2):
        """Walrus names may not be bound in what a comprehension goes through, nor quotes repeated in what is formatted."""
        for _ in range(9):
            text = self.expand(template, depth)
            if not re.search(r":=|f'|^[^'(]*[)'\\d][^'(]* = ", text):
                return text
            try:
                compile(wrapped(text), "", "exec")
            except (SyntaxError, ValueError):
                continue
            return text
        return "pass"

    def put(self, indent, text):
        self.lines += ["    " * indent + part for part in text.split("\n")]

    # ---- statements ----

    def block(self, indent, size, **where):
        self.left -= 1
        for _ in range(self.rng.randrange(1, size + 1)):
            self.statement(indent, size, **where)

    def statement(self, indent, size, loop=False, handler=False, returns="$i", yields=False):
        rng = self.rng
        where = {"loop": loop, "handler": handler, "returns": returns, "yields": yields}
        if size < 2 or indent > 6 or self.left <= 0 or rng.random() < 0.55:
            return self.simple(indent, **where)
        make = rng.choices([self.conditional, self.protected, self.managed, self.counted, self.awhile, self.matched, self.closure, self.stepped],
                           [4, 5, 3, 5, 2, 2, 2, 1.2])[0]
        return make(indent, size - 1, where)

    def simple(self, indent, loop, handler, returns, yields):
        rng = self.rng
        kinds = [(7, "assign"), (8, "table"), (0.5, "leave")]
        kinds += [(0.8, "jump")] * loop + [(0.8, "again")] * handler + [(2.5, "yield")] * yields
        kind = rng.choices([k for _, k in kinds], [w for w, _ in kinds])[0]
        caught = kind in ("assign", "table") and rng.random() < self.caught
        self.confused = caught and rng.random() < 0.6
        if kind == "assign":
            name = rng.choice(list(self.names))
            text = self.line(f"{rng.choice(self.names[name])} = ${name}")
        elif kind == "table":
            while re.search(self.later, template := rng.choices(LINES, WEIGHTS)[0]):
                pass
            text = self.line(template)
        elif kind == "leave":
            text = self.line(f"return {returns}" if returns else "say('end')")
        elif kind == "jump":
            text = rng.choice(["break", "continue", self.line("if $B: break"), self.line("if $B: continue")])
        elif kind == "again":
            text = rng.choice(["raise", "raise Oops('again')", self.line("raise ValueError($i) from None"), "say(type(__import__('sys').exc_info()[1]).__name__)"])
        else:
            text = self.line(self.one_of(["yield $i", "yield $i", "#i = yield $i", "yield from $l", "#i = (yield $i) or 1", "yield from g0(2)"]))
        self.confused = False
        if caught:
            self.count += 1
            text = "try:\n    " + text.replace("\n", "\n    ") + f"\nexcept Exception as e{self.count}:\n    say(type(e{self.count}).__name__)"
        self.put(indent, text)

    def conditional(self, indent, size, where):
        self.put(indent, self.line(self.rng.choice(HEADERS["if"])))
        self.block(indent + 1, size, **where)
        if self.rng.random() < 0.3:
            self.put(indent, self.line("el" + self.rng.choice(HEADERS["if"])))
            self.block(indent + 1, size, **where)
        if self.rng.random() < 0.5:
            self.put(indent, "else:")
            self.block(indent + 1, size, **where)

    def protected(self, indent, size, where):
        rng, ends = self.rng, self.rng.random() < 0.4
        self.put(indent, "try:")
        self.block(indent + 1, size, **where)
        catches = not ends or rng.random() < 0.5
        if catches:
            for _ in range(rng.choice([1, 1, 2])):
                self.put(indent, self.line(rng.choice(HEADERS["except"]), 0))
                self.block(indent + 1, size, **where | {"handler": True})
            if rng.random() < 0.25:
                self.put(indent, "else:")
                self.block(indent + 1, size, **where)
        if ends:
            self.put(indent, "finally:")
            self.block(indent + 1, size, **where if rng.random() < 0.3 else where | {"loop": False, "returns": None})

    def managed(self, indent, size, where):
        self.put(indent, self.line(self.rng.choice(HEADERS["with"]), 1))
        self.block(indent + 1, size, **where)

    def otherwise(self, indent, size, where):
        if self.rng.random() < 0.3:
            self.put(indent, "else:")
            self.block(indent + 1, size, **where | {"loop": False})

    def counted(self, indent, size, where):
        self.put(indent, self.line(self.one_of(HEADERS["for"]), 1))
        if re.search(r" in \w+:$", self.lines[-1]):  # which may grow meanwhile
            self.put(indent + 1, f"if len({self.lines[-1].split()[-1][:-1]}) > 9: break")
        if self.rng.random() < 0.6:
            self.put(indent + 1, self.line("say($i)", 0))
        self.block(indent + 1, size, **where | {"loop": True})
        self.otherwise(indent, size, where)

    def awhile(self, indent, size, where):
        self.count += 1
        name = f"c{self.count}"
        self.put(indent, f"{name} = 0")
        self.put(indent, self.line(f"while {name} < 3 and {self.rng.choice(HEADERS['while'])}:", 1))
        self.put(indent + 1, f"{name} += 1")
        self.block(indent + 1, size, **where | {"loop": True})
        self.otherwise(indent, size, where)

    def matched(self, indent, size, where):
        subject = self.rng.choice(list(PATTERNS))
        self.put(indent, self.line(f"match {subject}:", 1))
        patterns = self.rng.sample(PATTERNS[subject], min(len(PATTERNS[subject]), self.rng.randrange(1, 4)))
        for pattern in [p for p in patterns if not re.fullmatch(r"p%%", p)] + ["_"]:
            self.put(indent + 1, self.case(pattern))
            self.block(indent + 2, size, **where)

    def case(self, pattern):
        self.count += 1
        return f"case {self.expand(pattern, 1)}:"

    def closure(self, indent, size, where):
        """A function in a function: it shares names with the outer one, and may rebind them."""
        self.count += 1
        name, rng = f"k{self.count}", self.rng
        bound = rng.sample(["i0", "f0", "l0", "s0", "a0"], 2)
        if indent > 1 or rng.random() < 0.3:
            self.put(indent, rng.choice(["@logged", "@plus(2)", "@functools.lru_cache(None)" if rng.random() < 0.2 else "@logged"]))
        self.put(indent, f"def {name}({rng.choice(['', 'i1=1', 'f1=0.5, *rest', '*, s1=' + repr('q')])}):")
        if rng.random() < 0.6:
            self.put(indent + 1, f"nonlocal {', '.join(bound)}")
        self.block(indent + 1, size, loop=False, handler=False, returns="$i", yields=False)
        self.put(indent + 1, self.line("return $i"))
        self.put(indent, self.line(rng.choice([f"#i = {name}()", f"say({name}(), {name}())", f"#l = [{name}() for _ in range(2)]", f"thing.kept = {name}"])))

    def stepped(self, indent, size, where):
        """A generator by hand."""
        self.count += 1
        name, rng = f"z{self.count}", self.rng
        if self.later is not NEVER:
            return self.simple(indent, **where)
        self.put(indent, self.line(f"{name} = {rng.choice(['g0', 'g2'])}" + ("($i % 5)" if rng.random() < 0.5 else "(3)"), 1) if rng.random() < 0.6 else self.line(f"{name} = g1($l)", 1))
        for _ in range(rng.randrange(1, 4)):
            self.put(indent, self.line(rng.choice([f"say(next({name}, 'end'))", f"say({name}.send($i))", f"say({name}.throw(Oops($s)))", f"{name}.close()", f"#i = next({name}, 0)", f"say(list({name}))", f"say({name}.send(None))",
                                                   f"say({name}.throw(ValueError))", f"for v in {name}: break"]), 1))

    # ---- parts of a program ----

    def names_first(self, indent, body):
        """Every name that the lines of a body have is bound, many to what came as an argument."""
        first = {"i": ["n", "1", "G0"], "f": ["scale", "0.5"], "s": ["text", "'xy'"], "y": ["b'abc'"], "B": ["n > 1", "True"], "l": ["items", "[3, 1, 2]"], "d": ["table", "{'a': 1}"], "S": ["{1, 4}"], "t": ["(n, 2)"],
                 "q": ["collections.deque([n, 5])"], "D": ["collections.defaultdict(list)"], "a": ["x * 1", "x", "x + y"], "j": ["np.arange(4)"], "o": ["C0(n)", "C1(2)"]}
        used = set(re.findall(r"\w+", body))
        for kind, names in NAMES.items():
            for name in names:
                if name in used and name not in ("n", "items", "table", "x", "y"):
                    self.put(indent, f"{name} = {self.rng.choice(first[kind])}")

    def function(self, name):
        rng = self.rng
        if rng.random() < 0.15:
            self.put(0, rng.choice(["@logged", "@plus(1)", "@functools.wraps(say)"]) if name != "h3" else "@logged")
        self.put(0, f"def {name}{rng.choice(SIGNATURES[name])}:")
        if rng.random() < 0.3 and name == "h2":
            self.put(1, "if p > 0: return h2(p - 1) + 1")
        if rng.random() < 0.5:
            self.left, start = 4, len(self.lines)
            self.block(1, 2, returns=RETURNS[name].replace("p", "i0") if name != "h3" else "($i, $i)")
            self.names_helper(1, start)
        self.put(1, "return " + self.leaf(RETURNS[name]))

    def leaf(self, template):
        """Of constants alone."""
        return re.sub(r"\$([a-z])", lambda m: self.rng.choice({"i": ["1", "2", "G0", "len(G1)"], "f": ["0.5", "2.0"]}[m[1]]), template)

    def names_helper(self, indent, start):
        """In a function that is given nothing of that; its body is the lines from `start` on, which move behind them."""
        body, self.lines = self.lines[start:], self.lines[:start]
        self.names_first(indent, "\n".join(body))
        made, self.lines = self.lines[start:], self.lines[:start]
        given = {"n": "G0", "scale": "0.5", "text": "'ab'", "items": "[1, 2]", "table": "{'a': 1}", "x": "np.arange(3.0)", "y": "np.ones(3)", "thing": "Thing(1)"}
        used = set(re.findall(r"\w+", "\n".join(made + body)))
        for name, value in given.items():
            if name in used:
                self.put(indent, f"{name} = {value}")
        self.lines += made + body

    def generator(self, name, parameter):
        self.put(0, f"def {name}({parameter}):")
        start = len(self.lines)
        if name == "g0":
            self.put(1, f"for i1 in range({parameter} % 4):")
        elif name == "g1":
            self.put(1, f"for i1 in {parameter}[:4]:")
        else:
            self.put(1, "try:")
        self.put(2, self.line(self.rng.choice(["yield $i", "i0 = yield i1", "yield i1 + $i"]), 1))
        self.left = 5
        self.block(2, 2, loop=name != "g2", returns="$i", yields=True)
        if name == "g2":
            self.put(1, self.rng.choice(["finally:\n    say('finally of g2')", "except GeneratorExit:\n    say('closed')\n    raise", "except Exception as e:\n    say(e)\n    yield 9"]).replace("\n", "\n    "))
        self.put(1, self.line("return $i", 1))
        self.names_helper(1, start)

    def classes(self):
        rng = self.rng
        based = rng.random() < 0.25
        self.put(0, "class Base:\n    def __len__(self): return 4\nclass C0(Base):" if based else "class C0:")
        self.put(1, "total = 0")
        self.put(1, rng.choice(["cell = Cell()", "cell = 4"]))
        self.put(1, "array = np.arange(4.0)")
        if rng.random() < 0.15 and not based:
            self.lines.append("    __slots__ = ('__dict__',)")
        self.put(1, rng.choice(["def __init__(self, value=1):\n    self.value = value", "def __init__(self, value=1):\n    self.value = value\n    self.log = [value]\n    C0.total += 1"]))
        self.put(1, rng.choice(["@property\ndef prop(self):\n    return self.value + 1", "@property\ndef prop(self):\n    say('prop')\n    return self._p if hasattr(self, '_p') else 0"]))
        self.put(1, rng.choice(["@prop.setter\ndef prop(self, other):\n    self._p = other", "@prop.setter\ndef prop(self, other):\n    if other < 0: raise ValueError('negative')\n    self.value = other"]))
        self.put(1, "@classmethod\ndef build(cls, value):\n    return cls(value + 1)")
        self.put(1, "@classmethod\ndef kind(cls, other=0):\n    return len(cls.__name__) + other")
        self.put(1, "@staticmethod\ndef fixed(other):\n    return other + 1")
        self.members(list(MEMBERS))
        self.put(0, "class C1(C0):")
        if rng.random() < 0.5:
            self.put(1, "def __init__(self, value=2, *more):\n    super().__init__(value)\n    self.extra = value")
        if rng.random() < 0.3:
            self.put(1, "total = 10")
        self.members(rng.sample(list(MEMBERS), 5))
        self.put(1, rng.choice(["def scaled(self, other):\n    return super().scaled(other) + 1", "def __getattribute__(self, name):\n    return super().__getattribute__(name)", "pass",
                                "@property\ndef prop(self):\n    return super().prop + 1"]))

    def members(self, names):
        for name in names:
            if name not in ("__iter__", "__repr__") and self.rng.random() < 0.12 or name == "__hash__" and self.rng.random() < 0.5:
                continue  # what has __getitem__ alone may have no end, and Python's own text has an address
            parameters = PARAMETERS.get(name, "self" if name in UNARY else "self, other")
            body = self.rng.choice(MEMBERS[name])
            self.lines += [f"    def {name}({parameters}):", "        " + body]

    def program(self):
        self.classes()
        order = [*SIGNATURES, "g0", "g1", "g2"]
        for i, name in enumerate(order):
            self.later = re.compile(rf"\b({'|'.join(order[i:])})\(")
            self.generator(name, "stop" if name == "g0" else "given") if name.startswith("g") else self.function(name)
        self.later = NEVER
        self.put(0, "def bump(by):\n    global G0\n    G0 = G0 + 1 + by % 2\n    return G0")
        self.put(0, "def program(x, y, n, scale, items, table, thing, text):")
        if self.rng.random() < 0.4:
            self.put(1, "global G0")
        self.left, start = self.size, len(self.lines)
        for _ in range(self.rng.randrange(2, 3 + self.size // 2)):
            self.statement(1, 4)
        kept = self.rng.sample([n for kind in NAMES.values() for n in kind], 6)
        self.put(1, f"return {', '.join(kept)}")
        body, self.lines = self.lines[start:], self.lines[:start]
        self.names_first(1, "\n".join(body))
        self.lines += body
        return "\n".join(self.lines) + "\n"


def wrapped(text):
    """A statement where any may stand."""
    body = text + ("\n pass" if text.endswith(":") else "")
    if text.startswith("el"):
        body = "if 1: pass\n" + body
    if text.startswith("except"):
        body = "try: pass\n" + body
    if text.startswith("match "):
        body = text + "\n case _: pass"
    return "def f():\n while 1:\n" + "".join("  " + line + "\n" for line in body.split("\n"))
