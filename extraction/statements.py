"""Messages to statements: sentences that say something worth remembering. Pure; rules only, no model.

What is dropped: questions, greetings, thanks and acknowledgements, reactions, praise of the listener, requests to the
assistant, orders to the memory, markup and scraps of JSON, and sentences without content. A turn stays searchable
whatever is dropped from it here. In doubt a sentence is kept: a superfluous memory costs a line, a lost one an answer.
"""

from __future__ import annotations

import re

from memoray.extraction import chatter
from memoray.extraction.sentences import sentences
from memoray.text import FUNCTION_WORDS, tokens

STATEMENT_COUNT_MAX = 2_000
"""Characters of the longest statement: what is longer is pasted text, not something said."""

WORDS_COUNT_MIN = 3
OWN_WORDS_COUNT_MIN = 2  # "I'm vegetarian"
LETTERS_COUNT_MIN = 3  # of scripts without spaces

_BULLET = re.compile(r"^\s*(?:[-*+\u2022#]{1,4}|\d{1,3}[.)])\s+")
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\u2b50\u2764\ufe0f\u200d]+")
_SPACES = re.compile(r"\s+")
_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_TO_REMEMBER = re.compile(
    r"^(?:please,? )?(?:remember|note|keep in mind|don(?:'|\u2019)t forget|for your information),?(?: that\b|:|,) ?",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;\u2013\u2014]\s|\s-\s")
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_OWN = re.compile(r"\b(?:i|my|me|mine|we|our|us)\b", re.IGNORECASE)
_OTHER = re.compile(r"\b(?:you|your|yours|yourself|u|ur)\b", re.IGNORECASE)
_SPECIFIC = re.compile(
    r"(?<!^)\b[A-Z](?!['\u2019 ])\w|\d|\b(?:yesterday|tomorrow|tonight|ago"
    r"|(?:last|next|this) (?:week|month|year|night))\b"
)
_NO_CONTENT = FUNCTION_WORDS | frozenset(
    "once twice not no yes yeah ok okay well really totally definitely always never still even ever again now already "
    "one ones thing things something anything everything nothing lot lots bit much many more most way kind sort stuff "
    "good great nice cool awesome amazing excited happy glad fun super pretty wow haha lol thanks sure right true "
    "know think guess mean say said tell want wanted get got getting go going gonna gotta wanna keep make makes see "
    "look looks sound sounds feel feels let lets come back up down out off over all that's only also let's happen "
    "happened wait waiting can cant cannot will wont dont didnt doesnt isnt wasnt arent thats theres it'll itll ill "
    "time day days week weeks month months year years ago last next yesterday today tomorrow tonight morning night "
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday while few couple two three four five six seven since before after until around "
    "about like love loved liked such help helps helped need needs needed give gives given giving hard tough worth "
    "special proud hope believe believing remember forget try trying tried stay staying doing done together alive key "
    "important moment moments words means made making take takes taken taking took find found check watch talk talked "
    "chat long else every each person people other others another myself yourself yourselves ourselves hold sometimes "
    "often usually finally lately recently truly simple perfect best better wonderful incredible inspiring inspired "
    "motivated determined confident excitement wishes bless luck please agree reason ways place".split()
)
_HAN_NO_CONTENT = re.compile("上午|下午|晚上|早上|中午|左右|大概|应该|差不多|可能|[的了是在我你您他她们也就都很那这]")


def statements(text: str) -> list[str]:
    """Statements of a message, in order, as they were said, less what only opens one ("Yeah, ", "By the way")."""
    found = (_statement(sentence) for sentence in sentences(text))
    return [statement for statement in found if statement]


def _statement(sentence: str) -> str:
    """The statement in a sentence, or "" if there is none."""
    if len(sentence) > STATEMENT_COUNT_MAX:
        return ""
    shown = _SPACES.sub(" ", _BULLET.sub("", _EMOJI.sub(" ", sentence))).strip()
    if chatter.is_markup(shown) or chatter.ORDER.search(shown):
        return ""
    if shown.rstrip("\"'\u201d\u2019)\uff09\u300d ").endswith(("?", "\uff1f", "?!")):
        shown = _before_question(shown)
    if _HAN.search(shown):
        return "" if _is_empty_unspaced(shown) else shown
    is_to_remember = _TO_REMEMBER.match(shown)
    content = shown[is_to_remember.end() :] if is_to_remember else _without_opening(shown)
    if not content or _is_chatter(content, is_to_remember=bool(is_to_remember)):
        return ""
    return content[0].upper() + content[1:]


def _before_question(sentence: str) -> str:
    """What is said before a question is asked in the same breath: "I moved to Lyon, what about you?"."""
    breaks = list(_CLAUSE.finditer(sentence))
    if not breaks or not chatter.QUESTION.match(sentence[breaks[-1].end() :]):
        return ""
    said = sentence[: breaks[-1].start()].rstrip()
    return f"{said}." if _OWN.search(said) and not chatter.QUESTION.match(said) else ""


def _without_opening(sentence: str) -> str:
    opening = chatter.OPENING.match(sentence)
    if opening is None:
        return sentence
    content = sentence[opening.end() :].strip()
    is_thanks = "thank" in opening.group().lower()
    return "" if is_thanks and not _OWN.match(content) else content


def _is_chatter(content: str, *, is_to_remember: bool) -> bool:
    said = chatter.VOCATIVE.sub("", content)
    words_count_min = OWN_WORDS_COUNT_MIN if _OWN.match(content) else WORDS_COUNT_MIN
    if len(_WORD.findall(content)) < words_count_min or not has_content(said):
        return True
    if is_to_remember:
        return False
    is_specific = bool(_SPECIFIC.search(said))
    conjunction = chatter.CONJUNCTION.match(said)
    said = said[conjunction.end() :] if conjunction else said
    if chatter.CHATTER.match(said) or chatter.REQUEST.match(said) or chatter.QUESTION_WITHOUT_MARK.match(said):
        return True
    if chatter.REMARK.match(said) and not is_specific:
        return True
    # What is said about the listener is praise or comfort; what they are, they say themselves.
    is_about_listener = bool(_OTHER.search(said)) and not _OWN.search(said)
    return is_about_listener and (not is_specific or bool(_OTHER.match(said)))


def has_content(statement: str) -> bool:
    """Whether there is a word in it that says something on its own."""
    return any(
        bool(_HAN_NO_CONTENT.sub("", token.text)) if token.script == "unspaced" else token.text not in _NO_CONTENT
        for token in tokens(statement)
    )


def _is_empty_unspaced(text: str) -> bool:
    return (
        sum(char.isalnum() for char in text) < LETTERS_COUNT_MIN
        or bool(chatter.HAN_CHATTER.match(text))
        or bool(chatter.HAN_REQUEST.match(text))
        or text.rstrip("\u3002\uff01!. ").endswith(("吗", "呢", "か"))
    )
