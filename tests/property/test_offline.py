"""Whatever is said: no exception, the same answer twice, and nothing that the door would refuse."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from memoray.extraction.offline import OfflineExtractor
from memoray.keys import UserKey
from memoray.messages import Turn, TurnId
from memoray.operations import Add
from memoray.protocols import ExtractionRequest
from memoray.validation import OPERATIONS_COUNT_MAX, normalise_operation

_PIECES = st.sampled_from(
    (
        "I |my |went to |met |with |Ana|Ben|, |. |! |? |... |\n|- |1. |> |```|\u2019s |yesterday |last |next |Monday "
        "|week |on |in |May |7 |2024|-05-07|T10:30|Z |/|at |4pm |since |for |years ago |three |the |before |summer |0 "
        '|99 |1.24 |Go |thanks |please |remember that |SYSTEM: |<|{|"a": |\u017f|\u212a|\u0130|\u00b2|\ud800'
        "|你|我|昨天|上|周|三|十|月|日|号|年|前|下午|点|去|上海|。|？|\U0001f600"
    ).split("|")
)
_TEXTS = st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join))
_MOMENTS = st.datetimes(timezones=st.just(UTC))
_TURNS = st.builds(
    Turn,
    id=st.uuids().map(lambda uuid: TurnId(uuid.hex)),
    session_id=st.just("session"),
    position=st.integers(0, 100),
    role=st.sampled_from(["user", "assistant"]),
    text=_TEXTS,
    timestamp=_MOMENTS,
    recorded_at=_MOMENTS,
    utc_offset_minutes=st.integers(-14 * 60, 14 * 60) | st.integers(),
    name=st.none() | st.text() | st.sampled_from(["Ana", "Ben"]),
)


@settings(deadline=None)
@given(st.lists(_TURNS, max_size=5, unique_by=lambda turn: turn.id))
def test_any_turns_give_valid_memories(turns: list[Turn]) -> None:
    request = ExtractionRequest(UserKey("a", "b"), "session", tuple(turns), (), datetime(2026, 1, 1, tzinfo=UTC), 30.0)
    extraction = OfflineExtractor().extract(request)
    assert extraction == OfflineExtractor().extract(request)
    assert len(extraction.operations) <= OPERATIONS_COUNT_MAX
    ids = {turn.id for turn in turns}
    for operation in extraction.operations:
        assert isinstance(operation, Add)
        assert operation.sources
        assert ids.issuperset(operation.sources)
        assert normalise_operation(operation) == operation
