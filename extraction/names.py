"""Who and where: people and places of a statement, by capitals and the words before them. Pure.

A capital is all there is to go by, so a person is whom someone was with or who is called a friend or a relative, and a
place is where something was. Everything else is left out: a missing name costs less than a wrong one.
"""

from __future__ import annotations

import re

NAMES_COUNT_MAX = 16

_NOT_NAMES = frozenset(
    "i im monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december christmas easter halloween thanksgiving english french german spanish "
    "chinese japanese italian portuguese russian korean dutch european american british go python rust java "
    "javascript typescript kotlin swift ruby php c docker kubernetes linux windows macos git github slack excel word "
    "vim emacs helix postgres redis kafka react django god covid ai it hr pr ui ceo cto the a an my our his her "
    "their".split()
)
_NAME = r"[A-Z][\w\u00c0-\u024f'\u2019-]{1,40}"
_FULL_NAME = rf"(?:(?:Dr|Mrs?|Ms|Prof)\.? )?{_NAME}(?: {_NAME}){{0,2}}"
_NAME_LIST = rf"(?P<names>{_FULL_NAME}(?:(?:, and |, | and | & ){_FULL_NAME}){{0,8}})"
_RELATIONS = (
    "friends? sisters? brothers? wife husband partner fianc[e\u00e9]e? girlfriend boyfriend mother father mum mom dad "
    "sons? daughters? kids children cousins? aunt uncle niece nephew grandmother grandfather grandma grandpa boss "
    "manager colleagues? co-?workers? teammates? mentor neighbou?rs? teacher coach doctor roommate flatmate buddy pal "
    "dog cat puppy kitten".split()
)
_RELATION = f"(?:{'|'.join(_RELATIONS)})"
_OWNER = r"(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|an?)"
_PEOPLE = (
    re.compile(rf"\b(?:with|met|married|and) (?:{_OWNER} )(?:[a-z-]{{1,20}} ){{0,2}}{_NAME_LIST}"),
    re.compile(rf"\b(?:with|met|married|joined by) {_NAME_LIST}"),
    re.compile(rf"\b{_OWNER} (?:[a-z-]{{1,20}} ){{0,2}}{_RELATION},? {_NAME_LIST}"),
    re.compile(rf"\b{_RELATION}(?: (?:is|are|was|were))?,? (?:named|called) {_NAME_LIST}"),
    re.compile(rf"^{_NAME_LIST}(?:,? and) I\b"),
)
_SEPARATOR = re.compile(r", and |, | and | & ")

_PLACE = re.compile(
    r"\b(?:in|at|near|to|visit(?:ed|ing|s)?"
    r"|(?:am|is|are|'m|\u2019m|'s|\u2019s|come|comes|came|back) from) (?:the )?"
    rf"(?P<place>{_NAME}(?: (?:(?:of|de|del|la|le) )?{_NAME}){{0,3}})(?P<after>(?: [\w'\u2019.-]{{1,20}})?)"
)
# "The Rotary community": what follows says that the name only describes.
_CLOSES_NAME = frozenset(
    "and or with on in at for by to from when where while because since last next this that yesterday today tomorrow "
    "tonight about around after before is was are were has had will would then but so which who as if again twice "
    "once every during until we i they he she it now later together alone".split()
)
_TO = re.compile(
    r"\b(?:go(?:es|ing|ne)?|went|mov(?:e|es|ed|ing)|travel\w{0,5}|trips?|fl(?:ew|y|ying|ights?)|dr(?:ive|ove|iving)"
    r"|head(?:ed|ing)|relocat\w{1,4}|back|been|came|com(?:e|ing)|return\w{0,3}|visit|commute|ran|walked|rode|sent"
    r"|shipped) (?:\w{1,12} ){0,2}$"
)
_MIXED_CASE = re.compile(r"[a-z][A-Z]|[A-Z]{3}|\d")

_HAN_SURNAME = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林郑罗梁宋谢唐韩曹许邓萧冯曾程蔡彭潘袁董余苏叶吕魏蒋田杜丁沈姜范江傅钟卢"
    "汪戴崔任陆廖姚方金邱夏谭韦贾邹石熊孟秦阎薛侯雷龙段郝孔邵史毛钱"
)
_HAN_PERSON = re.compile(
    rf"(?:和|跟|与|叫|见了|遇到|认识了)(?P<name>[小老阿][\u4e00-\u9fff]|[{_HAN_SURNAME}][\u4e00-\u9fff]{{1,2}}?)"
    "(?=一起|一块|去|吃|见|说|聊|在|到|来|结婚|打|看|开会|[，。！,.!、]|$)"
)
_HAN_PLACES = (
    "北京 上海 天津 重庆 广州 深圳 杭州 南京 苏州 成都 武汉 西安 长沙 青岛 大连 厦门 昆明 沈阳 哈尔滨 郑州 济南 合肥 "
    "福州 宁波 无锡 三亚 桂林 丽江 拉萨 乌鲁木齐 香港 澳门 台北 台湾 高雄 东京 京都 大阪 首尔 新加坡 曼谷 巴黎 伦敦 "
    "柏林 纽约 旧金山 洛杉矶 西雅图 悉尼 多伦多 日本 韩国 美国 英国 法国 德国 加拿大 澳大利亚 泰国 意大利 西班牙 云南 "
    "四川 西藏 新疆 海南".split()
)
_HAN_PLACE = re.compile(f"[在去到来飞]了?(?P<place>{'|'.join(_HAN_PLACES)}|[\u4e00-\u9fff]{{2,3}}[市省县])")


def people_in(statement: str) -> list[str]:
    """Names of people that someone was with, met or is related to, in order, without repeats."""
    found: list[tuple[int, str]] = []
    for pattern in _PEOPLE:
        for match in pattern.finditer(statement):
            is_product = statement[match.end() : match.end() + 2].strip()[:1].isdigit()
            names = [] if is_product else [bare_name(name) for name in _SEPARATOR.split(match["names"])]
            found += [(match.start("names"), name) for name in names if is_person(name)]
    found += [(match.start("name"), match["name"]) for match in _HAN_PERSON.finditer(statement)]
    return list(dict.fromkeys(name for _, name in sorted(found, key=lambda item: item[0])))[:NAMES_COUNT_MAX]


def place_in(statement: str) -> str:
    """The first place of a statement; "" if there is none."""
    han = _HAN_PLACE.search(statement)
    if han is not None:
        return han["place"]
    people = set(people_in(statement))
    at = ""
    for match in _PLACE.finditer(statement):
        place = bare_name(match["place"])
        if match.group().startswith("to ") and not _TO.search(statement[: match.start()]):
            continue
        after = match["after"].strip()
        is_adjective = bool(after) and after[0].islower() and after.rstrip(".") not in _CLOSES_NAME
        is_possessive = place != match["place"]
        if is_adjective or is_possessive or after[:1].isdigit() or place in people or not _is_name(place):
            continue
        if not (_MIXED_CASE.search(place) and place.upper() not in {"USA", "UK", "NYC", "UAE"}):
            if not match.group().startswith("at "):
                return place
            at = at or place
    return at  # "at Acme in Porto" is in Porto


def bare_name(name: str) -> str:
    """A name without a possessive."""
    return re.sub("['\u2019]s?$", "", name)


def is_person(name: str) -> bool:
    """Whether a name may be a person's: no weekday, language or common tool, no acronym, no inner capitals."""
    return _is_name(name) and not _MIXED_CASE.search(name.replace("Mc", "").replace("Mac", ""))


def _is_name(name: str) -> bool:
    return bool(name) and re.sub(r"['\u2019]", "", name.split(maxsplit=1)[0]).lower() not in _NOT_NAMES
