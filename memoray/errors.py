"""Every error a caller can meet, grouped by who must act.

    MemorayError
    ├── InvalidRequestError        the caller corrects the call
    │   ├── NotFoundError          the thing named does not exist
    │   └── CheckerFailedError     a checker of the caller's raised; nothing was accepted
    ├── UnavailableError           retry later; nothing happened
    │   ├── BusyError              a bound was reached; says when to try again
    │   ├── StorageUnavailableError    the disk refused; nothing was accepted
    │   ├── EmbedderUnavailableError   no vectors now; keyword search goes on
    │   ├── ExtractorUnavailableError  no extraction now; the delta stays pending
    │   ├── ShardUnavailableError  the owner does not answer or is not there
    │   ├── OwnedElsewhereError    another live process owns the store
    │   └── OutcomeUnknownError    asking again with the same request id tells
    ├── FencedError                this owner must stop
    ├── CorruptionError            an operator must look
    └── InternalError              our bug

Errors cross processes: `MemorayError.__reduce__` rebuilds any subclass from its arguments and fields, whatever the
signature of its constructor, so `except FencedError` works at a caller on another node.
"""

from __future__ import annotations


class MemorayError(Exception):
    """Base of all Memoray errors."""

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.args, self.__dict__.copy())


def _rebuild(cls: type[MemorayError], args: tuple[object, ...], fields: dict[str, object]) -> MemorayError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class InvalidRequestError(MemorayError):
    """The call is wrong; the message names the value and what would be right."""


class NotFoundError(InvalidRequestError):
    """The entry, session or store named in the call does not exist."""


class CheckerFailedError(InvalidRequestError):
    """The checker that this process was given raised; nothing was accepted. What it raised is the cause."""


class UnavailableError(MemorayError):
    """Nothing happened; the same call may succeed later."""


class BusyError(UnavailableError):
    """A bound was reached and nothing was accepted.

    Attributes:
        retry_after: seconds after which a retry is sensible.
        request_id: of a refused submit; repeating it under this id lets the later ones of its session pass.
    """

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.request_id: str | None = None


class StorageUnavailableError(UnavailableError):
    """The file system refused; nothing of the call was accepted."""


class EmbedderUnavailableError(UnavailableError):
    """The embedder gave no vectors."""


class ExtractorUnavailableError(UnavailableError):
    """The extractor gave no answer; the delta stays pending and is retried."""


class ShardUnavailableError(UnavailableError):
    """The owner of a shard does not answer or does not exist."""


class OwnedElsewhereError(UnavailableError):
    """Another live process owns the shard; going on would end it."""


class OutcomeUnknownError(UnavailableError):
    """The call may or may not have taken effect; repeat it with the same request id to learn which.

    Attributes:
        request_id: the id to repeat the call with.
    """

    def __init__(self, message: str, *, request_id: str) -> None:
        super().__init__(message)
        self.request_id = request_id


class FencedError(MemorayError):
    """A newer owner has claimed the shard; this one must stop.

    Attributes:
        epoch: the epoch of the owner that must stop.
        newer_epoch: the epoch that fenced it.
    """

    def __init__(self, message: str, *, epoch: int, newer_epoch: int) -> None:
        super().__init__(message)
        self.epoch = epoch
        self.newer_epoch = newer_epoch


class CorruptionError(MemorayError):
    """Stored bytes are not what was written. Nothing is guessed; an operator must look.

    Attributes:
        path: the file.
        offset: byte offset of the first bad byte range in it.
        expected: what should have been there.
        found: what was there.
    """

    def __init__(self, path: str, offset: int, *, expected: str, found: str) -> None:
        super().__init__(f"{path}: corrupt at byte {offset}: expected {expected}, found {found}")
        self.path = path
        self.offset = offset
        self.expected = expected
        self.found = found


class InternalError(MemorayError):
    """An invariant is broken: a bug of ours. The message carries the story."""
