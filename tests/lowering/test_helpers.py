"""Device helpers: found, ordered, and compiled for every architecture without a header or a warning."""

import re
import shutil
import subprocess

import pytest

from tle2cuda.errors import InternalError
from tle2cuda.lowering import helpers
from tle2cuda.lowering.helpers import Helper, all_helpers, helper_texts
from tle2cuda.runtime.nvrtc import CompileOptions, compile_source
from tle2cuda.targets import parse_target

ARCHES = ("sm_80", "sm_90a", "sm_100a", "sm_120a")

# How a test calls a function by its signature: arguments by the type of the parameter, template arguments by their name.
SIGNATURE = re.compile(
    r"(?:template <(?P<template>int \w+(?: = \d+)?)>\n)?"
    r"__device__ __forceinline__ (?P<result>[\w: ]+) (?P<name>\w+)\((?P<parameters>.*?)\)\s*\{",
    re.DOTALL,
)
MMA_TYPES = {"f32": "float", "f16": "__half", "s32": "int", "f64": "double"}  # of the sums, as helpers are named
TEMPLATE_ARGUMENTS = {
    "AXIS": 1,
    "BYTES": 16,
    "COLUMNS": 32,
    "PENDING": 1,
    "REGISTERS": 40,
    "ROUNDS": 10,
    "SWIZZLE_BYTES": 128,
}
ARRAY = re.compile(r"(?P<constant>const )?(?P<element>\w+) \(&(?P<name>\w+)\)\[(?P<length>\d+)\]")
SCALARS = ("unsigned", "unsigned short", "unsigned long long", "int", "double", "Descriptor")

RED_ADD_ELEMENTS = {"f32": "float", "f16": "__half", "bf16": "__nv_bfloat16"}

ADD = "[](float a, float b) { return a + b; }"
OWN_SLOTS = "struct Slots { static __device__ int thread() { return threadIdx.x; } } slots; "
USES = {
    "assertion_failed": 'if (i[0] < 0) assertion_failed("message", "kernel.py", 3);',
    "vector": "Vector<float, 4> v; v[0] = f[0]; f[1] = v[0];",
    "fill_vector": "f[0] = fill_vector<4>(1.0f)[3]; c[0] = fill_vector<8, signed char>(1)[7];",
    "load_vector_as": "f[0] = load_vector_as<float, 4>(c)[3]; i[0] = load_vector_as<int, 2>(c)[1];",
    "keep_packed": "unsigned w = i[0]; keep_packed(w); i[0] = w;",
    "registers": "Registers<signed char, 4> r{}; r.keep_whole(); i[0] = r.word[0];",
    "word": "Word<8>::Type w = make_uint2(1, 2); i[0] = w.x;",
    "words": "i[0] = Words<float, 8>::COUNT;",
    "store_matrices": "__shared__ short t[256]; Vector<short, 2> v{}; store_matrices(&t[8 * threadIdx.x], v, v, v, v);",
    "divide_approx": "f[0] = divide_approx(f[1], f[2]);",
    "exp2_approx": "f[0] = exp2_approx(f[1]);",
    "sqrt_approx": "f[0] = sqrt_approx(f[1]);",
    "min_nan": "f[0] = min_nan(f[1], f[2]); d[0] = min_nan(d[1], d[2]);",
    "max_nan": "f[0] = max_nan(f[1], f[2]);",
    "infinity": "f[0] = infinity();",
    "infinity_double": "d[0] = infinity_double();",
    "quiet_nan": "f[0] = quiet_nan();",
    "quiet_nan_double": "d[0] = quiet_nan_double();",
    "shift_left": "i[0] = shift_left<int>(i[1], i[2]); c[0] = shift_left<unsigned char>(c[1], c[2]);",
    "shift_right": "i[0] = shift_right<int>(i[1], i[2]); c[0] = shift_right<unsigned char>(c[1], c[2]);",
    "split_tf32": "unsigned l, s; split_tf32(i[0], l, s); i[1] = l + s;",
    "scale_word": "i[0] = scale_word(c);",
    "bit_cast": "i[0] = bit_cast<int>(f[0]);",
    "double_bits": "d[0] = bits_as_double(double_as_bits(d[1]) + 1);",
    "atomic_min_float": "f[0] = atomic_min_float(f + 1, f[2]);",
    "atomic_max_float": "f[0] = atomic_max_float(f + 1, f[2]);",
    "atomic_min_double": "d[0] = atomic_min_double(d + 1, d[2]);",
    "atomic_max_double": "d[0] = atomic_max_double(d + 1, d[2]);",
    "fence_cta": "fence_cta();",
    "fence_cluster": "fence_cluster();",
    "fence_gpu": "fence_gpu();",
    "fence_system": "fence_system();",
    "cluster_sync": "cluster_sync();",
    "cluster_rank": "i[0] = cluster_rank();",
    "cluster_map": "__shared__ int box; *cluster_map(&box, 1) = 3;",
    "cluster_await_members": "__shared__ unsigned count; cluster_await_members<0x6u, 1, 2>(count);",
    "cluster_barrier_members_by": (
        "__shared__ unsigned count; cluster_barrier_members_by<0x6u, 1, 2>(count, [] { __syncthreads(); });"
    ),
    "cluster_barrier_members": "__shared__ unsigned count; cluster_barrier_members<0x6u, 1, 2>(count);",
    "grid_sync": "grid_sync(reinterpret_cast<unsigned*>(i));",
    "swizzled": "i[0] = swizzled<128, 4>(i[1], i[2]);",
    "shuffle_words": "f[0] = shuffle_words(f[1], [](unsigned w) { return w + 1; });",
    "choose": "f[0] = choose(i[0] & 4, f[1], f[2]);",
    "shuffle_xor": "d[0] = shuffle_xor<3>(d[1]); c[0] = shuffle_xor<1>(c[1]);",
    "keep_sums": "Vector<float, 2> s[4] = {}; keep_sums(s); f[0] = s[1][0];",
    "keep_pointers": "const float* p[2] = {f, f + 1}; keep_pointers(p); f[0] = *p[1];",
    "keep_int_sums": "Vector<int, 2> s[4] = {}; keep_int_sums(s); i[0] = s[1][0];",
    "keep_half_sums": "Vector<short, 2> s[4] = {}; keep_half_sums(s); i[0] = s[1][0];",
    "exchange_words": "Vector<short, 8> v{}; exchange_words<2, 1>(v); c[0] = v[3];",
    "shuffle_from": "d[0] = shuffle_from(d[1], 5);",
    "shuffle_previous": "f[0] = shuffle_previous<8, false>(f[1], 2); f[2] = shuffle_previous<32, true>(f[3], 1);",
    "lanes_all_reduce": f"f[0] = lanes_all_reduce<11>(f[1], {ADD});",
    "lanes_all_reduce_in_order": f"f[0] = lanes_all_reduce_in_order<11>(f[1], {ADD});",
    "warps_all_reduce": f"__shared__ float slots[4]; f[0] = warps_all_reduce(f[1], slots, {ADD});",
    "warp_all_reduce": f"f[0] = warp_all_reduce(f[1], {ADD});",
    "cta_all_reduce": f"__shared__ float slots[4]; f[0] = cta_all_reduce(f[1], slots, {ADD});",
    "partition_all_reduce": (
        f"__shared__ float slots[4]; f[0] = partition_all_reduce(f[1], slots, {ADD}, i[0], [] {{ __syncthreads(); }});"
    ),
    "argmax_takes": "i[0] = argmax_takes<true>(f[0], i[1], f[1], i[2]) + argmax_takes<false>(i[3], 0, i[4], 1);",
    "argmin_takes": "i[0] = argmin_takes<true>(f[0], i[1], f[1], i[2]);",
    "maximum_key": "i[0] = maximum_key(f[0]);",
    "minimum_key": "i[0] = minimum_key(f[0]);",
    "warp_argmax": "struct Items { float item0; int item1; }; i[0] = warp_argmax<true>(Items{f[0], i[1]}, i[2]).item1;",
    "warp_argmin": "struct Pair { short item0; int item1; }; i[0] = warp_argmin<false>(Pair{short(i[0]), i[1]}, 7u).item1;",
    "lanes_scan": f"f[0] = lanes_scan<16, true>(f[1], {ADD});",
    "warp_exclusive_sum": "f[0] = warp_exclusive_sum<8, true>(f[1], f[2]);",
    "float_key": "i[0] = float_key(f[0]); f[1] = float_of_key(i[1]);",
    "double_key": "d[0] = double_of_key(double_key(d[1]));",
    "float8_key": "i[0] = float8_key(c[0], true) + float8_key(c[1]);",
    "put_in_order": "put_in_order<true>(i[0], i[1]);",
    "merge_in_thread": "int keys[2][4] = {}; merge_in_thread<4, true>(keys); i[0] = keys[1][i[1] & 3];",
    "sort_in_thread": "int keys[2][4] = {}; sort_in_thread<2, false>(keys); i[0] = keys[1][0];",
    "take_better": "i[0] = take_better<true>(i[1], i[2], i[3] > 0);",
    "compare_lanes": "int keys[1][2] = {{i[0], i[1]}}; compare_lanes<true, false>(keys, 3, i[2] > 0); i[0] = keys[0][1];",
    "shuffle_lanes": "i[0] = shuffle_lanes(i[1], i[2]); d[0] = shuffle_lanes(d[1], 3);",
    "WarpSlots": (
        "__shared__ int box[512]; int mine[2] = {i[0], i[1]}, theirs[2]; "
        "WarpSlots<int, 2, 128> slots{box}; slots.exchange(mine, theirs, 32); i[0] = theirs[1];"
    ),
    "PartitionSlots": (
        "__shared__ int box[512]; int mine[2] = {i[0], i[1]}, theirs[2]; "
        "struct Partition { static __device__ void meet() { __syncthreads(); } }; "
        "PartitionSlots<int, 2, 128, 64, Partition::meet> slots{box}; slots.exchange(mine, theirs, 32); i[0] = theirs[1];"
    ),
    "NoSlots": "i[0] = NoSlots::thread();",
    "row_position": "i[0] = row_position<8, 1>(i[2]) + row_position<128, 2>(i[3]) + row_mask<2>(i[1]);",
    "compare_threads": (
        "int keys[1][2] = {{i[0], i[1]}}; struct {} slots; "
        "compare_threads<32, 1, true, false>(keys, 3, i[2] > 0, slots); i[0] = keys[0][1];"
    ),
    "merge_rows": OWN_SLOTS
    + "int keys[1][2] = {{i[0], i[1]}}; merge_rows<32, 1, false>(keys, 16, slots); i[0] = keys[0][1];",
    "sort_rows": OWN_SLOTS + "int keys[1][2] = {{i[0], i[1]}}; sort_rows<32, 1, 32, true>(keys, slots); i[0] = keys[0][1];",
    "best_in_thread": "int keys[1][4] = {}, best[1][2]; best_in_thread<true>(keys, best); i[0] = best[0][1];",
    "best_of_rows": (
        OWN_SLOTS + "int keys[1][4] = {{i[0], i[1], i[2], i[3]}}, best[1][2]; "
        "best_of_rows<32, 1, 1, true>(keys, best, slots); i[0] = best[0][1];"
    ),
    "cta_exclusive_integer_sum": "__shared__ int slots[4]; i[0] = cta_exclusive_integer_sum<4, false>(i[1], i[2], slots);",
    "cta_exclusive_sum": "__shared__ int slots[4]; i[0] = cta_exclusive_sum<4, false>(i[1], i[2], slots);",
    "partition_exclusive_sum": (
        "__shared__ int slots[4]; "
        "i[0] = partition_exclusive_sum<4, false>(i[1], i[2], slots, i[3], [] { __syncthreads(); });"
    ),
    **{
        f"{name}_wrapping": f"i[0] = {name}_wrapping(i[1], i[2]); i[1] = {name}_wrapping(3ll, 1ll * i[3]) > 5ll;"
        for name in ("add", "sub", "mul")
    },
    **{
        f"{name}_fits": f"i[0] = {name}_fits(i[1], i[2]) + {name}_fits(c[1], c[2]) + {name}_fits(3u, 5u);"
        for name in ("add", "sub", "mul")
    },
    "power_of_integer": "f[0] = power_of_integer(f[1], i[0]); d[0] = power_of_integer(d[1], i[0]);",
    "cp_async_edge": "__shared__ alignas(16) float box[4]; cp_async_edge<16>(box, f, i[0]); cp_async_edge<8>(box, f, 3ll);",
    "cp_async_edge_hinted": "__shared__ alignas(16) float box[4]; cp_async_edge_hinted<16>(box, f, i[0], 5ull);",
    "Barrier": "static_assert(sizeof(Barrier) == 8);",
    "TensorMap": "static_assert(sizeof(TensorMap) == 128 && alignof(TensorMap) == 64);",
    "EVICT_FIRST": "i[0] = EVICT_FIRST >> 52;",
    "EVICT_LAST": "i[0] = EVICT_LAST >> 52;",
    "Descriptor": "static_assert(sizeof(Descriptor) == 8);",
}


def _use_by_signature(name: str) -> str:
    """Calls of every overload of a function whose parameters say enough."""
    overloads = [match for match in SIGNATURE.finditer(all_helpers()[name].text) if match["name"] == name]
    if not overloads:
        raise AssertionError(f"no use of {name} in this test")
    return " ".join(f"{{ {_call(match)} }}" for match in overloads)


def _call(signature: re.Match[str]) -> str:
    before, arguments, after = ["__shared__ unsigned long long box[16];"], [], []
    for parameter in filter(None, re.split(r",\s*", signature["parameters"])):
        if array := ARRAY.fullmatch(parameter):
            before.append(f"{array['element']} {array['name']}[{array['length']}] = {{}};")
            if not array["constant"]:
                after.append(f"memcpy(i, {array['name']}, sizeof({array['name']}));")
            arguments.append(array["name"])
            continue
        type_, _ = parameter.rsplit(" ", 1)
        if type_.endswith("*"):
            arguments.append(f"reinterpret_cast<{type_}>({'i' if 'TensorMap' in type_ else 'box'})")
        elif type_ in SCALARS:
            arguments.append(f"static_cast<{type_}>(i[{len(arguments)}])")
        else:
            raise AssertionError(f"no use of {signature['name']} in this test: it takes {parameter}")
    template = signature["template"]
    chosen = f"<{TEMPLATE_ARGUMENTS[template.split()[1]]}>" if template else ""
    call = f"{signature['name']}{chosen}({', '.join(arguments)});"
    if signature["result"] != "void":
        call = f"const auto got = {call}"
        after.append("memcpy(i, &got, sizeof(got));")
    return " ".join([*(before if "box" in call else before[1:]), call, *after])


def _use(name: str) -> str:
    """Statements that use a helper."""
    if name in USES:
        return USES[name]
    if match := re.fullmatch(r"load_bits(\d+)(_nc)?_if", name):
        word = {"2": "unsigned short", "4": "unsigned", "8": "uint2", "16": "uint4"}[match[1]]
        call = f"load_bits{match[2] or ''}_if(i[0] > 0, reinterpret_cast<{word}*>(i), none)"
        return f"const {word} none = {{}}; const {word} got = {call}; memcpy(i + 4, &got, sizeof(got));"
    if match := re.fullmatch(r"load(_nc)?_if_(\w+)", name):
        type_ = {"f32": "float", "f64": "double", "i32": "int", "u32": "unsigned", "i64": "long long", "16": "short"}
        element = type_.get(match[2], "unsigned long long")
        call = f"load{match[1] or ''}_if(i[0] > 0, reinterpret_cast<{element}*>(i), none)"
        return f"const {element} none = {{}}; const {element} got = {call}; memcpy(i + 4, &got, sizeof(got));"
    if re.fullmatch(r"load_byte(_nc)?_if", name):
        return f"c[0] = {name}(i[0] > 0, c + 1, 0);"
    if match := re.fullmatch(r"store_bits(\d+)(_if)?", name):
        word = {"4": "unsigned", "8": "uint2", "16": "uint4"}[match[1]]
        condition = "i[0] > 0, " if match[2] else ""
        return f"store_bits{match[2] or ''}({condition}reinterpret_cast<{word}*>(i), {word}{{}});"
    if re.fullmatch(r"load_(vector|edge)(_nc)?_if|red_add_edge|store_narrow(_edge)?|store_(vector|edge)_if", name):
        return ""  # a template that needs one of several overloads: see test_vectors_by_words and test_red_add_edge
    if match := re.fullmatch(r"red_add_vector_(\w+)", name):
        element = RED_ADD_ELEMENTS[match[1]]
        return f"{element}* const at = reinterpret_cast<{element}*>(i); red_add_vector(at, load_vector<4>(at + 4));"
    if re.fullmatch(r"load_packed_if(_\w+)?", name):
        return f"c[0] = {name}(i[0] > 0, c, Vector<signed char, 8>{{}})[7];"
    if re.fullmatch(r"load_narrow_edge(_\w+)?", name):
        return f"c[0] = {name}<8>(c, i[1], 0)[1];"
    if match := re.fullmatch(r"load_(vector|edge)(_\w+)?", name):
        if match[1] == "vector":
            return f"f[0] = {name}<8>(f)[7]; b[0] = {name}<4>(b)[3]; c[0] = {name}<2>(c)[1]; d[0] = {name}<1>(d)[0];"
        return f"f[0] = {name}<4>(f, i[0], 1.0f)[3]; c[0] = {name}<16>(c, i[1], 0)[1];"
    if match := re.fullmatch(r"store_(vector|edge)(_\w+)?", name):
        count = "" if match[1] == "vector" else "i[0], "
        return f"{name}(f, {count}Vector<float, 4>{{}}); {name}(c, {count}Vector<signed char, 2>{{}});"
    if name.startswith("load_word"):
        return f"i[0] = {name}(reinterpret_cast<unsigned*>(i + 1)); i[1] = {name}(reinterpret_cast<uint4*>(i)).w;"
    if name.startswith("store_word"):
        return f"{name}(reinterpret_cast<unsigned*>(i), 1u); {name}(reinterpret_cast<uint4*>(i), uint4{{}});"
    if name.startswith("load"):
        return f"f[0] = {name}(f + 1); c[0] = {name}(c + 1); d[0] = {name}(d + 1);"
    if name.startswith("store"):
        return f"{name}(f, 1.0f); {name}(c, 1); {name}(d, 1.0);"
    if name.startswith("mma_"):
        sums = MMA_TYPES[name.split("_")[2]]
        words = "double" if sums == "double" else "unsigned"
        scales = ", i[0], i[1]" if re.search("_(mx|nv)_", name) else ""
        return f"Vector<{sums}, 2> s[2] = {{}}; {words} w[6] = {{}}; {name}(s, w, w + 4{scales}); memcpy(i, s, sizeof(s));"
    if name.startswith("ldmatrix_"):
        return f"__shared__ uint4 rows[32]; unsigned w[4] = {{}}; {name}(w, &rows[threadIdx.x]); memcpy(i, w, sizeof(w));"
    return _use_by_signature(name)


def _source(names: list[str]) -> str:
    """A kernel that uses helpers, one after the other."""
    needed = {*names, *(["load_vector"] if any(name.startswith("red_add_vector") for name in names) else [])}
    texts = "\n\n".join(helper_texts(needed))
    uses = "\n".join(f"    {{ {_use(name)} }}" for name in names)
    parameters = "float* f, double* d, int* i, signed char* c, bool* b"
    return f'{_includes(texts)}namespace {{\n{texts}\n}}\nextern "C" __global__ void use({parameters})\n{{\n{uses}\n}}\n'


def _includes(texts: str) -> str:
    headers = (("__half", "cuda_fp16.h"), ("__nv_bfloat16", "cuda_bf16.h"))
    return "".join(f"#include <{header}>\n" for type_, header in headers if re.search(rf"\b{type_}\b", texts))


def _comment(helper: Helper) -> str:
    """What the comment lines say, on one line."""
    return " ".join(line.removeprefix("// ") for line in helper.text.splitlines() if line.startswith("// "))


def _runs_on(name: str, arch: str) -> bool:
    """Whether an architecture has what a helper and those it needs say behind `PTX ISA`."""
    helper, target = all_helpers()[name], parse_target(arch)
    for wanted in re.findall(r"\bsm_\d+a?", _comment(helper)):
        least = parse_target(wanted)
        if target.capability < least.capability or (least.suffix and target != least):
            return False
    return all(_runs_on(needed, arch) for needed in helper.needs)


def _primary(arch: str) -> list[str]:
    return sorted({helper.names[0] for helper in all_helpers().values() if _runs_on(helper.names[0], arch)})


@pytest.mark.parametrize("name", sorted(_primary("sm_90a")))
def test_helper_compiles_alone(name):
    result = compile_source(_source([name]), f"{name}.cu", CompileOptions("sm_90a"))
    unused = [w for w in result.warnings if "never used" not in w.text and "never referenced" not in w.text]
    assert not unused


@pytest.mark.parametrize("suffix", ["_if", "_nc_if"])
def test_vectors_by_words(suffix):
    names = [f"load_edge{suffix}", f"load_vector{suffix}", *(f"load_bits{n}{suffix}" for n in (2, 4, 8, 16))]
    texts = "\n\n".join(helper_texts(names))
    words = (("unsigned short", 2), ("unsigned", 4), ("uint2", 8), ("uint4", 16), ("uint4", 32))
    uses = " ".join(
        f"c[{n}] = load_vector{suffix}<{word}>(c[0] > 0, c, Vector<signed char, {n}>{{}})[{n - 1}];"
        f"c[{n}] += load_edge{suffix}<{word}, {n}>(c, c[0], 7)[{n - 1}];"
        for word, n in words
    )
    source = f'namespace {{\n{texts}\n}}\nextern "C" __global__ void use(signed char* c)\n{{\n    {uses}\n}}\n'
    assert compile_source(source, "vectors.cu", CompileOptions("sm_90a")).warnings == ()


def test_vectors_are_stored_by_words():
    names = [f"store_bits{n}{suffix}" for n in (4, 8, 16) for suffix in ("", "_if")]
    texts = "\n\n".join(helper_texts(["store_edge_if", "store_narrow_edge", "store_vector_if", *names]))
    words = (("unsigned", 4), ("uint2", 8), ("uint4", 16), ("uint4", 32))
    uses = " ".join(
        f"store_narrow_edge<{word}>(c, c[0], Vector<signed char, {n}>{{}});"
        f"store_edge_if<{word}>(c, c[0], Vector<signed char, {n}>{{}});"
        f"store_vector_if<{word}>(c[0] > 0, c, Vector<signed char, {n}>{{}});"
        for word, n in words
    )
    source = f'namespace {{\n{texts}\n}}\nextern "C" __global__ void use(signed char* c)\n{{\n    {uses}\n}}\n'
    assert compile_source(source, "vectors.cu", CompileOptions("sm_90a")).warnings == ()


@pytest.mark.parametrize(("label", "element"), RED_ADD_ELEMENTS.items())
def test_red_add_edge(label, element):
    texts = "\n\n".join(helper_texts(["load_vector", "red_add_edge", f"red_add_vector_{label}"]))
    use = f"void use({element}* x, int n)\n{{\n    red_add_edge(x, n, load_vector<4>(x + 4));\n}}\n"
    source = f'{_includes(texts)}namespace {{\n{texts}\n}}\nextern "C" __global__ {use}'
    assert compile_source(source, "edge.cu", CompileOptions("sm_90a")).warnings == ()


@pytest.mark.parametrize("arch", ARCHES)
def test_all_helpers_compile_together(arch):
    result = compile_source(_source(_primary(arch)), "helpers.cu", CompileOptions(arch))
    # ptxas advises against multicast for all architectures but 9.0 and 10.x, where it is slow.
    assert [w for w in result.warnings if "'.multicast::cluster' modifier" not in w.text] == []


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
def test_all_helpers_compile_with_nvcc(tmp_path):
    path = tmp_path / "helpers.cu"
    path.write_text(_source(_primary("sm_90a")))
    command = ["nvcc", "-arch=sm_90a", "-std=c++17", "-Werror", "all-warnings", "-cubin", "-o"]
    done = subprocess.run([*command, str(tmp_path / "out"), str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_needs_come_first_and_only_once():
    texts = helper_texts({"cta_exclusive_sum", "lanes_scan", "vector"})
    assert len(texts) == len(set(texts))
    where = {
        name: i
        for i, text in enumerate(texts)
        for name in ("shuffle_words", "lanes_scan", "cta_exclusive_sum")
        if f" {name}(" in text.split("{")[0]
    }
    assert where["shuffle_words"] < where["lanes_scan"] < where["cta_exclusive_sum"]
    assert not any("// needs:" in text or "// defines:" in text for text in texts)


def test_order_does_not_depend_on_the_set():
    names = ["store_edge", "argmax_takes", "load_edge", "infinity", "cta_all_reduce"]
    assert helper_texts(names) == helper_texts(reversed(names)) == helper_texts(set(names))


def test_unknown_helper():
    with pytest.raises(InternalError, match="no device helper defines no_such_helper"):
        helper_texts({"no_such_helper"})


def test_every_need_exists():
    helper_texts(set(all_helpers()))


def test_circle_is_reported(monkeypatch):
    circle = {
        "a": Helper(("a",), ("b",), "", "a.cuh"),
        "b": Helper(("b",), ("a",), "", "b.cuh"),
    }
    monkeypatch.setattr(helpers, "all_helpers", lambda: circle)
    with pytest.raises(InternalError, match="a -> b -> a"):
        helper_texts({"a"})


def test_every_helper_says_what_it_does():
    for helper in all_helpers().values():
        assert "// " in helper.text.splitlines()[0], f"{helper.names[0]} in {helper.file} has no comment"
        if "asm" in helper.text and not re.search(r'asm( volatile)?\(""', helper.text):  # an empty one is no PTX
            assert "PTX ISA" in _comment(helper), f"{helper.names[0]} in {helper.file} does not cite the PTX ISA"
