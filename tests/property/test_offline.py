"""No text makes the offline extractor fail, and what it proposes can always be stored."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memoray.extraction.offline import OfflineExtractor
from memoray.keys import UserKey
from memoray.messages import Turn, TurnId
from memoray.operations import Add
from memoray.protocols import ExtractionRequest
from memoray.validation import clean_text, normalise_operation

PIECES = st.sampled_from(
    (
        "I |my |is |from Go 1.2 to Go 1.3|yesterday|last |Monday|in 2022|. |? |\n|with Ana |31 February |9999-99-99 "
        "|0 days ago |5月32日|上周|。|don't |any more|(|\"|- |at 25:99 |at 99pm |in 999 years |999 years ago |\u202e"
        "|\U0001f389|I\u0307|\ufb03"
    ).split("|")
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=25).map("".join))
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))  # noqa: DTZ001 - hypothesis wants naive bounds


@given(st.lists(TEXTS, max_size=3), TIMES, st.integers(-14 * 60, 14 * 60), st.sampled_from([None, "Kim"]))
def test_any_text_gives_storable_operations_that_cite_it(
    texts: list[str], time: datetime, offset: int, name: str | None
) -> None:
    said = time.replace(tzinfo=UTC)
    turns = tuple(
        Turn(TurnId(f"t{number}"), "s", number, "user", clean_text(text), said, said, offset, name=name)
        for number, text in enumerate(texts)
    )
    request = ExtractionRequest(UserKey("a", "u"), "s", turns, (), said, 30.0)
    first, second = (OfflineExtractor().extract(request) for _ in range(2))
    assert first == second
    for operation in first.operations:
        assert isinstance(operation, Add)
        assert normalise_operation(operation) == operation
        assert set(operation.sources) <= {turn.id for turn in turns}
        assert operation.sources
