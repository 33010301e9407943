"""Sums in backward graphs that need no memory of their own."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def _is_zeros(node):
    return isinstance(node, torch.fx.Node) and node.target is aten.full.default and node.args[1] == 0


def _is_scatter_sum(node):
    """Rows added to zeros: what the gradient of an embedding is."""
    return (isinstance(node, torch.fx.Node) and node.target is aten.index_put.default and len(node.args) == 4
            and node.args[3] is True and _is_zeros(node.args[0]) and len(node.users) == 1)


def _can_be_added_to(node, like):
    if not isinstance(node, torch.fx.Node) or node.op != "call_function" or len(node.users) != 1:
        return False
    value, other = node.meta.get("val"), like.meta.get("val")
    return (isinstance(value, torch.Tensor) and value.dtype in (torch.float32, torch.float64)
            and value.dtype == other.dtype and value.shape == other.shape)


def add_rows_in_place(module):
    """`a + zeros.index_put(rows, values, accumulate)` becomes `a.index_put(rows, values, accumulate)`.

    A weight that is read in several places (an embedding that is also the last layer) has a gradient that is
    such a sum: so it is written once and no second one of its size is made. Only the order of additions differs,
    which is open in a sum of gradients.
    """
    changed = False
    for node in list(module.graph.nodes):
        if node.target is not aten.add.Tensor or node.kwargs or len(node.args) != 2:
            continue
        base, rows = node.args
        if not _is_scatter_sum(rows):
            base, rows = rows, base
        if base is rows or not _is_scatter_sum(rows) or not _can_be_added_to(base, rows):
            continue
        with module.graph.inserting_before(node):
            put = module.graph.call_function(aten.index_put.default, (base, *rows.args[1:]))
        put.meta = dict(node.meta)
        node.replace_all_uses_with(put)
        module.graph.erase_node(node)
        module.graph.erase_node(rows)
        changed = True
    if changed:
        module.recompile()


# ---- sums of products ----

FEWEST_PRODUCTS = 4


def _turned(node):
    """What a matrix is the transpose of, or None."""
    return node.args[0] if node.target is aten.permute.default and list(node.args[1]) == [1, 0] else None


def _product_under(node):
    """The product that a term of a sum is, behind transposes that cancel; None where others read it, too."""
    turns = 0
    while len(node.users) == 1 and _turned(node) is not None:
        node, turns = _turned(node), turns + 1
    return node if len(node.users) == 1 and node.target is aten.mm.default and turns % 2 == 0 else None


def _products_of(node, seen):
    """The products that a chain of additions adds up, the last one first; none when there is something else in it.
    Its additions become `seen`."""
    products = []
    while node.target is aten.add.Tensor and not node.kwargs and len(node.args) == 2:
        seen.add(node)
        if not all(isinstance(arg, torch.fx.Node) for arg in node.args) or (products and len(node.users) != 1):
            return []
        rest, last = node.args
        if _product_under(last) is None:
            rest, last = last, rest
        if _product_under(last) is None:
            return []
        products.append(_product_under(last))
        node = rest
    return [*products, _product_under(node)] if products and _product_under(node) is not None else []


def _is_worth(products):
    """Are the products so flat that adding one up costs more than moving its operands? All sizes known, one dtype."""
    values = [[arg.meta["val"] for arg in product.args] for product in products]
    if len(products) < FEWEST_PRODUCTS or not all(isinstance(s, int) for pair in values for v in pair for s in v.shape):
        return False
    rows, columns = values[0][0].shape[0], values[0][1].shape[1]
    return values[0][0].dtype in (torch.float32, torch.float64) and all(
        a.dtype == b.dtype == values[0][0].dtype and a.shape[0] == rows and b.shape[1] == columns
        and a.shape[1] * (rows + columns) <= rows * columns for a, b in values)


def _joined_already(parts, places):
    """Where the graph has all of these below one another already, in whatever order, for another reader."""
    for user in parts[0].users if len(set(parts)) == len(parts) else ():
        dim = user.args[1] if len(user.args) > 1 else 0
        if user.target is aten.cat.default and dim == 0 and not user.kwargs and user in places and \
                len(user.args[0]) == len(parts) and set(user.args[0]) == set(parts):
            return user
    return None


def _join(module, root, products, places):
    """One product of all operands side by side in place of `root`, the sum of the products; whether it was done."""
    lefts, rights = ([product.args[side] for product in products] for side in (0, 1))
    flat = [_turned(left) for left in lefts]
    turned = all(part is not None for part in flat)
    joined = _joined_already(flat, places) if turned else None
    if joined is not None:
        order = [flat.index(part) for part in joined.args[0]]
        rights = [rights[at] for at in order]
    depth = sum(right.meta["val"].shape[0] for right in rights)
    rows, columns = root.meta["val"].shape
    if depth * (columns + (0 if joined is not None else rows)) > 2 * rows * columns:
        return False  # operands would be there for long that need more memory than the sums
    at = root if joined is None or places[joined] < places[root] else joined
    if any(places.get(user, -1) < places[at] for user in root.users):
        return False
    graph = module.graph

    def make(target, *args):
        node = graph.call_function(target, args)
        with root.meta["val"].fake_mode:
            node.meta["val"] = target(*torch.fx.map_arg(args, lambda n: n.meta["val"]))
        return node

    with graph.inserting_after(at):
        anchor = graph.call_function(aten.alias.default, (root,))  # new nodes come in front of it
    with graph.inserting_before(anchor):
        if joined is None:
            joined = make(aten.cat.default, flat if turned else lefts, 0 if turned else 1)
        left = make(aten.permute.default, joined, [1, 0]) if turned else joined
        total = make(aten.mm.default, left, make(aten.cat.default, rights, 0))
    total.meta = {**root.meta, **total.meta}
    graph.erase_node(anchor)
    root.replace_all_uses_with(total)
    return True


def join_products(module):
    """`a.T @ b + c.T @ d + ...` becomes one product of `cat(a, c, ...).T` and `cat(b, d, ...)`.

    The gradient of a weight that is used in each step of a recurrence is such a sum: of products so flat that each
    does little but add to an array as large as the weight. Only the order of additions differs, which is open in a
    sum of gradients.
    """
    places = {node: place for place, node in enumerate(module.graph.nodes)}
    seen, changed = set(), False
    for node in reversed(list(module.graph.nodes)):
        products = _products_of(node, seen) if node.target is aten.add.Tensor and node not in seen else []
        if products and _is_worth(products):
            changed |= _join(module, node, products, places)
    if changed:
        module.graph.eliminate_dead_code()
        module.recompile()
