"""What a statement is about: names, technical terms and noun phrases. Pure; word lists, no model.

Without a grammar a noun is guessed from the word before it ("a support group", "my studio", "play guitar"). Names and
terms with their versions come first. Chinese has no such words: there the longest runs between function characters are
taken.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoray.text import FUNCTION_WORDS, Token, fold, normalise, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOPICS_COUNT_MAX = 6
PHRASE_COUNT_MAX = 3
LETTERS_COUNT_MIN = 3
HAN_COUNT_MAX = 8

# What a noun, or the words that describe it, may follow.
_OPENS = frozenset(
    "a an the my our his her their its this that these those some any no every each another of in at for about with "
    "on into from as by like drink drinks eat eats play plays played playing use uses used using love loves likes "
    "hate hates prefer prefers speak speaks learn learning learned study studies studying teach teaches own owns have "
    "has had bought buy sell sold read reading wear wears drive drives run runs running went go going goes do does "
    "did doing im enjoy enjoys started stopped took take takes need needs quit upgraded adopted visited got make made "
    "making tried try build built moved work works is are was were".split()
)
# "Green tea" is the noun of "switched to green tea"; "to" alone is mostly a verb's.
_OPENS_TO = frozenset(
    "switch switched switching move moved moving go went going allergic upgrade upgraded migrate migrated listen "
    "listening listened trip visit walk drove drive back addicted used".split()
)
# No topics, even with a capital.
_NEVER = FUNCTION_WORDS | frozenset(
    "dont didnt doesnt cant couldnt isnt wasnt arent wont havent hasnt wouldnt shouldnt youre youve theyre theyve hes "
    "shes itll thatll ill youll theyll id wed theyd hed shed thats theres heres whats lets weve were monday tuesday "
    "wednesday thursday friday saturday sunday january february march april may june july august september october "
    "november december yes yeah no not wow hey please thanks ok okay but then plus than since dr mr mrs ms prof".split()
)
_PLAIN = _NEVER | frozenset(
    "runs uses feels brings reminds stands starts lives likes loves wants carries comes belongs contains includes "
    "alone worth reach share stay stand about above across after again against almost along already also although "
    "always another around away back because become became been before began being best better between both bring "
    "brought came cannot come coming definitely down during early either else enough even ever every everyone "
    "everything anyone anything excited feel feeling felt finally find first found full gave getting get got give "
    "given goes going gone gonna gotta wanna good great happy hard hear heard help helped helps hope inside instead "
    "into just keep keeps kept kind kinda knew know known last late lately later least less let like little long look "
    "looked looking looks lot lots love loved make made makes making many maybe mean means mind more most much must "
    "myself need needed needs never new next nice none nothing now off often old once one ones only open other others "
    "out over own past people person pretty probably quite rather ready real really recently right said same saying "
    "see seem seems seen sent several show some someone something sometimes soon special started still stopped stuff "
    "such super sure take taken takes taking talk talked tell thank that them these thing things think thinking this "
    "those though thought through throughout time times today together told tomorrow tonight took totally toward "
    "tried true trying turn turned under unless until up upon using usually wait want wanted way ways week weeks "
    "weekend well went while whole will with within without wonderful working year years yesterday month months day "
    "days minute minutes hour hours morning night evening afternoon moment moments part amazing awesome beautiful "
    "fantastic incredible important different big small huge tiny favourite favorite fave perfect few couple two "
    "three four five six seven eight nine ten all each ago able bit cool fun proud glad lovely cute tough easy strong "
    "cause us any".split()
)
_VERBLY = re.compile(r"(?:[a-z]{2,}ly|[a-z]{2,}ed)$")
_WORKED_NOUNS = frozenset(
    "family bed reed seed speed breed weed shed feed ted red assembly italy supply reply fly".split()
)
_URL = re.compile(r"\bhttps?://\S+|\bwww\.\S+")
_HAN_RUN = re.compile("[\u4e00-\u9fff]+")
_HAN_SPLIT = re.compile(
    "[我你他她它们的地得了着是在和跟与及或有没不要去来到对把被给从向往为因所以也就还又叫吃喝买卖再才只很太更最这那哪个些吗呢吧啊呀哦嘛今昨明前后天周月年号点半时候能可想让请用"
    "已经将比等之而但如果虽然现每次起做]|上[周个午次]|下[周个午次]|[早晚]上|[之以]上|过(?=[了的]|$)|会(?![议员])|(?<![京首成])都|喜欢|因为|但是|一个|一起|非常|开始|觉得|打算|准备|计划|[一二三四五六七八九十两]+|星期|礼拜"
)


def topics_in(statement: str, not_topics: Iterable[str]) -> list[str]:
    """Up to six topics: names and technical terms first, then noun phrases, in the order of the statement.

    Args:
        statement: as it was said.
        not_topics: names that are said elsewhere, such as the speaker's.
    """
    left_out = {fold(word) for name in not_topics for word in name.split()}
    shown = _URL.sub(" ", normalise(statement))
    found = [token for token in tokens(shown) if token.text not in left_out]
    topics = [*_terms(found, shown), *_phrases(found, shown), *_han_runs(shown)]
    kept: dict[str, str] = {}
    for topic in topics:
        if not any(fold(topic) in known.split() for known in kept):
            kept.setdefault(fold(topic), topic)
    return list(kept.values())[:TOPICS_COUNT_MAX]


def _shown(token: Token, text: str) -> str:
    return re.sub("['\u2019]s$", "", text[token.start : token.end])


def _terms(found: list[Token], text: str) -> Iterator[str]:
    """Words with a capital that their place in the sentence does not explain, with the version behind them."""
    following = [*found[1:], None]
    phrase: list[str] = []
    end = -1
    for token, after in zip(found, following, strict=True):
        shown = _shown(token, text)
        version = ""
        if after is not None and after.script == "number" and text[token.end : after.start] in {" ", " v"}:
            version = text[after.start : after.end]
        is_term = (
            token.script == "word"
            and token.text not in _NEVER
            and (
                any(char.isupper() or char.isdigit() for char in shown[1:])
                or (token.is_capitalised and (not token.is_first or bool(version)))
            )
        )
        if phrase and not (is_term and token.start == end + 1 and text[end] == " "):
            yield " ".join(phrase)
            phrase = []
        if is_term:
            phrase.append(f"{shown} {version}" if version else shown)
            end = token.end
    if phrase:
        yield " ".join(phrase)


def _phrases(found: list[Token], text: str) -> Iterator[str]:
    """Runs of plain words behind a word that opens a noun phrase."""
    phrase: list[str] = []
    end = -1
    is_open = False
    before = ""
    for token in found:
        is_beside = end >= 0 and text[end : token.start] in {" ", "-"}
        if not is_beside:
            if phrase:
                yield " ".join(phrase)
            phrase, is_open = [], False
        end = token.end
        is_noun = (
            is_open
            and token.script == "word"
            and token.text not in _PLAIN
            and len(token.text) >= LETTERS_COUNT_MIN
            and (not _VERBLY.search(token.text) or token.text in _WORKED_NOUNS)
        )
        if is_noun and len(phrase) < PHRASE_COUNT_MAX and not token.is_capitalised:
            phrase.append(token.text)
            before = token.text
            continue
        is_joined = bool(phrase) and token.text in {"and", "or"}
        if phrase:
            yield " ".join(phrase)
            phrase = []
        # A plain adjective leaves the phrase open: "a really nice museum".
        is_described = is_open and token.text != "to" and (token.text in _PLAIN or bool(_VERBLY.search(token.text)))
        is_open = is_joined or is_described or token.text in _OPENS or (token.text == "to" and before in _OPENS_TO)
        before = token.text
    if phrase:
        yield " ".join(phrase)


def _han_runs(text: str) -> list[str]:
    runs = [run for match in _HAN_RUN.finditer(text) for run in _HAN_SPLIT.split(match.group())]
    named = [run for run in runs if 2 <= len(run) <= HAN_COUNT_MAX]  # noqa: PLR2004 - one character is no topic
    return sorted(dict.fromkeys(named), key=lambda run: -len(run))
