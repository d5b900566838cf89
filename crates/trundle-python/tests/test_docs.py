"""Runs the examples in docstrings."""

import doctest
import inspect

import pytest

import trundle


def documented():
    yield "trundle", trundle.__doc__
    for name in trundle.__all__:
        member = getattr(trundle, name)
        yield name, member.__doc__
        if inspect.isclass(member):
            for attribute, value in sorted(vars(member).items()):
                if not attribute.startswith("_") or attribute == "__call__":
                    yield f"{name}.{attribute}", value.__doc__


@pytest.mark.parametrize("name, text", list(documented()), ids=lambda value: value.split("\n")[0])
def test_examples_run(name, text):
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    report = []
    result = doctest.DocTestRunner().run(example, out=report.append)
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize("name", [name for name in trundle.__all__ if name != "Plan"])
def test_every_function_has_an_example(name):
    text = getattr(trundle, name).__doc__
    assert doctest.DocTestParser().get_examples(text)
