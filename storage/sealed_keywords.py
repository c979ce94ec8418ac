"""The sealed part of the keyword index: a Tantivy directory that is written once and only read afterwards.

A term is indexed inside its name space (a prefix chosen by the writer), so no query can touch another space's postings.
A document is its number. How often a document has a term is indexed too, as further terms for "at least twice", "at
least three times" and so on, since Tantivy tells scores and not counts; and scores are ours to compute.

A posting is one integer: the document's number times 16, plus the count, at most 15. Beyond that BM25 no longer tells
counts apart: a sixteenth occurrence adds less than a hundredth of the first.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np
import tantivy

from memoray.errors import CorruptionError, InternalError
from memoray.storage.columns import Binary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import numpy.typing as npt

    Postings = npt.NDArray[np.int64]

COUNT_BITS = 4
COUNT_MAX = (1 << COUNT_BITS) - 1
WRITER_HEAP_BYTES = 64 * 2**20
CACHE_BYTES_MAX = 64 * 2**20
ITEM_BYTES = 200  # of a cached item beside its array, about
TERM_BYTES_MAX = 1024
# A list of so many postings is a long one.
LONG_MIN = 256
HASHED = "\x1f"
AT_LEAST = "\x1e"
NOTHING = np.empty(0, np.int64)


def posting(number: int, count: int) -> int:
    """A document's number and how often it has a term, as one integer."""
    return number << COUNT_BITS | min(count, COUNT_MAX)


def bounded(term: str) -> str:
    """The term, or its hash where Tantivy could not hold it: over-long, without a UTF-8 form, or with our marks."""
    if term.isascii() and len(term) <= TERM_BYTES_MAX and not (term.startswith(HASHED) or AT_LEAST in term):
        return term
    encoded = term.encode(errors="surrogatepass")
    is_plain = len(encoded) <= TERM_BYTES_MAX and not (term.startswith(HASHED) or AT_LEAST in term)
    if is_plain and encoded.decode(errors="ignore") == term:
        return term
    return HASHED + hashlib.blake2b(encoded, digest_size=16).hexdigest()


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("term", stored=False, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("number", stored=False, indexed=False, fast=True)
    return builder.build()


def write_keywords(directory: Path, documents: Iterable[tuple[int, str, Mapping[str, int]]]) -> int:
    """Write an index into an empty directory. Not synced: the caller syncs all files of a generation.

    Args:
        directory: exists and is empty.
        documents: number, prefix of its space, and count by term (`bounded`).

    Returns:
        How many documents there were.

    Raises:
        InternalError: Tantivy holds another number of documents than were given to it.
        OSError: the file system refused.
    """
    try:
        index = tantivy.Index(_schema(), path=str(directory))
        writer = index.writer(WRITER_HEAP_BYTES, 1)
        given = 0
        for number, prefix, counts in documents:
            made = tantivy.Document()
            made.add_unsigned("number", number)
            for term, count in counts.items():
                made.add_text("term", prefix + term)
                for least in range(2, min(count, COUNT_MAX) + 1):
                    made.add_text("term", f"{prefix}{term}{AT_LEAST}{least}")
            writer.add_document(made)
            given += 1
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        held = index.searcher().num_docs
    except ValueError as error:  # what tantivy-py makes of any error of Tantivy's, those of files included
        message = f"{directory}: Tantivy cannot write: {error}"
        raise OSError(message) from error
    if held != given:
        message = f"{directory}: Tantivy holds {held} documents, {given} were given to it"
        raise InternalError(message)
    return given


class LongPostings:
    """The long lists of an index beside it, as arrays: Tantivy's Python hands out postings one object at a time."""

    def __init__(self, keys: Binary, starts: Postings, postings: Postings, count_max: Postings) -> None:
        """View columns: keys (prefix and term), sorted bytewise; where each list begins; the lists; highest counts."""
        self._keys = keys
        self._starts = starts
        self._postings = postings
        self._count_max = count_max

    def get(self, key: str) -> tuple[Postings, int] | None:
        """A list as `SealedKeywords.of_term` gives it, if it is a long one."""
        row = self._keys.find(key.encode(), 0, len(self._keys))
        if row < 0:
            return None
        return self._postings[self._starts[row] : self._starts[row + 1]], int(self._count_max[row])


class LongLists:
    """Collects the long lists of documents while they are being indexed."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lists: dict[str, list[int]] = {}

    def take(self, number: int, prefix: str, counts: Mapping[str, int]) -> None:
        """Take in a document; numbers ascend within a prefix."""
        lists = self._lists
        for term, count in counts.items():
            key = prefix + term
            known = lists.get(key)
            if known is None:
                lists[key] = [posting(number, count)]
            else:
                known.append(posting(number, count))

    def columns(self) -> tuple[Binary, Postings, Postings, Postings]:
        """What `LongPostings` views."""
        chosen = sorted((key.encode(), found) for key, found in self._lists.items() if len(found) >= LONG_MIN)
        arrays = [np.array(found, np.int64) for _, found in chosen]
        starts = np.cumsum([0, *map(len, arrays)])
        count_max = np.array([int((array & COUNT_MAX).max()) for array in arrays], np.int64)
        joined = np.concatenate(arrays) if arrays else NOTHING
        return Binary.of([key for key, _ in chosen]), starts, joined, count_max


class SealedKeywords:
    """An index that `write_keywords` wrote. Any number of threads may read."""

    def __init__(self, directory: Path, documents_count: int, long: LongPostings | None = None) -> None:
        """Open it.

        Raises:
            CorruptionError: it cannot be opened, or has another number of documents.
        """
        try:
            index = tantivy.Index.open(str(directory))
            index.config_reader(reload_policy="manual")
            self._searcher = index.searcher()
        except ValueError as error:
            raise CorruptionError(str(directory), 0, expected="a Tantivy index", found=str(error)) from error
        if self._searcher.num_docs != documents_count:
            found = f"{self._searcher.num_docs}"
            raise CorruptionError(str(directory), 0, expected=f"{documents_count} documents", found=found)
        self._schema = _schema()
        self._long = long
        self._cached: OrderedDict[str, tuple[Postings, int]] = OrderedDict()
        self._cached_bytes = 0
        self._lock = threading.Lock()

    def of_term(self, prefix: str, term: str) -> tuple[Postings, int]:
        """Postings of a term (`bounded`) in a space, by number, not to be written to; and the highest count in them."""
        key = prefix + term
        long = None if self._long is None else self._long.get(key)
        if long is not None:
            return long
        with self._lock:
            known = self._cached.get(key)
            if known is not None:
                self._cached.move_to_end(key)
                return known
        made = self._read(key)
        with self._lock:
            if self._cached.setdefault(key, made) is made:
                self._cached_bytes += made[0].nbytes + ITEM_BYTES
            while self._cached_bytes > CACHE_BYTES_MAX and len(self._cached) > 1:
                self._cached_bytes -= self._cached.popitem(last=False)[1][0].nbytes + ITEM_BYTES
        return made

    def _read(self, key: str) -> tuple[Postings, int]:
        found = self._numbers(key)
        if not len(found):
            return found, 1
        found = found << COUNT_BITS | 1
        for least in range(2, COUNT_MAX + 1):
            again = self._numbers(f"{key}{AT_LEAST}{least}")
            if not len(again):
                return found, least - 1
            found[found.searchsorted(again << COUNT_BITS)] += 1
        return found, COUNT_MAX

    def _numbers(self, key: str) -> Postings:
        count = self._searcher.doc_freq("term", key)
        if not count:
            return NOTHING
        query = tantivy.Query.term_query(self._schema, "term", key, "basic")
        hits = self._searcher.search(query, count, count=False, order_by_field="number").hits
        numbers = np.fromiter((number for number, _ in hits), np.int64, len(hits))  # highest first
        return numbers[::-1].copy()
