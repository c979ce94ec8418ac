"""Messages to statements: sentences that say something worth remembering. Pure; rules only, no model.

What is dropped: questions, greetings, thanks and acknowledgements, reactions, requests to the assistant, orders to the
memory, markup and scraps of JSON, code blocks, and sentences without content. A turn stays searchable whatever is
dropped from it here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoray.extraction.delta import without_preloaded

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT_COUNT_MAX = 200_000
STATEMENT_COUNT_MAX = 2_000
WORDS_COUNT_MIN = 3
CHARACTERS_COUNT_MIN = 4

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|e\.g|i\.e|approx|no|inc|ltd|co|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov"
    r"|dec|a\.m|p\.m|u\.s|u\.k)|\b[a-z])\.$",
    re.IGNORECASE,
)
_BREAK = re.compile(
    r"[.!?\u2026]+[\"'\u201d\u2019)\]]*(?=\s|$|[\u4e00-\u9fff])|[\u3002\uff01\uff1f]+[\u201d\u2019\uff09]*|\n+"
)
_BULLET = re.compile(r"^\s*(?:[-*+\u2022]|\d{1,2}[.)])\s+")
_DECORATION = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")

_OPENING = re.compile(
    r"^(?:(?:yes|yeah|yep|yup|no|nope|nah|ok|okay|sure|well|so|oh|ah|aw+|wow|haha|lol|hey|hi|hello|thanks|thank you|btw"
    r"|by the way|actually|anyway|also|and|but|absolutely|definitely|totally|exactly|right|true|of course|great|awesome"
    r"|cool|nice|good|indeed|honestly|hmm+|um+|gosh|omg)\b(?:\s+[A-Z][a-z]+)?\s*(?:[,!:;\u2013\u2014-]|\.\.\.)\s*)+",
    re.IGNORECASE,
)
_CHATTER = re.compile(
    r"^(?:hi|hey|hello|thanks|thank you|thx|bye|goodbye|see you|see ya|talk (?:to you )?(?:soon|later)|take care"
    r"|cheers|good (?:morning|night|evening|afternoon|luck|to see|to hear|job|for you|point|idea)"
    r"|great to (?:see|hear)|nice to (?:see|hear|meet)|glad (?:to hear|you)|happy to hear|sorry to hear"
    r"|no (?:problem|worries)|you(?:'|\u2019)re welcome|welcome back|well done|way to go|congrat"
    r"|have (?:a|fun)|enjoy|keep (?:it|up|me|going)|let me know|sounds|that sounds"
    r"|that(?:'|\u2019)?s (?:so |really |very |just |a |an )*(?:great|awesome|amazing|cool|nice|good"
    r"|wonderful|fantastic|lovely|right|true|sweet|neat|interesting|impressive|inspiring|tough|sad|awful"
    r"|terrible|fine|ok|understandable|incredible|beautiful|exciting)|what a "
    r"|how (?:cool|great|nice|lovely|exciting)|it(?:'|\u2019)s (?:so )?(?:great|good|nice) to|looking forward"
    r"|can(?:'|\u2019)?t wait|i (?:agree|see|understand|hear you|bet)\b|same here|me too"
    r"|you (?:too|got it|rock)|wow|yay|hooray|fingers crossed|i hope (?:you|so|that))",
    re.IGNORECASE,
)
# Praise, comfort and remarks on what is at hand: they say nothing once the moment has passed.
_REMARK = re.compile(
    r"^(?:believe in|don(?:'|\u2019)?t (?:let|give up|worry)|never give up|hang in|love (?:that|your|the|this|it)\b"
    r"|gonna be|i (?:totally|completely|really|so) (?:agree|get|understand)|i(?:'|\u2019)m (?:so |really |very )*"
    r"(?:glad|happy|proud|sorry|excited) (?:for you|to (?:hear|see)|of you|that you|you)"
    r"|(?:it|that|this|they)(?:'|\u2019)?(?:s|re| was| were| is| are| has been)?(?: \w+){0,3}[.!]*$)",
    re.IGNORECASE,
)
_SPECIFIC = re.compile(r"\s[A-Z]\w|\d")
_VOCATIVE = re.compile(r"^[A-Z][a-z]+, (?=[a-z])|,? [A-Z][a-z]+(?=[.!]*$)")
_REQUEST = re.compile(
    r"^(?:please|pls|kindly|can you|could you|would you|will you|tell me|show me|help me|give me"
    r"|find me|translate|write"
    r"|rewrite|summari[sz]e|explain|describe|list|generate|create|draft|compare|calculate|compute|convert|suggest"
    r"|recommend|remind me|look up|search for|check whether|make me|forget|remember that|ignore)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"^\s*(?:system|assistant|developer|tool)\s*:|ignore (?:all |any |the )*(?:previous|prior|above)|forget everything"
    r"|memory_(?:add|update|delete|clear)|as an ai\b|i (?:cannot|can't|can\u2019t) help with",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"^\s*[{\[<]|</\w|\"\s*:\s*[\"\[{\d]|^\s*\|.*\|\s*$")
_OTHER_PERSON = re.compile(r"^(?:you|your|you(?:'|\u2019)(?:re|ve|ll|d))\b", re.IGNORECASE)
_OWN = re.compile(r"\b(?:i|my|me|mine|we|our|us|i(?:'|\u2019)\w+|we(?:'|\u2019)\w+)\b", re.IGNORECASE)
_HAN_CHATTER = re.compile(
    "^(?:你好|您好|嗨|谢谢|多谢|感谢|再见|拜拜|好的|好吧|嗯+|哦+|是的|对的?|没错|明白了?|知道了|收到|不客气|没关系|哈+|早上好|晚安)"
    "[啊呀吧呢了哦，,。！!]*$"
)
_HAN_REQUEST = re.compile("^(?:请|帮我|麻烦|能不能|可以帮|告诉我|给我|翻译|写一|忘记|忘掉)")
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")


def statements(text: str) -> list[str]:
    """Statements of a message, in order, as they were said, less what only opens one ("Yeah, ", "By the way")."""
    plain = _CODE.sub("\n", without_preloaded(text[:TEXT_COUNT_MAX]))
    kept: list[str] = []
    for sentence in _sentences(plain):
        statement = _statement(sentence)
        if statement:
            kept.append(statement)
    return kept


def _sentences(text: str) -> Iterator[str]:
    start = 0
    for match in _BREAK.finditer(text):
        piece = text[start : match.end()]
        # Look at the end only: a long piece is not searched again and again.
        if match.group() == "." and _ABBREVIATION.search(piece[-8:]):
            continue
        yield piece
        start = match.end()
    yield text[start:]


def _statement(sentence: str) -> str:
    """The statement in a sentence, or "" if there is none."""
    shown = _BULLET.sub("", _DECORATION.sub(" ", sentence)).strip()
    if len(shown) > STATEMENT_COUNT_MAX or _MARKUP.search(shown) or _ORDER.search(shown):
        return ""
    bare = shown.rstrip("\"'\u201d\u2019)\uff09 ")
    if bare.endswith(("?", "\uff1f")):
        return ""
    if _UNSPACED.search(shown):
        return "" if _is_empty_unspaced(shown) else shown
    content = _OPENING.sub("", shown).strip()
    said = _VOCATIVE.sub("", content)
    if _CHATTER.match(said) or _REQUEST.match(said) or (_REMARK.match(said) and not _SPECIFIC.search(said)):
        return ""
    if len(_WORD.findall(content)) < WORDS_COUNT_MIN:
        return ""
    if _OTHER_PERSON.match(said) and not _OWN.search(content):
        return ""
    return content[0].upper() + content[1:]


def _is_empty_unspaced(text: str) -> bool:
    letters = sum(char.isalnum() for char in text)
    return (
        letters < CHARACTERS_COUNT_MIN
        or bool(_HAN_CHATTER.match(text))
        or bool(_HAN_REQUEST.match(text))
        or (text.rstrip("。！!.").endswith(("吗", "呢")))
    )
