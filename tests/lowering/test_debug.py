"""Device prints: the text on the GPU is that of the interpreter."""

import tle2cuda
import tle2cuda.language as tl


@tle2cuda.jit
def printing(x, n):
    tl.device_print("bare")
    tl.device_print("100 %", n)
    tl.device_print("two", n, n + 1)
    tl.device_print("tile", tl.load(x + tl.arange(0, 2)))


def test_values_are_labelled_as_the_interpreter_does() -> None:
    source = tle2cuda.emit(printing, "*i32, i32").source
    start = 'printf("pid (%d, %d, %d) '
    for text in ("bare", "100 %% %d", "two (operand 0) %d", "two (operand 1) %d", "idx (%d) tile %d"):
        assert f"{start}{text}\\n" in source
