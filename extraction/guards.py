"""In what two memories differ, by class of token. Pure.

Scores and word overlap cannot tell "Go 1.24" from "Go 1.23" or "does not eat meat" from "does eat meat". What can is a
look at the tokens in which the two texts differ: numbers, negations, dates, names, and the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING

import msgspec

from memoray.text import NEGATIONS, STOP_WORDS, UNSPACED_NEGATION, bare_number, fold, stems, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "seventy": "70",
    "eighty": "80",
    "ninety": "90",
    "hundred": "100",
    "thousand": "1000",
    "million": "1000000",
    "once": "1x",
    "twice": "2x",
    "thrice": "3x",
}
# "does eat" and "does not eat" differ in the negation, not in the verb that carries it.
_AUXILIARIES = frozenset("do does did".split())
# Who a memory is about when it does not say: "User lives in Portland" is "Lives in Portland".
_SUBJECTS = frozenset("user i".split())

_SKIPPED = _AUXILIARIES | _SUBJECTS | STOP_WORDS

_HAN_NUMBER = re.compile("[〇零一二两兩三四五六七八九十百千万萬亿億]+")

_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"""
    \b\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}\b
  | \b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\b(?:,?\s+\d{{4}}\b)?
  | \b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}}\b)?
  | (?:\d{{4}}年)?\d{{1,2}}月\d{{1,2}}[日号號]
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DATE_PARTS = re.compile(rf"\d+|{_MONTH}")


class Facets(msgspec.Struct, frozen=True):
    """What a memory's text is made of, by class.

    Attributes:
        numbers: numbers, versions and quantities outside dates.
        negations: how often something is denied.
        dates: full dates (day and month), each as a set of its parts.
        names: capitalised tokens, but for a first word that nothing else shows to be a name.
        rest: stems of everything else that carries meaning.
        order: names, numbers and rest in the order of the text.
    """

    numbers: Counter[str]
    negations: int
    dates: frozenset[frozenset[str]]
    names: frozenset[str]
    rest: Counter[str]
    order: tuple[str, ...]

    @property
    def material(self) -> frozenset[str]:
        """Everything that must not be lost."""
        dated = {part for date in self.dates for part in date}
        return frozenset(self.numbers) | self.names | frozenset(self.rest) | dated


def facets(text: str, known_names: Iterable[str] = ()) -> Facets:
    """Take a text apart.

    Args:
        text: of a memory.
        known_names: participants and locations of either memory: names wherever they stand, in any script.
    """
    found = _DATE.findall(fold(text))
    dates = frozenset(frozenset(_date_part(part) for part in _DATE_PARTS.findall(date)) for date in found)
    undated = _DATE.sub(" ", text)
    names_known = {token.text for name in known_names for token in tokens(name)}
    negations = 0
    names: set[str] = set()
    words: list[tuple[str, str]] = []
    for token in tokens(undated):
        if token.script == "number":
            words.append((bare_number(token.text), "number"))
        elif token.script == "unspaced":
            left, denied, counted = _take_unspaced(token.text)
            negations += denied
            names.update(name for name in names_known if name in token.text)
            words += [(number, "number") for number in counted]
            words += [(char, "word") for char in left]
        elif token.text in NEGATIONS:
            negations += 1
        elif token.text in _NUMBER_WORDS:
            words.append((_NUMBER_WORDS[token.text], "number"))
        elif token.text not in _SKIPPED:
            is_name = token.text in names_known or (token.is_capitalised and not token.is_first)
            words.append((token.text, "name" if is_name else "word"))
    names.update(word for word, what in words if what == "name")
    # A name that opens a sentence is known by standing elsewhere as one; else its stem counts as any word.
    words = [(word, "name" if word in names else what) for word, what in words]
    plain = iter(stems([word for word, what in words if what == "word"]))
    rest = Counter[str]()
    order: list[str] = []
    for word, what in words:
        order.append(next(plain) if what == "word" else word)
        if what == "word":
            rest[order[-1]] += 1
    numbers = Counter(word for word, what in words if what == "number")
    return Facets(numbers, negations, dates, frozenset(names), rest, tuple(order))


def _date_part(part: str) -> str:
    return part.lstrip("0") if part[0].isdigit() else part[:3]


def _take_unspaced(run: str) -> tuple[str, int, list[str]]:
    """A run without its negations and numerals, how many of the one, and the other."""
    plain, denied = UNSPACED_NEGATION.subn("", run)
    counted = _HAN_NUMBER.findall(plain)
    return _HAN_NUMBER.sub("", plain), denied, ["2" if number in "两兩" else number for number in counted]


def times_conflict(one: datetime | None, other: datetime | None) -> bool:
    """Whether two event times say that two things happened.

    They don't when one is unknown, or when one is only a day (midnight) and the other a moment of that day.
    """
    if one is None or other is None or one == other:
        return False
    first, second = one.astimezone(UTC), other.astimezone(UTC)
    is_coarse = first.time() == time(0) or second.time() == time(0)
    return not (is_coarse and first.date() == second.date())


def dates_conflict(one: Facets, other: Facets) -> bool:
    """Whether both texts name full dates, and not the same ones. A date without a year agrees with one with it."""
    if not one.dates or not other.dates:
        return False
    return not (
        all(any(date <= known or known <= date for known in other.dates) for date in one.dates)
        and all(any(date <= known or known <= date for known in one.dates) for date in other.dates)
    )


def differ_only_in_values(one: Facets, other: Facets) -> bool:
    """Whether the texts say the same of something, but for numbers or negations."""
    if one.names != other.names or one.rest != other.rest or not (one.names or one.rest):
        return False
    return one.numbers != other.numbers or one.negations != other.negations


def is_reordered(one: Facets, other: Facets) -> bool:
    """Whether the names or numbers that both have stand in another order.

    "Alice manages Bob" is not "Bob manages Alice", nor "2 dogs and 3 cats" "3 dogs and 2 cats".
    """
    for shared in (one.names & other.names, one.numbers.keys() & other.numbers.keys()):
        if [word for word in one.order if word in shared] != [word for word in other.order if word in shared]:
            return True
    return False


def names_conflict(new: Facets, old: Facets) -> bool:
    """Whether the new text lacks a name that the old one has; names that it only adds are detail."""
    return bool(old.names - new.names - frozenset(new.order))
