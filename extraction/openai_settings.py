"""What an OpenAI-compatible embedder is told. Pure."""

from __future__ import annotations

import msgspec

DEFAULT_BASE_URL = "https://api.openai.com/v1"
DIMENSION_MAX = 65_536


class OpenAiSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which endpoint and model, and how long to wait for it.

    Attributes:
        model: as the endpoint calls it.
        base_url: up to and with the version.
        dimension: asked for and expected; None: the model's own, which the first answer tells.
        timeout: seconds for one attempt.
        seconds_max: time for all that one call needs, retries included; what has no vector by then goes without.
        query_seconds_max: the same where somebody waits for the answer to a search.
        rest_seconds: how long calls fail at once after one has failed, so that searches go on with keywords; doubles
            with each further failure, up to 16 times as long.
    """

    model: str
    base_url: str = DEFAULT_BASE_URL
    dimension: int | None = None
    timeout: float = 10.0
    seconds_max: float = 15.0
    query_seconds_max: float = 3.0
    rest_seconds: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what cannot be meant; `msgspec` makes its own error of a `ValueError`."""
        if not self.model:
            message = "it names no model"
            raise ValueError(message)
        if not self.base_url.startswith(("http://", "https://")):
            message = f"base_url {self.base_url!r} does not begin with http:// or https://"
            raise ValueError(message)
        if self.dimension is not None and not 1 <= self.dimension <= DIMENSION_MAX:
            message = f"dimension {self.dimension} is not from 1 to {DIMENSION_MAX:,}"
            raise ValueError(message)
        for name in ("timeout", "seconds_max", "query_seconds_max", "rest_seconds"):
            seconds: float = getattr(self, name)
            if not 0 < seconds < float("inf"):
                message = f"{name} {seconds} is not a number of seconds above 0"
                raise ValueError(message)
