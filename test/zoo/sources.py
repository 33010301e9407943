"""Where the zoo's models come from: names, and a small model of each."""

import importlib
import importlib.util
import pathlib
import sys

import torch

import classics
import small
import steps

PACKAGES = pathlib.Path(__file__).resolve().parents[2] / "build" / "zoo-packages"  # scripts/setup.sh
PIXELS = (64, 96, 128, 160, 224, 256)  # sides of pictures, tried in this order


def load_packages():
    """timm and torchvision have a folder of their own: other packages change when they find these."""
    if str(PACKAGES) not in sys.path:
        sys.path.append(str(PACKAGES))
    if importlib.util.find_spec("torchvision") and "torchvision" not in sys.modules:
        for name in ("nms", "qnms"):  # its own library of ops does not load beside a torch without CUDA; no model here asks for them
            if not hasattr(torch.ops.torchvision, name):
                library = torch.library.Library("torchvision", "FRAGMENT")
                library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
                load_packages.kept = [*getattr(load_packages, "kept", ()), library]


def load(models):
    """Imports what these models come from."""
    load_packages()
    for source in {name.split("/")[0] for name in models} & {"timm", "transformers"}:
        package = importlib.import_module(source)
        if source == "transformers":
            import torch._dynamo  # noqa: F401
            import transformers.modeling_utils  # noqa: F401

            package.logging.set_verbosity_error()


def names():
    """All models: SOURCE/NAME."""
    found = ["classic/" + name for name in classics.CLASSICS]
    load_packages()
    if importlib.util.find_spec("timm"):
        import timm

        found += ["timm/" + name for name in one_of_each(timm)]
    if importlib.util.find_spec("transformers"):
        import tiny

        found += ["transformers/" + name for name in tiny.names()]
    return found


def one_of_each(timm):
    """The smallest model by its name's sort of every module of timm."""
    order = ("atto", "femto", "pico", "nano", "test", "tiny", "xxs", "xs", "_s", "small", "18", "_b0")
    found = []
    for module in timm.list_modules():
        models = timm.list_models(module=module)
        rank = {name: next((i for i, mark in enumerate(order) if mark in name), len(order)) for name in models}
        found += sorted(models, key=lambda name: (rank[name], len(name), name))[:1]
    return sorted(found)


SHRUNK = ("layers and channels", "layers", "")  # what is made smaller (small.py), tried in this order


def timm_model(name):
    """(model, arguments): the smallest that eager torch runs, of the fewest layers before the fewest pixels."""
    why = None
    for shrunk in SHRUNK:
        for side in PIXELS:
            try:
                return timm_attempt(name, side, shrunk)
            except Exception as error:
                why = error
    raise why


def timm_attempt(name, side, shrunk):
    """(model, arguments) with pictures of a size, told to the model where it takes that."""
    x = torch.randn(2, 3, side, side)
    for last, sized in enumerate(({"img_size": side}, {})):
        try:
            torch.manual_seed(0)
            module = small.create(name, shrunk, num_classes=10, **sized).eval()
            with torch.no_grad():
                module(x)
            return module, {"x": x}
        except Exception:
            if last:
                raise


def build(name):
    """A `steps.Model`, made from the same seed in every process."""
    source, _, name = name.partition("/")
    torch.manual_seed(0)
    if source == "classic":
        return steps.Model(*classics.CLASSICS[name]())
    load_packages()
    if source == "timm":
        return steps.Model(*timm_model(name))
    import tiny

    return steps.Model(*tiny.built(name))
