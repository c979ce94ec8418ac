"""How people talk without saying anything: openings, greetings, thanks, reactions, requests. Word lists as patterns.

All are tried at the start of a sentence but `ORDER`, which is looked for anywhere; none minds the case.
"""

from __future__ import annotations

import re


def _any_of(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(alternatives)})", re.IGNORECASE)


_S = "(?:'|\u2019)?s"
_NT = "n(?:'|\u2019)?t"
_IM = "i(?:'|\u2019)?m"
_VERY = r"(?:so|really|very|super|just|truly|such|pretty|quite|totally|absolutely|all)"
_PRAISE = (
    "(?:great|awesome|amazing|cool|nice|good|wonderful|fantastic|lovely|right|true|sweet|neat|interesting|impressive"
    "|inspiring|tough|sad|awful|terrible|fine|ok|okay|understandable|incredible|beautiful|exciting|adorable|perfect"
    "|brilliant|fun|hilarious|rough|scary|gorgeous|stunning|cute|crazy|insane)"
)

_OPENERS = (
    "yes yeah yep yup no nope nah ok okay sure well so oh ah aw+ wow woah whoa haha lol hey hi hello thanks btw "
    "actually anyway and but absolutely definitely totally exactly right true great awesome cool nice good indeed "
    "honestly hm+ um+ gosh omg fyi ugh morning evening".split()
)
OPENING = _any_of(
    rf"(?:(?:{'|'.join(_OPENERS)}|thank you|by the way|of course|good (?:news|question|morning|evening|afternoon))\b"
    r"(?: (?-i:[A-Z])[a-z]{1,20})? ?(?:[,!:;\u2013\u2014-]|\.\.\.|\u2026) ?)+"
)
"""What opens a statement and can be left out of it."""

CONJUNCTION = re.compile(r"(?:and|but|so|also|then|or),? ", re.IGNORECASE)
"""What may stand before anything below."""

VOCATIVE = re.compile(r"^[A-Z][a-z]{1,20}, (?=[a-z]|I\b)|, ?[A-Z][a-z]{1,20}(?=[.!]*$)")
"""The name of the listener."""

CHATTER = _any_of(
    r"(?:hi|hey|hello|thanks|thank you|thx|bye|goodbye|see you|see ya|cheers|wow|yay|hooray|congrats|me too|same here"
    r"|take care|welcome|ta|kudos)\b",
    r"(?:let(?:'|\u2019)?s )?talk (?:to you )?(?:soon|later)",
    r"good (?:morning|night|evening|afternoon|luck|to (?:see|hear|know)|job|for you|point|idea|call|thinking)",
    rf"(?:{_IM} |it{_S} )?(?:{_VERY} )*(?:great|nice|good|glad|happy|lovely|sorry|sad|proud|thrilled|pumped|stoked)"
    r" (?:to (?:see|hear|meet|know)|for you|of you|about (?:that|your)|that you|you\b|you(?:'|\u2019))",
    r"sorry (?:to|about|for)|no (?:problem|worries)|any ?time\b|long time no see|no doubt",
    r"(?:you(?:'|\u2019)?re|your) welcome|welcome back|well (?:done|said)|way to go|congratulations",
    r"have (?:a|an|fun)\b|enjoy\b|keep (?:it|up|me|going|on|pushing|at)\b|let me know|stay (?:strong|safe|tuned)",
    r"(?:that )?sounds\b|(?:that|this|it) (?:looks|seems|must)\b",
    rf"that{_S} (?:{_VERY} |a |an )*{_PRAISE}",
    rf"(?:{_VERY} )*{_PRAISE}[.!]*$",
    rf"what an? |how {_PRAISE}",
    rf"it{_S} (?:{_VERY} )*(?:great|good|nice|lovely) to (?:see|hear|know|meet)",
    r"i (?:agree|see|understand|hear you|bet|know)[.!]*$|i (?:agree|hear you|bet)\b(?!.{0,80}\bbut\b)",
    r"you (?:too|got it|rock)|fingers crossed|i hope (?:you|so|that you)|hope (?:you|to see|that|this)",
    r"i(?:'|\u2019)?(?:ll| will) (?:let you know|keep you|do that|do it|check it out|think about it)",
    rf"i (?:ca{_NT}|cannot) (?:agree|thank)|couldn(?:'|\u2019)?t agree more",
)

REMARK = _any_of(
    rf"(?:so|always|just|do{_NT}|do not) (?:remember|forget|let|give up|worry|be|hesitate)|never give up|hang in",
    r"(?:believe in|love|trust|be|take|follow|embrace|remember|cherish|surround) (?:that|your|the|this|it|yourself)\b",
    rf"can(?:'|\u2019)?t wait|looking forward|let(?:'|\u2019)?s\b|gonna be|it{_S} gonna be",
    rf"there{_S} (?:nothing|something)",
    r"i (?:totally|completely|really|so|absolutely|can) (?:agree|get|understand|see|relate)",
    rf"{_IM} (?:{_VERY} |always )*(?:here|glad|happy|proud|sorry|excited|rooting)"
    r" (?:for|of|that|to (?:hear|see|help|support)) ?(?:you)?",
    rf"(?:it|that|this|they|those|these|we|there)(?:{_S}|(?:'|\u2019)re| was| were| is| are| has been| have been)?"
    r"(?: \w{1,20}){0,3}[.!]*$",
    rf"(?:it|that|this|they|those|these)(?:{_S}|(?:'|\u2019)re| was| were| is| are| look| looks)"
    rf" (?:{_VERY} |a |an )*{_PRAISE}\b",
    rf"(?:those|these|this|that|the|your) \w{{1,20}}(?: \w{{1,20}})? (?:is|are|looks?|was|were)"
    rf" (?:{_VERY} )*{_PRAISE}\b[^,]*$",
    rf"(?:{_VERY} )*{_PRAISE} (?:that|how|to|you|job|work|stuff|pic|picture|photo|idea)\b",
    r"(?:keep|stay|go for|just keep|give it|do what|find what)\b",
    r"(?:we|you) (?:got|can do|have got|rock)\b",
)
"""Praise, comfort and remarks on what is at hand: chatter, unless they hold a name, a number or a date."""

REQUEST = _any_of(
    r"(?:please|pls|kindly)\b(?!,? (?:always|never|don(?:'|\u2019)?t (?:ever|use)))",
    r"(?:can|could|would|will) you\b|i(?:'|\u2019)?d (?:like|love|want) you to|i (?:want|need) you to",
    r"(?:tell|show|help|give|find|make|get|send|remind|teach) me\b|what(?:'|\u2019)?s the\b|make sure",
    r"(?:translate|rewrite|write|summari[sz]e|explain|describe|generate|create|draft|compare|calculate|compute|convert"
    r"|suggest|recommend|look up|search for|check whether|forget|ignore|proofread|refactor|pretend|act as|try again)\b",
    r"(?:fix|check|add|set|open|run|print|list|review|update|answer|delete|remove) (?:the|this|that|these|it|all|my)\b",
)

QUESTION = re.compile(
    r"(?:and |but |so |or )?(?:what|how|who|whose|where|when|why|which|do|does|did|are|is|am|was|were|has|have|had|can"
    rf"|could|will|would|should|shall|any|is{_NT}|are{_NT}|do{_NT}|does{_NT}|did{_NT}|wo{_NT}|ca{_NT}|right|huh|you|ok"
    r"|okay|correct|yeah|no|eh|get it)\b",
    re.IGNORECASE,
)
"""How the questioning clause of a sentence begins."""

QUESTION_WITHOUT_MARK = _any_of(
    r"(?:do|does|did|can|could|would|will|are|is|was|were|have|has) (?:your?|my|s?he|they|it|there|i|we|that|this)\b",
    rf"(?:what|where|who|why|how)(?:{_S}| is| are| do| does| did| about| was| were| can| should| would) ",
    r"(?:any|anything|anyone) (?:else|new|plans|ideas|tips|advice|updates?)\b",
    r"(?:i (?:wonder|was wondering)|wondering) (?:if|whether|what|how)\b",
)

ORDER = _any_of(
    r"^\W{0,3}(?:system|assistant|developer|tool|user|human|ai)\s?:",
    r"^\W{0,3}you are (?:now|an? (?:assistant|ai|helpful))\b|system prompt",
    r"\b(?:ignore|disregard|override) (?:all |any |the |your |my )*(?:previous|prior|above|earlier|instructions)",
    r"\b(?:forget|erase|wipe|delete|clear) (?:all )?(?:of )?(?:your|my|the) memor(?:y|ies)\b",
    r"\b(?:forget|erase|wipe|delete|clear) (?:everything|all|what) (?:that )?you know|forget everything",
    r"memory_(?:add|update|delete|clear)",
    r"\bas an ai\b|\bi (?:cannot|can(?:'|\u2019)?t|am unable to) (?:help|assist) with",
    "忘[记掉](?:一切|所有|全部|关于)|忽略(?:之前|以上|上述|所有)|清[空除](?:所有)?记忆",
)
"""Text that orders a model or its memory about, and a model's refusals."""

_MARKUP = re.compile(r"[{\[<]|[\"']?\w{1,40}[\"']\s?:\s?[\"\[{\d]|</?\w{1,40}>?\s*$|[|].*[|]$")
_INNER_MARKUP = re.compile(r"</\w|\"\s?:\s?[\"\[{\d]|\w\(\)\s?\{|[;{]\s*$|=>|&&|\|\|")


def is_markup(sentence: str) -> bool:
    """Whether a sentence is a scrap of markup, JSON, a table or code. One that only mentions a tag is none."""
    return bool(_MARKUP.match(sentence) or _INNER_MARKUP.search(sentence))


HAN_CHATTER = re.compile(
    "^(?:你好|您好|嗨|哈喽|谢谢|多谢|感谢|再见|拜拜|好的|好吧|嗯+|哦+|哇+|是的|是啊|对的?|没错|明白了?|知道了|收到"
    "|不客气|没关系|哈+|早上好|早安|晚安|辛苦了|太好了|真棒|真的|当然|没问题|加油|恭喜|ありがとう(?:ございます)?|こんにちは|おはよう|はい|うん)"
    "(?:你|您|的|帮助|帮忙|建议|回复|支持|了|大家|啊|呀|吧|呢|哦|啦|的)*[，,。！!～~ ]*$"
)
HAN_REQUEST = re.compile(
    "^(?:请(?!客|假|了)|帮我|麻烦|能不能|可以帮|告诉我|给我(?:写|看|讲|推荐|列)|翻译|写一|忘[记掉]|你能|你可以|你会"
    "|您能|推荐一|介绍一下|解释|什么|为什么|怎么)"
)
