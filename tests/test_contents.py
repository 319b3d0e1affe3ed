"""A package's docstring is its table of contents, and stays true."""

import importlib
import pkgutil

import pytest

PACKAGES = (
    "netsim",
    "netsim.channel",
    "netsim.traces",
    "netsim.traces.importers",
    "netsim.propagation",
    "fl",
    "fl.scenario",
    "fl.models",
    "fl.allocation",
    "fl.data",
    "fl.pruning",
    "fl.training",
    "fl.aggregation",
    "fl.reproduction",
    "fl.report",
    "fl.study",
    "fl.verification",
)


@pytest.mark.parametrize("name", PACKAGES)
def test_each_module_is_named_once_in_the_docstring_of_its_package(name):
    package = importlib.import_module(name)
    modules = {m.name for m in pkgutil.iter_modules(package.__path__)} - {"__main__"}
    first_words = [
        line.split()[0]
        for line in package.__doc__.splitlines()[1:]
        if "   " in line or "  " in line.strip()
    ]
    listed = [word for word in first_words if word in modules]
    assert sorted(listed) == sorted(modules)
