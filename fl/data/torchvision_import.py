"""torchvision, importable beside a torch of another build.

The torchvision of the package index is built for CUDA. Beside a torch for CPUs its compiled
operators do not load, and ``import torchvision`` stops where it describes the first of them:
``operator torchvision::nms does not exist``. Nothing here calls these operators, so it is
enough that their signatures are known. Where they load, nothing is changed.

Importing it takes seconds: ask for it where it is needed, not at the top of a module.
"""

import importlib
from functools import cache
from types import ModuleType

_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_OPERATORS = ("nms", "qnms")


@cache
def import_torchvision() -> ModuleType:
    """Return the package torchvision; its compiled operators may be missing."""
    try:
        return importlib.import_module("torchvision")
    except RuntimeError as error:
        if "operator torchvision::" not in str(error):
            raise
    _declared_operators()
    return importlib.import_module("torchvision")


@cache
def _declared_operators() -> object:
    """Declare the operators; what a library declares is forgotten with it, so it is kept."""
    from torch.library import Library  # noqa: PLC0415 -- takes seconds, and is seldom needed

    library = Library("torchvision", "FRAGMENT")
    for name in _OPERATORS:
        library.define(name + _SIGNATURE)
    return library
