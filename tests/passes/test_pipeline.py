"""The list of passes: order, dumps, and whose fault a failure is."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tests.analysis.helpers import KernelMaker
from tle2cuda.errors import CapabilityError, InternalError, InvalidArgument, IRError
from tle2cuda.ir.nodes import Kernel, Region, make_op
from tle2cuda.ir.types import I32
from tle2cuda.passes import pipeline


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """Passes that do nothing, in place of the real ones."""
    modules = {}
    for each in pipeline.PASSES:
        module = ModuleType(f"tle2cuda.passes.{each.name}")
        module.run = lambda kernel: kernel  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        modules[each.name] = module
    return modules


def simple_kernel() -> Kernel:
    maker = KernelMaker()
    maker.argument("n", I32)
    maker.op("barrier")
    return maker.kernel()


def test_every_pass_says_why_it_stands_where_it_stands() -> None:
    names = [each.name for each in pipeline.PASSES]
    assert names == [
        "canonicalise",
        "pipeliner",
        "tensor_maps",
        "partitions",
        "pipes",
        "products",
        "layouts",
        "tensor_memory",
        "settling",
        "scratch",
        "unscaled_sums",
        "fuse",
        "barriers",
        "shared_map",
    ]
    assert all(each.reason for each in pipeline.PASSES)


def test_dumps_are_kept_in_order(passes: dict[str, ModuleType]) -> None:
    _, dumps = pipeline.run(simple_kernel(), "all")
    assert tuple(dumps) == pipeline.pass_names()
    _, dumps = pipeline.run(simple_kernel(), "barriers")
    assert tuple(dumps) == ("barriers",) and "barrier" in dumps["barriers"]
    _, dumps = pipeline.run(simple_kernel())
    assert not dumps


def test_an_unknown_pass_is_refused(passes: dict[str, ModuleType]) -> None:
    with pytest.raises(InvalidArgument, match="no pass is called 'fusion'") as caught:
        pipeline.run(simple_kernel(), "fusion")
    assert "fuse" in str(caught.value)


@pytest.mark.parametrize("error", [ZeroDivisionError("oops"), InternalError("oops")])
def test_a_failing_pass_is_named(passes: dict[str, ModuleType], error: Exception) -> None:
    def fail(kernel: Kernel) -> Kernel:
        raise error

    passes["fuse"].run = fail  # type: ignore[attr-defined]
    with pytest.raises(InternalError, match=r"internal error in pass fuse: .*oops"):
        pipeline.run(simple_kernel())


def test_mistakes_of_the_user_pass_through(passes: dict[str, ModuleType]) -> None:
    def refuse(kernel: Kernel) -> Kernel:
        raise CapabilityError("no clusters here")

    passes["barriers"].run = refuse  # type: ignore[attr-defined]
    with pytest.raises(CapabilityError, match=r"^no clusters here$"):
        pipeline.run(simple_kernel())


def test_illegal_ir_is_blamed_on_the_pass_that_made_it(passes: dict[str, ModuleType]) -> None:
    def spoil(kernel: Kernel) -> Kernel:
        body = Region((), (make_op("no_such_op"), kernel.body.terminator))
        return Kernel(kernel.name, kernel.args, body)

    passes["scratch"].run = spoil  # type: ignore[attr-defined]
    with pytest.raises(InternalError, match="internal error in pass scratch: it made illegal IR") as caught:
        pipeline.run(simple_kernel())
    assert isinstance(caught.value.__cause__, IRError)
