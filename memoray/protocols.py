"""What the shell plugs into the pure parts: clock, embedder, extractor."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

import msgspec

from memoray.entries import Entry
from memoray.keys import UserKey
from memoray.messages import Turn
from memoray.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt


class Clock(Protocol):
    """Source of time. The only way for engine code to learn what time it is."""

    def now(self) -> datetime:
        """Wall-clock time; aware, UTC. May step back."""
        ...


class Embedder(Protocol):
    """Text to vectors. Safe to call from several threads."""

    @property
    def name(self) -> str:
        """Name of the model and its version; a store is bound to it."""
        ...

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        ...

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> npt.NDArray[np.float32]:
        """Embed texts.

        Args:
            texts: any number of non-empty texts; longer ones than the model takes are cut by the embedder.
            is_query: they are what is searched for, not what is kept; some models tell the two apart. Somebody waits
                for the answer then, so an embedder that may be slow gives up sooner.

        Returns:
            float32, shape (len(texts), dimension), C-contiguous, rows L2-normalised, in the order of `texts`. A text
            that alone gets no vector has a row of NaN.

        Raises:
            EmbedderUnavailableError: no vectors now.
        """
        ...


class Check(msgspec.Struct, frozen=True):
    """What a checker is shown.

    Attributes:
        user: whose conversation it is.
        session_id: the conversation.
        turns: the delta, in order: those of the submit, and those pending from before.
        extracted_at: recorded time of the session's last extraction; None: never.
        now: recorded time of the submit; aware, UTC.
    """

    user: UserKey
    session_id: str
    turns: tuple[Turn, ...]
    extracted_at: datetime | None
    now: datetime


class Checker(Protocol):
    """Decides whether a delta is extracted now. Pure and quick: it runs in the shard's one writer."""

    def __call__(self, check: Check, /) -> bool:
        """Yes or no; on no, the messages stay pending and are in the next check."""
        ...


class ExtractionRequest(msgspec.Struct, frozen=True):
    """One delta for an extractor.

    Attributes:
        user: whose conversation it is.
        session_id: the conversation.
        turns: the delta, in order.
        known: entries that may already say what the delta says, best first.
        reference_time: recorded time of the newest turn of the delta; aware, UTC.
        deadline_seconds: how long the extractor may take.
    """

    user: UserKey
    session_id: str
    turns: tuple[Turn, ...]
    known: tuple[Entry, ...]
    reference_time: datetime
    deadline_seconds: float


class Extraction(msgspec.Struct, frozen=True):
    """What an extractor proposes for one delta, and what it cost."""

    operations: tuple[Operation, ...]
    model: str
    prompt_version: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


class Extractor(Protocol):
    """Delta to proposed operations. Safe to call from several threads."""

    def extract(self, request: ExtractionRequest) -> Extraction:
        """Propose operations for a delta; decides nothing.

        Raises:
            ExtractorUnavailableError: no answer; the job is retried.
        """
        ...
