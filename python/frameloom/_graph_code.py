"""A captured graph in the manner of Python code, for logs. Imported when it is first needed."""


def _name(value):
    return value.name.replace("%", "v" if value.node is not None else "").replace("#", "_")


def _type(value):
    return f"{value.dtype}[{', '.join(map(str, value.shape))}]"


def _literal(value):
    return repr(value) if not isinstance(value, tuple) else "[" + ", ".join(map(str, value)) + "]"


def _lines(graph, indent):
    pad = " " * indent
    for node in graph.nodes:
        words = [_name(v) for v in node.operands]
        words += [f"{name}={_literal(value)}" for name, value in node.attributes.items()]
        results = ", ".join(_name(v) for v in node.results)
        op = getattr(node.target, "__name__", node.op) if node.target is not None else node.op
        line = f"{pad}{results + ' = ' if results else ''}{op}({', '.join(words)})"
        types = ", ".join(_type(v) for v in node.results)
        place = f"  {node.location[0].rsplit('/', 1)[-1]}:{node.location[1]}" if node.location else ""
        yield f"{line}  # {types}{place}"
        for region in node.regions:
            yield f"{pad}    def region({', '.join(_name(v) for v in region.inputs)}):"
            yield from _lines(region, indent + 8)
    results = ", ".join(_name(v) for v in graph.outputs)
    yield f"{pad}return ({results}{',' if len(graph.outputs) == 1 else ''})"


def graph_code(graph):
    """The text; called from C."""
    inputs = ", ".join(f"{_name(v)}: {_type(v)}" for v in graph.inputs)
    name = "".join(c if c.isalnum() else "_" for c in graph.name).strip("_")
    return "\n".join([f"def {name}({inputs}):", *_lines(graph, 4)]) + "\n"
