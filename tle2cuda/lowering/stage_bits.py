"""Variables of a thread with a bit for each stage of a pipe."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.ir.span import Span
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import MUL, SHIFT, C, binary
from tle2cuda.lowering.writer import Block

_WORD_BITS = 32
_MOST_BITS = 64
"""Of one variable; an array, which is indexed by the stage, lies in local memory."""


@dataclass(frozen=True, slots=True)
class StageBits:
    """A word, a word of 64 bits, or an array of words where there are more stages.

    Attributes:
        name: Of the variable.
        stages: How many bits it has.
    """

    name: str
    stages: int

    @property
    def is_array(self) -> bool:
        """Whether the bits of all stages take more than one word."""
        return self.stages > _MOST_BITS

    @property
    def is_wide(self) -> bool:
        """Whether the word has 64 bits."""
        return _WORD_BITS < self.stages <= _MOST_BITS

    def start(self, block: Block, span: Span | None) -> None:
        """The declaration: no bit is set."""
        if self.is_array:
            words = -(-self.stages // _WORD_BITS)
            statements.started(block, "unsigned", f"{self.name}[{words}]", "{}", span)
        else:
            statements.started(block, "unsigned long long" if self.is_wide else "unsigned", self.name, "0", span)

    def word(self, stage: C) -> str:
        """The word that holds the bit of a stage."""
        return f"{self.name}[{binary('/', MUL, stage, C(str(_WORD_BITS)))}]" if self.is_array else self.name

    def bit(self, stage: C) -> str:
        """A word with the bit of a stage alone."""
        one = "1ull" if self.is_wide else "1u"
        return one if stage.text == "0" else binary("<<", SHIFT, C(one), self._place(stage)).text

    def moved(self, bit: str, stage: C) -> str:
        """A word with a bit, which is 0 or 1, in the place of that of a stage."""
        one = f"static_cast<unsigned long long>({bit})" if self.is_wide else f"({bit})"
        return binary("<<", SHIFT, C(one), self._place(stage)).text

    def shifted(self, stage: C, is_opposite: bool = False) -> str:
        """The word, or its complement, with the bit of a stage in the lowest place."""
        word = ("~" if is_opposite else "") + self.word(stage)
        return word if self.stages == 1 else f"{word} >> {self._place(stage).at(SHIFT + 1)}"

    def _place(self, stage: C) -> C:
        return binary("%", MUL, stage, C(str(_WORD_BITS))) if self.is_array else stage


__all__ = ["StageBits"]
