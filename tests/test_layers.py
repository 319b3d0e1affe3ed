"""netsim is time and bits: it knows nothing of learning, nor of torch."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FORBIDDEN = {
    "netsim": {"fl", "torch", "torchvision"},
    "fl/allocation": {"torch", "torchvision", "simpy"},
    "fl/training": {"simpy"},
    "fl/report": {"torch", "torchvision", "simpy"},
}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("layer", FORBIDDEN)
def test_no_layer_imports_what_is_above_it(layer):
    files = sorted((ROOT / layer).rglob("*.py"))
    assert files
    guilty = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in imports(path)
        if name.split(".")[0] in FORBIDDEN[layer]
    ]
    assert guilty == []
