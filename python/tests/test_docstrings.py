"""The examples in docstrings."""

import doctest
import importlib
import pkgutil

import pytest
import supercool

MODULES = [module.name for module in pkgutil.walk_packages(supercool.__path__, "supercool.") if "__main__" not in module.name]


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(tests) >= 2
