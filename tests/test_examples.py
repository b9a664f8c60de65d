"""What shows emitted text, README and the C++ example, shows what is emitted now."""

from __future__ import annotations

import pathlib

import pytest

from tools.update_examples import kernel_source, outdated, parameters, replace_block


def test_emitted_examples_are_up_to_date() -> None:
    assert not [str(path) for path, _ in outdated()], "run python tools/update_examples.py"


def test_kernel_source_has_decorators_and_no_docstring(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text('x = 1\n\n\n@jit\ndef f(a):\n    """Does it."""\n    return a\n\n\ny = 2\n')
    assert kernel_source(file, "f") == "@jit\ndef f(a):\n    return a\n"


def test_a_block_without_its_marker_is_an_error() -> None:
    assert replace_block("<!-- m -->\n```cuda\nold\n```\n", "m", "cuda", "new\n") == "<!-- m -->\n```cuda\nnew\n```\n"
    with pytest.raises(SystemExit, match="no block `<!-- n -->`"):
        replace_block("text", "n", "cuda", "new\n")


def test_parameters_read_as_plain_cpp() -> None:
    from tle2cuda.runtime.contract import ArgSpec, LaunchContract

    args = (
        ArgSpec("x", "pointer", "fp32", 16, True),
        ArgSpec("out", "pointer", "i64"),
        ArgSpec("n", "scalar", "i32"),
    )
    contract = LaunchContract("k", "k.py", 1, "sm_90a", args)
    assert parameters(contract) == "const float* x, long long* out, int n"
