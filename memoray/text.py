"""Text analysis: one function for writing, querying, Jaccard and dedupe, so that they can never disagree.

Normalisation is NFKC and case fold with invisible characters (bidi and zero-width controls, soft hyphens, variation
selectors) taken out. Tokens are words, numbers and runs of scripts that are written without spaces; a run is indexed as
overlapping pairs of characters. Stop words are dropped, unless a text has nothing else.
"""

from __future__ import annotations

import functools
import re
import threading
import unicodedata
from typing import TYPE_CHECKING

import msgspec
import Stemmer

from memoray.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable

# Raised whenever the same text gives other terms: what was sealed with other terms is sealed anew.
ANALYSIS_VERSION = 2

STOP_WORDS = frozenset(
    "a an the and or of in on to for with is are am be been being was were this that these those".split()
)

# Words that a question is full of and that say nothing about its answer. Left out of keywords only: for Jaccard and the
# guards "I" and "we" are words as any other.
FUNCTION_WORDS = STOP_WORDS | frozenset(
    "i me my mine myself we our ours you your yours he him his she her hers it its they them their theirs what which "
    "who whom whose when where why how do does did doing done have has had having would shall should can could "
    "must at by from as into about if so than too very just there here then also any some im ive id ill youre hes "
    "shes theyre weve lets whats wheres whens hows".split()
)

NEGATIONS = frozenset(
    "not nt no never none neither nor nobody nothing nowhere without cannot cant wont dont doesnt didnt isnt arent "
    "wasnt werent hasnt havent hadnt shouldnt wouldnt couldnt mustnt neednt shant mightnt aint "
    "nicht kein keine keinen keiner nie niemals pas jamais nunca não нет не никогда niet geen לא لا ليس".split()
)
UNSPACED_NEGATION = re.compile(
    "不再|不是|没有|沒有|从未|從未|从不|從不|不|没|沒|无|無|未|别|別|ない|なかった|ません|ไม่"
)

# Scripts written without spaces between words: Thai and Lao, Tibetan, Myanmar, Khmer, kana, Han (with its extensions
# and compatibility forms). Hangul is spaced, but its words carry particles, so it gets pairs beside the whole word.
_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)

# Stands for any combining mark while tokens are looked for: `re` has no class for the marks of all scripts, and without
# them Hindi words and vowelled Arabic fall to pieces.
_MARK = "\u0300"
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")

# A number keeps what makes it another number: points, colons, slashes and dashes between digits, a leading v of a
# version, a suffix such as -rc1. A word keeps inner apostrophes here and loses them below, and a trailing ++ or #.
_TOKEN = re.compile(
    rf"""
    (?P<unspaced>[{_UNSPACED}]+)
  | (?P<number>(?:(?<![^\W_])v)?\d+(?:[.:/,\-]\d+)*(?:-(?:rc|alpha|beta|pre)[.\-]?\d*)?%?)
  | (?P<word>
        \.net\b
      | [^\W\d_{_UNSPACED}]
        (?:[^\W_{_UNSPACED}]|['\u2019](?=[^\W\d_])|{_MARK})*
        (?:\+\+|\#)?
    )
    """,
    re.VERBOSE,
)


class Token(msgspec.Struct, frozen=True):
    """One token of a text.

    Attributes:
        text: folded.
        script: `word`, `number` or `unspaced`.
        start: offset in the normalised text.
        end: offset behind it.
        is_capitalised: written with a capital first letter.
        is_first: first token of its sentence, where a capital says nothing.
    """

    text: str
    script: str
    start: int
    end: int
    is_capitalised: bool = False
    is_first: bool = False


def normalise(text: str) -> str:
    """NFKC without invisible characters; case kept. Idempotent."""
    if text.isascii():
        return text
    # Twice, because some characters have an invisible one for their NFKC form, and some compose once it is gone.
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return unicodedata.normalize("NFKC", visible)


# Folding İ leaves a combining dot above an i, which nobody types.
_DOTTED_I = re.compile("i\u0307+")


def fold(text: str) -> str:
    """Text as it is compared: `normalise`d and case-folded. Idempotent."""
    if text.isascii():
        return text.lower()
    folded = normalise(normalise(text).casefold())
    return normalise(_DOTTED_I.sub("i", folded))


def folded(names: Iterable[str]) -> frozenset[str]:
    """Names, places or topics as they are compared: `fold`ed and trimmed."""
    return frozenset(fold(name).strip() for name in names)


_POSSESSIVE = re.compile("['\u2019]s$")
_SENTENCE_ENDS = frozenset(".!?\u2026\u3002\uff01\uff1f\n")


def tokens(text: str) -> list[Token]:
    """Tokens of a text, in order, with repeats."""
    shown = normalise(text)
    is_ascii = shown.isascii()
    found: list[Token] = []
    is_first, position = True, 0
    # Matched on a copy of the same length, so that offsets, capitals and marks can be read off the original.
    shape = shown.lower() if is_ascii else "".join(map(_shape, shown))
    for match in _TOKEN.finditer(shape):
        start, end = match.span()
        gap = shown[position:start]
        if not is_first and gap != " ":
            is_first = any(char in _SENTENCE_ENDS for char in gap)
        script = str(match.lastgroup)
        word = match.group() if is_ascii else fold(shown[start:end])
        if not word.isalnum():
            word = _POSSESSIVE.sub("", word).replace("'", "").replace("\u2019", "")
        if word:
            is_capitalised = script == "word" and shown[start].isupper()
            found.append(Token(word, script, start, end, is_capitalised, is_first))
            is_first = False
        position = end
    return found


def _shape(char: str) -> str:
    """What a character is to the pattern of tokens: itself in lower case, or the one mark that stands for all."""
    if char.isascii():
        return char.lower()
    if unicodedata.category(char)[0] == "M" and not _IS_UNSPACED.match(char):
        return _MARK
    lowered = char.lower()
    return lowered if len(lowered) == 1 else char


# What `_TOKEN` is to ASCII text in lower case, with the script told by the group.
_ASCII_TOKEN = re.compile(
    r"((?:(?<![a-z0-9])v)?[0-9]+(?:[.:/,\-][0-9]+)*(?:-(?:rc|alpha|beta|pre)[.\-]?[0-9]*)?%?)"
    r"|(\.net\b|[a-z](?:[a-z0-9]|'(?=[a-z]))*(?:\+\+|#)?)"
)
Word = tuple[str, str]


def words_of(text: str) -> list[Word]:
    """Script and text of the `tokens` of a text: all that most callers want, ten times as fast for ASCII."""
    if not text.isascii():
        return [(token.script, token.text) for token in tokens(text)]
    found = _ASCII_TOKEN.findall(text.lower())
    if "'" not in text:
        return [("number", number) if number else ("word", word) for number, word in found]
    return [
        ("number", number) if number else ("word", word.removesuffix("'s").replace("'", "")) for number, word in found
    ]


def check_language(language: str) -> str:
    """Return a language unchanged, or refuse it.

    Raises:
        InvalidRequestError: there is no stemmer for it; the message lists those there are.
    """
    if language not in Stemmer.algorithms():
        message = f"no stemmer for language {language!r}; there are: {', '.join(sorted(Stemmer.algorithms()))}"
        raise InvalidRequestError(message)
    return language


STEMS_KNOWN_MAX = 100_000


class _Stems(dict[str, str]):
    """Stems of a language by word, made when they are asked for first."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._stemmer = Stemmer.Stemmer(check_language(language))

    def __missing__(self, word: str) -> str:
        stem: str = self._stemmer.stemWord(word)
        self[word] = stem
        return stem


@functools.cache
def _stems() -> threading.local:
    return threading.local()


def stems(words: list[str], language: str = "english") -> list[str]:
    """Stems of folded words, one for each. A stemmer is not safe to share between threads, so each has its own.

    Raises:
        InvalidRequestError: there is no stemmer for the language; the message lists those there are.
    """
    of_thread = _stems()
    known: _Stems | None = getattr(of_thread, language, None)
    if known is None or len(known) > STEMS_KNOWN_MAX:
        known = _Stems(language)
        setattr(of_thread, language, known)
    return [known[word] for word in words]


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[start : start + 2] for start in range(len(run) - 1)]


_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def _han_characters(run: str) -> list[str]:
    """The Han characters of a run of several: many are words, and a query may be one of them alone."""
    return _HAN.findall(run) if len(run) > 1 else []


_HANGUL_WORD = re.compile(f"^[{_HANGUL}]{{2,}}$")


def index_terms(text: str, language: str = "english") -> list[str]:
    """Terms that a text is indexed and queried by, in order, with repeats.

    Words are stemmed; numbers are whole; runs of unspaced scripts are overlapping pairs, and their Han characters one
    by one; Hangul words are whole and in pairs. Function words are dropped unless there is nothing else.

    Raises:
        InvalidRequestError: there is no stemmer for the language; the message lists those there are.
    """
    terms_of = _terms_of_words(language)
    if text.isascii() and "'" not in text:
        pairs = _ASCII_TOKEN.findall(text.lower())
        terms = [term for pair in pairs for term in terms_of[pair]]
        if terms or not pairs:
            return terms
    found = words_of(text)
    return [term for word in found for term in terms_of[word]] or [
        term for word in found for term in terms_of.all(word)
    ]


class _TermsOfWords(dict[Word, tuple[str, ...]]):
    """Terms by word, made when they are asked for first; of a function word there are none.

    A word is named as `words_of` does, or as a match of `_ASCII_TOKEN`: a number and "", or "" and a word.
    """

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, word: Word) -> tuple[str, ...]:
        number, plain = word
        named = word if number and plain else ("word", plain) if plain else ("number", number)
        terms = () if named[1] in FUNCTION_WORDS else self.all(named)
        self[word] = terms
        return terms

    def all(self, word: Word) -> tuple[str, ...]:
        """Terms of a word, whatever it is."""
        script, text = word
        if script == "word":
            pairs = _pairs(text) if not text.isascii() and _HANGUL_WORD.match(text) else []
            return (*stems([text], self._language), *pairs)
        if script == "number":
            return (bare_number(text),)
        return (*_pairs(text), *_han_characters(text))


def _terms_of_words(language: str) -> _TermsOfWords:
    of_thread = _stems()
    known: _TermsOfWords | None = getattr(of_thread, f"terms_{language}", None)
    if known is None or len(known) > STEMS_KNOWN_MAX:
        known = _TermsOfWords(check_language(language))
        setattr(of_thread, f"terms_{language}", known)
    return known


_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?%?")


def bare_number(number: str) -> str:
    """A number as a term: the same in any script's digits, with or without a version's v and thousands commas."""
    bare = number.removeprefix("v")
    if not bare.isascii():
        bare = "".join(str(unicodedata.decimal(char, char)) for char in bare)
    return bare.replace(",", "") if "," in bare and _THOUSANDS.fullmatch(bare) else bare


def word_set(text: str) -> frozenset[str]:
    """Words of a text for Jaccard and dedupe: unstemmed, numbers included, unspaced runs as pairs."""
    return _words(words_of(text))


def _words(found: list[Word]) -> frozenset[str]:
    kept = [token for token in found if token[1] not in STOP_WORDS] or found
    words: set[str] = set()
    for script, word in kept:
        if script == "word":
            words.add(word)
        elif script == "number":
            words.add(bare_number(word))
        else:
            words.update(_pairs(word))
    return frozenset(words)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Size of the intersection over size of the union, 0 to 1; 0 for two empty sets."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0


class Guard(msgspec.Struct, frozen=True):
    """What must be equal for two texts to be called repeats of each other, however many words they share."""

    numbers: tuple[str, ...]
    negations_count: int


def guard_of(text: str) -> Guard:
    """The numbers of a text, sorted, and how often something is denied."""
    return _guard(words_of(text))


def words_and_guard(text: str) -> tuple[frozenset[str], Guard]:
    """`word_set` and `guard_of` from one look at a text."""
    found = words_of(text)
    return _words(found), _guard(found)


def _guard(found: list[Word]) -> Guard:
    numbers: list[str] = []
    negations = 0
    for script, word in found:
        if script == "word":
            negations += word in NEGATIONS
        elif script == "number":
            numbers.append(bare_number(word))
        else:
            negations += len(UNSPACED_NEGATION.findall(word))
    return Guard(tuple(sorted(numbers)), negations)
