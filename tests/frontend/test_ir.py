"""The IR that control flow, calls and names become."""

from __future__ import annotations

import pathlib
import re
import textwrap

import pytest

from tests.frontend.kernels_on_file import body, load, ops, trace_text
from tle2cuda import errors
from tle2cuda.compiler import kernel_parameters, trace_specialized
from tle2cuda.ir.printer import print_kernel
from tle2cuda.runtime.signature import parse_signature


def printed(lines: str, folder: pathlib.Path, signature: str = "*i32, i32") -> str:
    """Printed body of `k(p, n)`."""
    indented = textwrap.indent(textwrap.dedent(lines).strip("\n"), "    ")
    text = body(trace_text(f"@tle2cuda.jit\ndef k(p, n):\n{indented}\n", folder, signature))
    return re.sub(r"^( *store .*?) \{.*\}$", r"\1", text, flags=re.MULTILINE)


def expect(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def test_early_return_moves_the_rest_into_else(tmp_path: pathlib.Path) -> None:
    lines = """
        if n == 0:
            return
        tl.store(p, n)
    """
    assert printed(lines, tmp_path) == expect("""
        %0 = constant {value = 0} : i32
        %1 = cmp %n, %0 {predicate = 'eq'} : i1
        if %1 then {
          yield
        } else {
          store %p, %n
          yield
        }
        yield
    """)


def test_loop_carries_only_what_iterations_hand_on(tmp_path: pathlib.Path) -> None:
    lines = """
        total = 0
        temporary = n
        for i in range(n):
            temporary = i * 2
            total += temporary
        tl.store(p, total)
    """
    assert printed(lines, tmp_path) == expect("""
        %total = constant {value = 0} : i32
        %0 = constant {value = 0} : i32
        %1 = constant {value = 1} : i32
        %total_3 = for %0, %n, %1, %total : i32 do (%i: i32, %total_1: i32) {
          %2 = constant {value = 2} : i32
          %temporary = mul %i, %2 : i32
          %total_2 = add %total_1, %temporary : i32
          yield %total_2
        }
        store %p, %total_3
        yield
    """)


def test_while_tests_in_its_own_region(tmp_path: pathlib.Path) -> None:
    lines = """
        while n > 1:
            n = n // 2
        tl.store(p, n)
    """
    assert printed(lines, tmp_path) == expect("""
        %n_4 = while %n : i32 before (%n_1: i32) {
          %0 = constant {value = 1} : i32
          %1 = cmp %n_1, %0 {predicate = 'gt'} : i1
          condition %1, %n_1
        } do (%n_2: i32) {
          %2 = constant {value = 2} : i32
          %n_3 = idiv %n_2, %2 : i32
          yield %n_3
        }
        store %p, %n_4
        yield
    """)


def test_if_merges_live_names_only(tmp_path: pathlib.Path) -> None:
    lines = """
        a = n
        if n > 1:
            unused = 1
            a = n + 1
        tl.store(p, a)
    """
    text = printed(lines, tmp_path)
    assert "%a_1 = if" in text
    assert text.count("yield %") == 2
    assert "yield %n" in text


def test_same_value_on_both_sides_is_not_merged(tmp_path: pathlib.Path) -> None:
    lines = """
        if n > 1:
            a = n
        else:
            a = n
        tl.store(p, a)
    """
    kernel_text = printed(lines, tmp_path)
    assert "if %1 then" in kernel_text
    assert "store %p, %n\n" in kernel_text


def test_loop_hints_reach_the_operation(tmp_path: pathlib.Path) -> None:
    source = """
        @tle2cuda.jit
        def k(p, n):
            for i in tl.range(0, n, 1, num_stages=3, loop_unroll_factor=2, flatten=True):
                tl.store(p + i, i)
    """
    (loop,) = ops(trace_text(source, tmp_path, "*i32, i32"), "for")
    assert loop.attrs["num_stages"] == 3
    assert loop.attrs["unroll"] == 2
    assert loop.attrs["flatten"] is True


def test_loop_variable_takes_the_widest_bound(tmp_path: pathlib.Path) -> None:
    source = """
        @tle2cuda.jit
        def k(p, n):
            for i in range(0, n):
                tl.store(p + i, i)
    """
    for type_, expected in (("i32", "i32"), ("i64", "i64"), ("i8", "i32"), ("u64", "u64")):
        (loop,) = ops(trace_text(source, tmp_path, f"*i64, {type_}"), "for")
        assert {str(value.type) if not hasattr(value.type, "short") else value.type.short for value in loop.operands} == {
            expected
        }


def test_static_range_leaves_no_loop(tmp_path: pathlib.Path) -> None:
    source = """
        @tle2cuda.jit
        def k(p, n):
            for i in tl.static_range(3):
                tl.store(p + i, n)
    """
    kernel = trace_text(source, tmp_path, "*i32, i32")
    assert not ops(kernel, "for")
    assert len(ops(kernel, "store")) == 3


def test_buffers_swap_in_a_static_loop(tmp_path: pathlib.Path) -> None:
    source = """
        @tle2cuda.jit
        def k(p, n):
            a = tle.gpu.alloc([8], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
            b = tle.gpu.alloc([8], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
            for i in tl.static_range(3):
                tl.store(tle.gpu.local_ptr(a, (0,)), i)
                a, b = b, a
    """
    kernel = trace_text(source, tmp_path, "*i32, i32")
    first, second = (op.result for op in ops(kernel, "alloc"))
    assert (first.name, second.name) == ("a", "b")
    assert [op.operands[0] for op in ops(kernel, "local_ptr")] == [first, second, first]


def test_buffer_is_the_same_value_inside_a_loop(tmp_path: pathlib.Path) -> None:
    source = """
        @tle2cuda.jit
        def k(p, n, other, SWAP: tl.constexpr):
            a = tle.gpu.alloc([8], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
            for i in range(n):
                tl.store(tle.gpu.local_ptr(a, (0,)), i)
                if SWAP:
                    a = other
    """
    kernel = trace_text(source, tmp_path, "*i32, i32, None, 0")
    assert ops(kernel, "local_ptr")[0].operands[0] is ops(kernel, "alloc")[0].result
    assert not ops(kernel, "for")[0].results


def test_names_become_hints(tmp_path: pathlib.Path) -> None:
    text = printed("double = n * 2\nalias = double\ntl.store(p, alias)", tmp_path)
    assert "%double = mul" in text
    assert "store %p, %double" in text


def test_parameters_name_their_arguments(tmp_path: pathlib.Path) -> None:
    source = """
        @tle2cuda.jit
        def f(pointer, value):
            tl.store(pointer, value)


        @tle2cuda.jit
        def k(p, n):
            f(p + n, n * 2)
    """
    text = body(trace_text(source, tmp_path, "*i32, i32"))
    assert "store %pointer, %value" in text


def test_spans_link_inlined_code_to_its_call(tmp_path: pathlib.Path) -> None:
    source = """
        @tle2cuda.jit
        def f(pointer, value):
            tl.store(pointer, value)


        @tle2cuda.jit
        def k(p, n):
            f(p + n, n * 2)
    """
    (store,) = ops(trace_text(source, tmp_path, "*i32, i32"), "store")
    assert store.span.location() == "k.py:7:5"
    assert store.span.text() == "tl.store(pointer, value)"
    assert store.span.function == "f"
    assert store.span.call_site is not None
    assert store.span.call_site.location() == "k.py:12:5"
    assert store.span.call_site.function == "k"


def test_every_operation_has_a_span(tmp_path: pathlib.Path) -> None:
    source = """
        @tle2cuda.jit
        def f(a, b):
            if a > b:
                return a
            return b


        @tle2cuda.jit
        def k(p, n):
            t = (n, 1)
            for i in range(n):
                t = (f(t[0], i), t[1] + 1)
            while n > 1:
                n -= 1
            tl.store(p, t[0] + t[1] + n if n > 3 else 0)
    """
    kernel = trace_text(source, tmp_path, "*i32, i32")
    names = [op.name for op in ops(kernel, "if")]
    assert names
    from tle2cuda.ir.nodes import walk

    for op in walk(kernel.body):
        assert op.span.file.endswith("k.py"), op
        assert op.span.line > 3, op


def test_columns_count_characters(tmp_path: pathlib.Path) -> None:
    source = '@tle2cuda.jit\ndef k(p, größe):\n    """é"""; tl.store(p, größe + 1)\n'
    (store,) = ops(trace_text(source, tmp_path, "*i32, i32"), "store")
    assert store.span.text() == "tl.store(p, größe + 1)"


def test_nested_function_keeps_columns(tmp_path: pathlib.Path) -> None:
    source = """
        def make(size):
            @tle2cuda.jit
            def k(p, n):
                # the closure's `size` is a constant
                tl.store(p + tl.arange(0, size), n)
            return k


        k = make(16)
    """
    kernel = trace_text(source, tmp_path, "*i32, i32")
    (store,) = ops(kernel, "store")
    assert store.span.text() == "tl.store(p + tl.arange(0, size), n)"
    assert ops(kernel, "arange")[0].attrs["end"] == 16


def test_kernel_signature(tmp_path: pathlib.Path) -> None:
    source = """
        @tle2cuda.jit
        def k(x, n, mode: tl.constexpr, other=None, B: tl.constexpr = 8):
            pass
    """
    kernel = trace_text(source, tmp_path, "*fp16:16, i64:16, 'fast'")
    assert [(a.name, str(a.value.type), a.divisibility) for a in kernel.args] == [
        ("x", "*fp16", 16),
        ("n", "int64", 16),
    ]
    assert dict(kernel.constants) == {"mode": "fast", "other": None, "B": 8}
    assert list(kernel.constants) == ["mode", "other", "B"]
    assert (kernel.name, kernel.num_warps, kernel.cluster_dims, kernel.cooperative) == ("k", 4, (1, 1, 1), False)
    assert kernel.span.text() == "def k(x, n, mode: tl.constexpr, other=None, B: tl.constexpr = 8):"


def test_plain_functions_are_kernels_too(tmp_path: pathlib.Path) -> None:
    module = load("def k(p, n):\n    tl.store(p, n)\n", tmp_path)
    parameters = kernel_parameters(module.k)
    kernel = trace_specialized(module.k, parse_signature(parameters, "*i32, i32"))
    assert len(ops(kernel, "store")) == 1


def test_cluster_and_grid_barrier_are_found(tmp_path: pathlib.Path) -> None:
    source = """
        CLUSTER = tle.device_mesh({"block_cluster": [("cluster_x", 4)]})
        GRID = tle.device_mesh({"block": [("block_x", 64)]})


        @tle2cuda.jit
        def k(p, mesh: tl.constexpr):
            tle.distributed_barrier(mesh)
            tl.store(p, 1)
    """
    module = load(source, tmp_path)
    for mesh, cluster, cooperative in ((module.CLUSTER, (4, 1, 1), False), (module.GRID, (1, 1, 1), True)):
        specialization = parse_signature(kernel_parameters(module.k), "*i32", {"mesh": mesh})
        kernel = trace_specialized(module.k, specialization)
        assert (kernel.cluster_dims, kernel.cooperative) == (cluster, cooperative)


def test_tracing_twice_gives_the_same_text(tmp_path: pathlib.Path) -> None:
    source = """
        @tle2cuda.jit
        def k(p, n):
            a = b = c = n
            for i in range(n):
                a, b, c = b, c, a
            if n > 1:
                a, c = c, a
            tl.store(p, a + b - c)
    """
    module = load(source, tmp_path)
    specialization = parse_signature(kernel_parameters(module.k), "*i32, i32")
    texts = {print_kernel(trace_specialized(module.k, specialization)) for _ in range(3)}
    assert len(texts) == 1


def test_clusters_need_a_target_that_has_them(tmp_path: pathlib.Path) -> None:
    source = """
        MESH = tle.device_mesh({"block_cluster": [("cluster_x", 4)]})


        @tle2cuda.jit
        def k(p):
            tle.distributed_barrier(MESH)
    """
    module = load(source, tmp_path)
    specialization = parse_signature(kernel_parameters(module.k), "*i32")
    with pytest.raises(errors.CapabilityError) as caught:
        trace_specialized(module.k, specialization, arch="sm_80")
    assert str(caught.value).splitlines() == [
        "k.py:10:5: a cluster of (4, 1, 1) CTAs requires NVIDIA SM90+, the target is sm_80",
        "",
        "  10 |     tle.distributed_barrier(MESH)",
        "     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        "  help: compile for sm_90 or later, or use a kernel without clusters",
    ]


def test_cluster_of_the_launch_must_be_that_of_the_mesh(tmp_path: pathlib.Path) -> None:
    source = """
        MESH = tle.device_mesh({"block_cluster": [("cluster_x", 4)]})


        @tle2cuda.jit
        def k(p):
            tle.distributed_barrier(MESH)
    """
    module = load(source, tmp_path)
    specialization = parse_signature(kernel_parameters(module.k), "*i32")
    assert trace_specialized(module.k, specialization, cluster_dims=(4, 1, 1)).cluster_dims == (4, 1, 1)
    with pytest.raises(ValueError, match="conflicting cluster_dims"):
        trace_specialized(module.k, specialization, cluster_dims=(2, 1, 1))
