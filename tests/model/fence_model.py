"""The fencing protocol as a state machine, small enough to visit every state.

Owners take one step at a time, in any order; one that stalls or dies is one that is not scheduled any more. In every
state that can be reached a fresh reader recovers the log, once from what processes see and once for every way in which
a power cut can take what was not synced. It must find no corruption, no id twice, and, as its beginning, everything
that any owner ever acknowledged together with what that owner believed to come before it.

A file is a list of records: a header, batches, and at its end perhaps half of a batch, being written. An owner writes
part 0 of its epoch and goes on to a new part before each further group of batches. A directory is listed name by name,
the oldest first, as the system may: a file that appears meanwhile can be seen while one that is older is not.
"""

from __future__ import annotations

import itertools
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

Id = str
FileId = tuple[int, int]  # epoch, part
View = tuple[Id, ...]


class Record(NamedTuple):
    """A header (`kind` "header", then base epoch and seq) or a batch ("batch", its seq, its id), or half of one."""

    kind: str
    seq: int = 0
    base_epoch: int = 0
    id: Id = ""


HALF = Record("half")


class Protocol(NamedTuple):
    """What owners do; each field names a protection, and every value but the first breaks it."""

    looks: str = "after_sync"  # before_sync, never, cached
    claims_before_reading: bool = True
    lists_until_stable: bool = True
    syncs_older: bool = True
    syncs_directory: bool = True
    answers_after_header: bool = True
    follows_the_chain: bool = True


class File(NamedTuple):
    """A file: what processes see, how much of it the disk has, and whether the disk has its name."""

    records: tuple[Record, ...] = ()
    synced_count: int = 0
    is_named: bool = False


class Owner(NamedTuple):
    """Where an owner is in its program, and what it knows."""

    step: str = "start"
    epoch: int = 0
    unlisted: tuple[FileId, ...] = ()
    listed: tuple[FileId, ...] = ()
    listed_before: tuple[FileId, ...] | None = None
    seen: tuple[tuple[FileId, int], ...] = ()
    view: View = ()
    base: tuple[int, int] = (0, 0)
    part: int = 0
    groups_done: int = 0
    position: int = 0
    new: View = ()


class World(NamedTuple):
    """Everything there is."""

    claims: frozenset[int]
    files: tuple[tuple[FileId, File], ...]
    owners: tuple[Owner, ...]
    acknowledged: frozenset[View]


class CorruptError(Exception):
    """The reader found what it must never find."""


def recover(files: dict[FileId, tuple[Record, ...]], *, follows_the_chain: bool) -> tuple[View, tuple[int, int]]:
    """What a reader of these files takes for the log: ids in order, and (head epoch, last seq)."""
    heads = sorted({epoch for (epoch, part), records in files.items() if part == 0 and _header(records)})
    if not heads:
        return (), (0, 0)
    if not follows_the_chain:
        ids = [record.id for key in sorted(files) for record in files[key] if record.kind == "batch"]
        return tuple(ids), (heads[-1], len(ids))
    epoch: int = heads[-1]
    last: int | None = None
    pieces: list[list[Id]] = []
    head_seq = 0
    while epoch:
        base = _header(files.get((epoch, 0), ()))
        if base is None:
            message = f"epoch {epoch}, which another builds on, is gone"
            raise CorruptError(message)
        found = _read_epoch(files, epoch, base[1], last)
        if last is None:
            head_seq = base[1] + len(found)
        pieces.append(found)
        epoch, last = base
    return tuple(itertools.chain.from_iterable(reversed(pieces))), (heads[-1], head_seq)


def _header(records: tuple[Record, ...]) -> tuple[int, int] | None:
    if records and records[0].kind == "header":
        return records[0].base_epoch, records[0].seq
    return None


def _read_epoch(files: dict[FileId, tuple[Record, ...]], epoch: int, seq: int, last: int | None) -> list[Id]:
    """Ids of an epoch's parts, from the seq after `seq` to `last`, or to the end of the head."""
    parts = [files[name] for name in sorted(files) if name[0] == epoch]
    if _header(parts[-1]) is None:
        parts.pop()
    ids: list[Id] = []
    for part, records in enumerate(parts):
        at = seq + len(ids)
        if at == last:
            break
        if part and _header(records) != (epoch, at):
            message = f"part {part} of epoch {epoch} goes on after {_header(records)}, not after {at}"
            raise CorruptError(message)
        ids += _read_part(records, at, last)
    if last is not None and seq + len(ids) != last:
        message = f"epoch {epoch} ends at {seq + len(ids)}, but another builds on {last}"
        raise CorruptError(message)
    return ids


def _read_part(records: tuple[Record, ...], seq: int, last: int | None) -> list[Id]:
    ids: list[Id] = []
    for record in records[1:]:
        if record == HALF or seq == last:
            break
        if record.seq != seq + 1:
            message = f"seq {record.seq} after {seq}"
            raise CorruptError(message)
        ids.append(record.id)
        seq += 1
    return ids


class Model:
    """The worlds that follow from a protocol and what each owner is asked to store, group after group."""

    def __init__(self, protocol: Protocol, requests: tuple[tuple[View, ...], ...]) -> None:
        self._protocol = protocol
        self._requests = requests
        self._checked: set[object] = set()

    def start(self) -> World:
        """Before anything happened."""
        return World(frozenset(), (), tuple(Owner() for _ in self._requests), frozenset())

    def next_worlds(self, world: World) -> Iterator[World]:
        """Every world that one step of one owner leads to."""
        for index, owner in enumerate(world.owners):
            files = dict(world.files)
            step = getattr(self, f"_{owner.step}", None)
            if step is None:  # done or fenced
                continue
            for moved, claims, acknowledged in step(index, owner, world, files):
                owners = (*world.owners[:index], moved, *world.owners[index + 1 :])
                yield World(claims, tuple(sorted(files.items())), owners, acknowledged)

    def check(self, world: World) -> None:
        """Recover in every way.

        Raises:
            CorruptError: what is found is not what was acknowledged, or not a log.
        """
        key = (world.files, world.acknowledged)
        if key in self._checked:
            return
        self._checked.add(key)
        for records in self._after_power_cuts(world.files):
            view, _ = recover(records, follows_the_chain=self._protocol.follows_the_chain)
            if len(set(view)) != len(view):
                message = f"an id twice: {view}"
                raise CorruptError(message)
            for believed in world.acknowledged:
                if view[: len(believed)] != believed:
                    message = f"acknowledged {believed}, found {view}"
                    raise CorruptError(message)

    @staticmethod
    def _after_power_cuts(files: tuple[tuple[FileId, File], ...]) -> Iterator[dict[FileId, tuple[Record, ...]]]:
        """What may be left of the files; nothing lost at all is one of the ways."""
        ways: list[list[tuple[Record, ...] | None]] = []
        for _, file in files:
            left: list[tuple[Record, ...] | None] = [
                file.records[:count] for count in range(file.synced_count, len(file.records) + 1)
            ]
            ways.append(left if file.is_named else [*left, None])
        for choice in itertools.product(*ways):
            yield {key: records for (key, _), records in zip(files, choice, strict=True) if records is not None}

    # One method for each step of an owner's program. Each changes `files` in place and gives what else changes.

    def _start(self, _: int, owner: Owner, world: World, __: dict[FileId, File]) -> Iterator[_Move]:
        owner = owner._replace(epoch=max(world.claims, default=0) + 1)
        if self._protocol.claims_before_reading:
            yield owner._replace(step="claim"), world.claims, world.acknowledged
        else:
            yield owner._replace(step="list", unlisted=self._names(owner)), world.claims, world.acknowledged

    def _claim(self, _: int, owner: Owner, world: World, __: dict[FileId, File]) -> Iterator[_Move]:
        if owner.epoch in world.claims:
            yield Owner(), world.claims, world.acknowledged
        elif self._protocol.claims_before_reading:
            moved = owner._replace(step="list", unlisted=self._names(owner))
            yield moved, world.claims | {owner.epoch}, world.acknowledged
        else:
            yield owner._replace(step="create_part"), world.claims | {owner.epoch}, world.acknowledged

    def _names(self, owner: Owner) -> tuple[FileId, ...]:
        """Names that files of older epochs may have, in the order in which a listing comes to them."""
        parts_count = max(len(groups) for groups in self._requests)
        return tuple(itertools.product(range(1, owner.epoch), range(parts_count)))

    def _list(self, _: int, owner: Owner, world: World, files: dict[FileId, File]) -> Iterator[_Move]:
        if owner.unlisted:
            name, *rest = owner.unlisted
            listed = (*owner.listed, name) if name in files else owner.listed
            moved = owner._replace(unlisted=tuple(rest), listed=listed)
        elif self._protocol.lists_until_stable and owner.listed != owner.listed_before:
            moved = owner._replace(unlisted=self._names(owner), listed=(), listed_before=owner.listed)
        else:
            moved = owner._replace(step="look_at_files", listed=owner.listed[::-1], listed_before=None)
        yield moved, world.claims, world.acknowledged

    def _look_at_files(self, _: int, owner: Owner, world: World, files: dict[FileId, File]) -> Iterator[_Move]:
        """See how far the listed files go, the newest first."""
        if not owner.listed:
            yield owner._replace(step="sync_older"), world.claims, world.acknowledged
            return
        name, *rest = owner.listed
        records = files[name].records
        # A half-written record may be whole by the time it is read, but it was not when it was looked at.
        whole_count = len(records) - (records[-1:] == (HALF,))
        moved = owner._replace(listed=tuple(rest), seen=(*owner.seen, (name, whole_count)))
        yield moved, world.claims, world.acknowledged

    def _sync_older(self, _: int, owner: Owner, world: World, files: dict[FileId, File]) -> Iterator[_Move]:
        if self._protocol.syncs_older:
            for name, _count in owner.seen:
                _sync(files, name)
        if self._protocol.syncs_directory:
            _name_all(files)
        yield owner._replace(step="read"), world.claims, world.acknowledged

    def _read(self, _: int, owner: Owner, world: World, files: dict[FileId, File]) -> Iterator[_Move]:
        seen = {key: files[key].records[:count] for key, count in owner.seen}
        view, base = recover(seen, follows_the_chain=self._protocol.follows_the_chain)
        step = "create_part" if self._protocol.claims_before_reading else "claim"
        yield owner._replace(step=step, seen=(), view=view, base=base), world.claims, world.acknowledged

    def _create_part(self, _: int, owner: Owner, world: World, files: dict[FileId, File]) -> Iterator[_Move]:
        files[owner.epoch, owner.part] = File()
        yield owner._replace(step="write_header"), world.claims, world.acknowledged

    def _write_header(self, _: int, owner: Owner, world: World, files: dict[FileId, File]) -> Iterator[_Move]:
        _append(files, (owner.epoch, owner.part), Record("header", base_epoch=owner.base[0], seq=owner.base[1]))
        is_late = owner.part == 0 and not self._protocol.answers_after_header
        yield owner._replace(step="work" if is_late else "sync_header"), world.claims, world.acknowledged

    def _sync_header(self, _: int, owner: Owner, world: World, files: dict[FileId, File]) -> Iterator[_Move]:
        _sync(files, (owner.epoch, owner.part))
        yield owner._replace(step="sync_directory"), world.claims, world.acknowledged

    def _sync_directory(self, _: int, owner: Owner, world: World, files: dict[FileId, File]) -> Iterator[_Move]:
        if self._protocol.syncs_directory:
            _name_all(files)
        yield owner._replace(step="append" if owner.new else "look_first"), world.claims, world.acknowledged

    def _look_first(self, _: int, owner: Owner, world: World, __: dict[FileId, File]) -> Iterator[_Move]:
        yield from self._look(owner, world, "work")

    def _work(self, index: int, owner: Owner, world: World, _: dict[FileId, File]) -> Iterator[_Move]:
        """Take the next group: repeats are answered at once, what is new goes into the log."""
        if owner.groups_done == len(self._requests[index]):
            yield Owner(step="done"), world.claims, world.acknowledged
            return
        group = self._requests[index][owner.groups_done]
        repeats = {owner.view[: owner.view.index(found) + 1] for found in group if found in owner.view}
        new = tuple(found for found in group if found not in owner.view)
        owner = owner._replace(groups_done=owner.groups_done + 1, new=new, position=0)
        step = "work"
        if new and self._protocol.looks == "before_sync":
            step = "look_before"
        elif new:
            step = "append"
        if new and owner.base[0] == owner.epoch:
            owner = owner._replace(part=owner.part + 1, base=(owner.epoch, len(owner.view)))
            step = "create_part"
        yield owner._replace(step=step), world.claims, world.acknowledged | repeats

    def _look_before(self, _: int, owner: Owner, world: World, __: dict[FileId, File]) -> Iterator[_Move]:
        yield from self._look(owner, world, "append")

    def _append(self, _: int, owner: Owner, world: World, files: dict[FileId, File]) -> Iterator[_Move]:
        """Write half a batch, then the other half, then the next batch."""
        key = (owner.epoch, owner.part)
        index, is_half_written = divmod(owner.position, 2)
        if not is_half_written:
            _append(files, key, HALF)
        else:
            files[key] = files[key]._replace(records=files[key].records[:-1])
            _append(files, key, Record("batch", id=owner.new[index], seq=len(owner.view) + index + 1))
        position = owner.position + 1
        step = "append" if position < 2 * len(owner.new) else "sync"
        yield owner._replace(step=step, position=position), world.claims, world.acknowledged

    def _sync(self, _: int, owner: Owner, world: World, files: dict[FileId, File]) -> Iterator[_Move]:
        _sync(files, (owner.epoch, owner.part))
        step = "acknowledge" if self._protocol.looks in {"before_sync", "never"} else "look_after"
        yield owner._replace(step=step), world.claims, world.acknowledged

    def _look_after(self, _: int, owner: Owner, world: World, __: dict[FileId, File]) -> Iterator[_Move]:
        yield from self._look(owner, world, "acknowledge")

    def _acknowledge(self, _: int, owner: Owner, world: World, __: dict[FileId, File]) -> Iterator[_Move]:
        view = owner.view + owner.new
        acknowledged = world.acknowledged | {view}
        # From here on a further group goes to a new part.
        moved = owner._replace(step="work", view=view, new=(), base=(owner.epoch, len(view)))
        yield moved, world.claims, acknowledged

    def _look(self, owner: Owner, world: World, step: str) -> Iterator[_Move]:
        is_fenced = max(world.claims) > owner.epoch
        if is_fenced:
            yield Owner(step="fenced"), world.claims, world.acknowledged
        if not is_fenced or self._protocol.looks == "cached":
            yield owner._replace(step=step), world.claims, world.acknowledged


_Move = tuple[Owner, frozenset[int], frozenset[View]]


def _append(files: dict[FileId, File], key: FileId, record: Record) -> None:
    files[key] = files[key]._replace(records=(*files[key].records, record))


def _sync(files: dict[FileId, File], key: FileId) -> None:
    files[key] = files[key]._replace(synced_count=len(files[key].records))


def _name_all(files: dict[FileId, File]) -> None:
    for key, file in files.items():
        files[key] = file._replace(is_named=True)


class Visit(NamedTuple):
    """Outcome of a visit: worlds seen, whether these are all there are, and what was found wrong."""

    worlds_count: int
    is_exhaustive: bool
    violation: str | None


def visit(protocol: Protocol, requests: tuple[tuple[View, ...], ...], *, worlds_max: int) -> Visit:
    """Check every world that can be reached, breadth first, up to a bound."""
    model = Model(protocol, requests)
    queue = deque([model.start()])
    met = set(queue)
    while queue and len(met) <= worlds_max:
        world = queue.popleft()
        try:
            model.check(world)
            for following in model.next_worlds(world):
                if following not in met:
                    met.add(following)
                    queue.append(following)
        except CorruptError as error:
            return Visit(len(met), is_exhaustive=False, violation=str(error))
    return Visit(len(met), is_exhaustive=not queue, violation=None)
