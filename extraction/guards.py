"""In what two memories differ, by class of token. Pure.

Scores and word overlap cannot tell "Go 1.24" from "Go 1.23" or "does not eat meat" from "does eat meat". What can is a
look at the tokens in which the two texts differ: numbers, negations, dates, names, and the rest; and at what they are
bound to, because "tea over coffee" and "coffee over tea" have the same tokens.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from memoray.extraction.occasions import DATE_MARK, Date, take_dates
from memoray.text import NEGATIONS, STOP_WORDS, UNSPACED_NEGATION, Token, bare_number, normalise, stems, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
# What is left of a contraction once the negation is taken out; of the others nothing that carries meaning.
_DENIED_VERBS = {
    "cannot": "can",
    "cant": "can",
    "wont": "will",
    "hasnt": "has",
    "havent": "have",
    "hadnt": "had",
    "shouldnt": "should",
    "wouldnt": "would",
    "couldnt": "could",
    "mustnt": "must",
    "neednt": "need",
    "shant": "shall",
    "mightnt": "might",
    "wasnt": "was",
    "werent": "was",
}
# "does eat" and "does not eat" differ in the negation, not in the verb that carries it.
_AUXILIARIES = frozenset("do does did".split())
# Who a memory is about when it does not say: "User lives in Portland" is "Lives in Portland".
_SUBJECTS = frozenset("user i".split())
_SKIPPED = _AUXILIARIES | _SUBJECTS | STOP_WORDS

# Words that bind what follows them: a phrase may move as a whole, but not trade its contents with another.
_BINDING = frozenset(
    "and or but of in on at to for with from by as over under before after until since than without into about against "
    "between through during near".split()
)
# Words that a statement means something else without, though they are neither numbers nor negations.
_SHADES = frozenset(
    "rarely seldom almost nearly hardly barely sometimes occasionally formerly previously former used maybe perhaps "
    "possibly probably might may could would should if unless until till only except by was were".split()
)

_UNSPACED_PART = re.compile(
    f"(?P<negation>{UNSPACED_NEGATION.pattern})"
    "|(?P<number>第?[〇零一二两兩三四五六七八九十百千万萬亿億]+"
    "(?=[个個位只隻条條张張本件次年月日天周岁歲歳块元人名口杯家辆輛座间間号號点點分小匹回つ]))"
    "|(?P<word>.)",
    re.DOTALL,
)
_HAN_DIGITS = {char: str(value) for value, char in enumerate("零一二三四五六七八九十")} | {
    "两": "2",
    "兩": "2",
    "〇": "0",
}


class Facets(msgspec.Struct, frozen=True):
    """What a memory's text is made of, by class.

    Attributes:
        numbers: numbers, versions and quantities outside dates, in order, with sign and am or pm.
        negations: how often something is denied.
        dates: days that the text names.
        names: capitalised tokens, but for a first word that nothing else shows to be a name.
        shades: tense, and words such as "almost" that qualify the whole.
        symbols: currencies, emoji, signs of comparison.
        rest: stems of everything else that carries meaning.
        phrases: names, numbers and rest in order, cut before each word that binds.
        is_unspaced: has a script without spaces, where words are not known, only characters.
    """

    numbers: tuple[str, ...]
    negations: int
    dates: frozenset[Date]
    names: frozenset[str]
    shades: frozenset[str]
    symbols: frozenset[str]
    rest: Counter[str]
    phrases: tuple[tuple[str, ...], ...]
    is_unspaced: bool

    @property
    def order(self) -> tuple[str, ...]:
        """Names, numbers and rest in the order of the text, without words that only bind."""
        material = self.material
        return tuple(word for phrase in self.phrases for word in phrase if word in material)

    @property
    def material(self) -> frozenset[str]:
        """Everything that must not be lost."""
        dated = {part for date in self.dates for part in date.parts}
        return frozenset(self.numbers) | self.names | frozenset(self.rest) | self.symbols | dated

    @property
    def frame(self) -> tuple[tuple[str, ...], ...]:
        """The phrases with a gap in the place of each number."""
        numbers = frozenset(self.numbers)
        return tuple(tuple("#" if word in numbers else word for word in phrase) for phrase in self.phrases)


class _Word(msgspec.Struct, frozen=True):
    text: str
    role: str  # "number", "negation", "name", "word", or "binding" for a stop word that only binds
    is_phrase_start: bool = False
    is_past: bool = False


def facets(text: str, known_names: Iterable[str] = ()) -> Facets:
    """Take a text apart.

    Args:
        text: of a memory.
        known_names: participants and locations of either memory: names wherever they stand, in any script.
    """
    dates, undated = take_dates(normalise(text))
    known = frozenset(token.text for name in known_names for token in tokens(name))
    found = tokens(undated)
    words = _without_idioms(list(_words(undated, found, known)))
    names = {word.text for word in words if word.role == "name"}
    names.update(name for name in known for token in found if token.script == "unspaced" and name in token.text)
    # A name that opens a sentence is known by standing elsewhere as one; else its stem counts as any word.
    plain = [word.role == "word" and word.text not in names for word in words]
    stemmed = iter(stems([word.text for word, is_plain in zip(words, plain, strict=True) if is_plain]))
    shown = [next(stemmed) if is_plain else word.text for word, is_plain in zip(words, plain, strict=True)]
    shades = {word.text for word in words if word.text in _SHADES}
    shades |= {f"{stem}+ed" for stem, word in zip(shown, words, strict=True) if word.is_past and stem != word.text}
    phrases: list[list[str]] = [[]]
    for word, spelling in zip(words, shown, strict=True):
        if word.role == "negation":
            continue
        if word.is_phrase_start:
            phrases.append([])
        phrases[-1].append(spelling)
    return Facets(
        numbers=tuple(word.text for word in words if word.role == "number"),
        negations=sum(word.role == "negation" for word in words),
        dates=dates,
        names=frozenset(names),
        shades=frozenset(shades),
        symbols=_symbols(undated, found),
        rest=Counter(stem for stem, is_plain in zip(shown, plain, strict=True) if is_plain),
        phrases=tuple(tuple(phrase) for phrase in phrases if phrase),
        is_unspaced=any(token.script == "unspaced" for token in found),
    )


def _words(text: str, found: list[Token], known: frozenset[str]) -> Iterator[_Word]:
    position = 0
    for index, token in enumerate(found):
        starts = DATE_MARK in text[position : token.start]
        position = token.end
        if token.script == "unspaced":
            yield from _unspaced(token.text)
        elif token.script == "number":
            following = found[index + 1].text if index + 1 < len(found) else ""
            yield _Word(_signed(text, token) + (following if following in {"am", "pm"} else ""), "number", starts)
        elif not (token.text in {"am", "pm"} and index and found[index - 1].script == "number"):
            yield from _spaced(text, token, known, starts=starts)


def _spaced(text: str, token: Token, known: frozenset[str], *, starts: bool) -> Iterator[_Word]:
    word = token.text
    if word in NEGATIONS:
        yield _Word(word, "negation")
        word = _DENIED_VERBS.get(word, "")
        if word and word not in STOP_WORDS:
            yield _Word(word, "word")
        elif word:
            yield _Word(word, "binding")
        return
    starts = starts or word in _BINDING
    # "Portland, OR" and "works at A": a stop word in capitals is a name, though never where it is not in capitals.
    is_shouted = token.is_capitalised and text[token.start : token.end].isupper() and not token.is_first
    if word in _NUMBER_WORDS:
        yield _Word(_NUMBER_WORDS[word], "number", starts)
    elif word in STOP_WORDS and is_shouted:
        yield _Word(word.upper(), "name")
    elif word in {"was", "were"}:
        yield _Word("was", "binding")
    elif word in _BINDING and word in STOP_WORDS:
        yield _Word(word, "binding", starts)
    elif word not in _SKIPPED:
        is_name = word in known or (token.is_capitalised and not token.is_first)
        yield _Word(word, "name" if is_name else "word", starts, is_past=word.endswith("ed"))


def _unspaced(run: str) -> Iterator[_Word]:
    for match in _UNSPACED_PART.finditer(run):
        role = str(match.lastgroup)
        part = match.group()
        yield _Word(_HAN_DIGITS.get(part, part) if role == "number" else part, role)


def _signed(text: str, token: Token) -> str:
    """A number with its minus, where that is no dash between words or digits."""
    before = text[max(0, token.start - 2) : token.start]
    is_negative = before[-1:] in {"-", "\u2013", "\u2212"} and not before[:-1].isalnum() and bool(before)
    return ("-" if is_negative else "") + bare_number(token.text)


def _without_idioms(words: list[_Word]) -> list[_Word]:
    """Words without the second half of "no longer", "not any more" and "not anymore", which deny just once."""
    kept: list[_Word] = []
    is_denied = any(word.role == "negation" for word in words)
    for index, word in enumerate(words):
        before = words[index - 1] if index else None
        is_longer = word.text == "longer" and before is not None and before.text == "no"
        following = words[index + 1].text if index + 1 < len(words) else ""
        is_any_more = word.text == "anymore" or (word.text == "any" and following == "more")
        is_more = word.text == "more" and before is not None and before.text == "any"
        if not (is_longer or (is_denied and (is_any_more or is_more))):
            kept.append(word)
    return kept


def _symbols(text: str, found: list[Token]) -> frozenset[str]:
    symbols: set[str] = set()
    position = 0
    for start, end in [*((token.start, token.end) for token in found), (len(text), len(text))]:
        symbols.update(char for char in text[position:start] if unicodedata.category(char) in {"Sc", "Sm", "So"})
        position = end
    return frozenset(symbols)


def differ_only_in_values(one: Facets, other: Facets) -> bool:
    """Whether the texts say the same of something, but for numbers or negations."""
    if not (one.names or one.rest) or one.frame != other.frame:
        return False
    if (one.shades, one.symbols, one.dates) != (other.shades, other.symbols, other.dates):
        return False
    return one.numbers != other.numbers or one.negations != other.negations


def is_reordered(one: Facets, other: Facets) -> bool:
    """Whether the names or numbers that both have stand in another order.

    "Alice manages Bob" is not "Bob manages Alice", nor "2 dogs and 3 cats" "3 dogs and 2 cats".
    """
    for shared in (one.names & other.names, frozenset(one.numbers) & frozenset(other.numbers)):
        if [word for word in one.order if word in shared] != [word for word in other.order if word in shared]:
            return True
    return False


def names_conflict(new: Facets, old: Facets) -> bool:
    """Whether the new text lacks a name that the old one has; names that it only adds are detail."""
    return bool(old.names - new.names - frozenset(new.order))


def says_nothing_beyond(new: Facets, old: Facets) -> bool:
    """Whether dropping the new text loses nothing: of every class it has what the old one has, and bound alike.

    Only plain words may be fewer, and not in scripts where words are not known.
    """
    if not new.material or not new.dates <= old.dates:
        return False
    if Counter(new.numbers) != Counter(old.numbers) or new.negations != old.negations:
        return False
    if (new.names, new.shades, new.symbols) != (old.names, old.shades, old.symbols):
        return False
    if new.is_unspaced or old.is_unspaced:
        return new.phrases == old.phrases
    return is_within(new, old)


def keeps_everything(new: Facets, old: Facets) -> bool:
    """Whether replacing the old text by the new one loses nothing: all of it is there, bound alike, with detail added.

    A date that gains its year is kept; so is a text whose subject, its first word, stays.
    """
    dates_kept = all(any(date.agrees(known) and known.year >= date.year for known in new.dates) for date in old.dates)
    if not old.material or not dates_kept or new.negations != old.negations:
        return False
    if Counter(old.numbers) - Counter(new.numbers) or not old.shades <= new.shades:
        return False
    return old.names <= new.names and old.symbols <= new.symbols and is_within(old, new)


def is_within(small: Facets, large: Facets) -> bool:
    """Whether every phrase of one text is in a phrase of its own of the other, and both begin with the same word."""
    if not small.phrases or not large.phrases:
        return small.phrases == large.phrases
    if small.phrases[0][0] != large.phrases[0][0]:
        return False
    left = list(large.phrases)
    for phrase in small.phrases:
        home = next((other for other in left if is_subsequence(phrase, other)), None)
        if home is None:
            return False
        left.remove(home)
    return True


def is_subsequence(small: tuple[str, ...], large: tuple[str, ...]) -> bool:
    """Whether all words of one stand in the other, in the same order, with others between them or not."""
    left = iter(large)
    return all(word in left for word in small)
