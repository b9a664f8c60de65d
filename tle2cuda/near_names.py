"""Which of the known names somebody may have meant who wrote one that is none: for the last line of an error."""

from __future__ import annotations

from collections.abc import Iterable

_LEAST_LETTERS = 3  # of a name that is guessed at all
_SHORT = 4  # letters of words of which another letter makes another word: none but missing or surplus ones are slips
_LEAST_ABBREVIATION = 4  # letters of a beginning that stands for the whole
_FEW_LETTERS = 7  # up to which one slip is all; two in longer names
_MOST_TOLD = 3


def did_you_mean(name: str, names: Iterable[str], *, shortened: bool = False) -> str:
    """``did you mean `x`?``, or an empty string where no name is near.

    Args:
        name: What was written.
        names: What could have been, all of the right kind.
        shortened: Whether a known name of fewer words may be meant, as `BLOCK` by `BLOCK_SIZE`.
    """
    found = near_names(name, names, shortened=shortened)
    return f"did you mean {_either(found)}?" if found else ""


def near_names(name: str, names: Iterable[str], *, shortened: bool = False) -> list[str]:
    """The nearest names: up to three, where they are equally near. The arguments are those of `did_you_mean`."""
    ranked = [(rank, known) for known in dict.fromkeys(names) if (rank := _rank(name, known, shortened)) is not None]
    best = min((rank for rank, _ in ranked), default=None)
    found = [known for rank, known in ranked if rank == best]
    return found if len(found) <= _MOST_TOLD else []


def _either(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return " or ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))


def _rank(name: str, known: str, shortened: bool) -> int | None:
    """How far a known name is, the nearest first; None where it is another name."""
    written, meant = name.casefold(), known.casefold()
    if max(len(written), len(meant)) < _LEAST_LETTERS or known.startswith("__"):
        return 0 if written == meant else None
    words, known_words = written.split("_"), meant.split("_")
    pairs = list(zip(words, known_words, strict=True)) if len(words) == len(known_words) else [(written, meant)]
    slips = [_slips(one, other) for one, other in pairs]
    if all(count <= _most_slips(max(pair, key=len)) for count, pair in zip(slips, pairs, strict=True)):
        return sum(slips)
    if sorted(written) == sorted(meant):
        return 2  # in another order
    if len(written) >= _LEAST_ABBREVIATION and (meant.startswith(written) or set(words) < set(known_words)):
        return 3
    is_longer = len(meant) >= _LEAST_ABBREVIATION and (written.startswith(meant) or set(known_words) < set(words))
    return 4 if shortened and is_longer else None


def _most_slips(word: str) -> int:
    if len(word) < _LEAST_LETTERS:
        return 0
    return 1 if len(word) <= _FEW_LETTERS else 2


def _slips(one: str, other: str) -> int:
    """Letters that are missing, too many, wrong, or exchanged with their neighbours."""
    wrong = 2 if max(len(one), len(other)) <= _SHORT else 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, b in enumerate(other, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + wrong * (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                least = min(least, last[j - 2] + 1)
            row.append(least)
    return row[-1]


__all__ = ["did_you_mean", "near_names"]
