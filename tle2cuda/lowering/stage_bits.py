"""Variables of a thread with a bit for each stage of a pipe."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.ir.span import Span
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import MUL, SHIFT, C, binary
from tle2cuda.lowering.writer import Block

_WORD_BITS = 32


@dataclass(frozen=True, slots=True)
class StageBits:
    """A word, or an array of words where there are more stages than bits in one.

    Attributes:
        name: Of the variable.
        stages: How many bits it has.
    """

    name: str
    stages: int

    def start(self, block: Block, span: Span | None) -> None:
        """The declaration: no bit is set."""
        words = -(-self.stages // _WORD_BITS)
        is_array = words > 1
        statements.started(
            block, "unsigned", f"{self.name}[{words}]" if is_array else self.name, "{}" if is_array else "0", span
        )

    def word(self, stage: C) -> str:
        """The word that holds the bit of a stage."""
        if self.stages <= _WORD_BITS:
            return self.name
        return f"{self.name}[{binary('/', MUL, stage, C(str(_WORD_BITS)))}]"

    def bit(self, stage: C) -> str:
        """A word with the bit of a stage alone."""
        return "1u" if stage.text == "0" else binary("<<", SHIFT, C("1u"), self.place(stage)).text

    def shifted(self, stage: C, is_opposite: bool = False) -> str:
        """The word, or its complement, with the bit of a stage in the lowest place."""
        word = ("~" if is_opposite else "") + self.word(stage)
        return word if self.stages == 1 else f"{word} >> {self.place(stage).at(SHIFT + 1)}"

    def place(self, stage: C) -> C:
        """Which bit of its word is that of a stage."""
        return stage if self.stages <= _WORD_BITS else binary("%", MUL, stage, C(str(_WORD_BITS)))


__all__ = ["StageBits"]
