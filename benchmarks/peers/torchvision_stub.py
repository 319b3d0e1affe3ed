"""Lets a peer import torchvision beside a torch of another build.

As `fl.data.torchvision_import` does for this project, and explains; no operator is called.
"""

from torch.library import Library

_LIBRARY = Library("torchvision", "FRAGMENT")


def declare_operators() -> None:
    """Declare the two operators at which the import would stop, where they do not load."""
    for name in ("nms", "qnms"):
        _LIBRARY.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
