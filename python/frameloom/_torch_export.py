"""Programs of `torch.export` as compiled callables."""

import torch
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from . import _torch_whole
from . import torch as frontend


def _expr(size):
    return size.node.expr if isinstance(size, torch.SymInt) else None


def _symbol_inputs(module):
    """Put a placeholder for each symbol in front; where each is found: (placeholder, dimension)."""
    nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
    wanted, found = {}, {}
    for node in nodes:
        value = node.meta.get("val")
        for dim, size in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
            expr = _expr(size)
            for symbol in expr.free_symbols if expr is not None else ():
                wanted.setdefault(symbol, size)
            if expr is not None and expr.is_Symbol:
                found.setdefault(expr, (node, dim, size))
    missing = set(wanted) - set(found)
    if missing:
        raise NotImplementedError(f"the size {next(iter(missing))} is not a dimension of an input")
    for symbol, (_, _, size) in found.items():
        with module.graph.inserting_before(nodes[0]):
            module.graph.placeholder(f"size_{symbol}").meta["val"] = size
    module.recompile()
    return [(nodes.index(node), dim, symbol) for symbol, (node, dim, _) in found.items()]


class CompiledExport:
    """A compiled `ExportedProgram`: call it as the model that was exported.

    It holds the program's parameters and buffers (`state_dict`), writes buffers and inputs that the
    model changes, and checks what it is called with. It computes no gradients.
    """

    def __init__(self, program, options):
        options = frontend._options(None, options)
        with _torch_whole.kept_whole():
            program = program.run_decompositions(frontend.decompositions(options.fallback_random))
        module, self._signature = program.graph_module, program.graph_signature
        self._in_spec, self._out_spec = program.call_spec.in_spec, program.call_spec.out_spec
        placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
        self._kinds = [spec.kind for spec in self._signature.input_specs]
        self._metas = [n.meta.get("val") for n in placeholders]
        self._names = [n.name for n in placeholders]
        self.state_dict = dict(program.state_dict)
        self._held = [self._holder(spec, program) for spec in self._signature.input_specs]
        self._sizes = _symbol_inputs(module)
        self._ranges = {s: program.range_constraints.get(s) for *_, s in self._sizes}
        self.graph = self._frozen(module, options) if options.freezing else self._compiled(module, options)
        self.__name__ = "exported"

    @staticmethod
    def _compiled(module, options, constants=None):
        return frontend._compile_graph(module, options, False, 1 << 62, False, constants)

    def _frozen(self, module, options):
        """What the program holds and does not write as constants, as long as it is not changed."""
        from ._torch_frozen import Frozen

        written = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)
        changed = {spec.target for spec in self._signature.output_specs if spec.kind in written}
        specs = self._signature.input_specs
        constants = {
            i + len(self._sizes): held
            for i, (held, spec) in enumerate(zip(self._held, specs))
            if held is not None and spec.target not in changed
        }

        def compile(constants):
            return self._compiled(module, options, constants)

        return Frozen(constants, compile) if constants else compile({})

    def _holder(self, spec, program):
        """What is passed for an input that is not the user's; None: the user's."""
        if spec.kind is InputKind.USER_INPUT:
            return None
        held = self.state_dict.get(spec.target)
        if held is None:
            held = program.constants.get(spec.target)
        if not isinstance(held, torch.Tensor):
            raise NotImplementedError(f"the input {spec.target} of the program is no tensor")
        return held.detach()

    def _check(self, name, value, meta):
        if not isinstance(meta, torch.Tensor):
            if value != meta:
                raise RuntimeError(f"frameloom: the program was exported with {name} = {meta!r}, not {value!r}")
            return
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"frameloom: {name} is a {type(value).__name__}, not a tensor")
        same = value.dtype == meta.dtype and value.device == meta.device and value.dim() == meta.dim()
        sizes = same and all(not isinstance(m, int) or v == m for v, m in zip(value.shape, meta.shape))
        if not sizes:
            raise RuntimeError(
                f"frameloom: {name} is {value.dtype}{list(value.shape)}; the program was exported for {meta.dtype}{list(meta.shape)}"
            )

    def _inputs(self, args, kwargs):
        given, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._in_spec:
            reordered = {k: kwargs[k] for k in self._in_spec.child(1).context if k in kwargs} if kwargs else {}
            given, spec = pytree.tree_flatten((args, reordered if len(reordered) == len(kwargs) else kwargs))
        if spec != self._in_spec:
            raise TypeError(f"frameloom: the program takes {self._in_spec}, not {spec}")
        users = iter(given)
        inputs = [next(users) if held is None else held for held in self._held]
        for value, held, meta, name in zip(inputs, self._held, self._metas, self._names):
            if held is None:
                self._check(name, value, meta)
        return inputs

    def _bind_sizes(self, inputs):
        sizes = []
        for i, dim, symbol in self._sizes:
            size, allowed = inputs[i].shape[dim], self._ranges[symbol]
            if allowed is not None and not allowed.lower <= size <= allowed.upper:
                raise RuntimeError(
                    f"frameloom: dimension {dim} of {self._names[i]} is {size}; the program was exported for "
                    f"{allowed.lower} to {allowed.upper}"
                )
            sizes.append(size)
        values = {symbol: size for (*_, symbol), size in zip(self._sizes, sizes)}
        for value, meta, name in zip(inputs, self._metas, self._names):
            for size, wanted in zip(value.shape, meta.shape) if values and isinstance(meta, torch.Tensor) else ():
                expr = _expr(wanted)
                if expr is not None and int(expr.subs(values)) != size:
                    raise RuntimeError(f"frameloom: a size of {name} is {size}; the program was exported for {expr}")
        return sizes

    def __call__(self, *args, **kwargs):
        inputs = self._inputs(args, kwargs)
        with torch.no_grad():
            results = self.graph(self._bind_sizes(inputs) + [t.detach() if isinstance(t, torch.Tensor) else t for t in inputs])
            named = dict(zip(self._names, inputs))
            users = []
            for spec, result in zip(self._signature.output_specs, results):
                if spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION):
                    self._held[self._target(spec.target)].copy_(result)
                elif spec.kind is OutputKind.USER_INPUT_MUTATION:
                    named[spec.target].copy_(result)
                else:
                    users.append(result)
        return pytree.tree_unflatten(users, self._out_spec)

    def _target(self, name):
        return next(i for i, spec in enumerate(self._signature.input_specs) if spec.target == name)

    def __repr__(self):
        return f"<frameloom.torch.CompiledExport of {len(self._kinds)} inputs>"
