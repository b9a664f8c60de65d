"""Device prints: the text on the GPU is that of the interpreter."""

import tle2cuda
import tle2cuda.language as tl


@tle2cuda.jit
def printing(x, n):
    tl.device_print("bare")
    tl.device_print("100 %", n)
    tl.device_print("two", n, n + 1)
    tl.device_print("tile", tl.load(x + tl.arange(0, 2)))
    tl.device_print("mixed", n, tl.arange(0, 128)[:, None] + tl.zeros((1, 4), tl.int32))
    tl.device_print("hex", n.to(tl.int16), hex=True)


def test_values_are_labelled_as_triton_and_the_interpreter_do() -> None:
    source = tle2cuda.emit(printing, "*i32, i32").source
    for text in (
        " bare",
        " idx () 100 %%: %d",
        " idx () two: (operand 0) %d",
        " idx () two: (operand 1) %d",
        " idx (%1d) tile: %d",
        " idx () mixed: (operand 0) %d",
        " idx (%3d, %1d) mixed: (operand 1) %d",
        " idx () hex: 0x%04x",
    ):
        assert f'printf("pid (%d, %d, %d){text}\\n"' in source
