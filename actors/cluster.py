"""A deployment on a Ray cluster: creates the store and the actors, finds them again, and takes them down.

`ensure_shards` is idempotent and may be called from any driver: what runs is left alone, what is missing is started.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
import ray
from ray.exceptions import GetTimeoutError, RayActorError

from memoray.actors.models import EmbedderActor, ExtractionWorker
from memoray.actors.naming import EMBEDDER_NAME, NAMESPACE, extractor_name, retriever_name, shard_name
from memoray.actors.retriever import RetrievalActor
from memoray.actors.shard import ShardActor, ShardPlan
from memoray.actors.wire import decode, encode
from memoray.config import EngineConfig
from memoray.engine.binding import EmbedderCard, bind_manifest, card_for, card_in
from memoray.engine.embedders import check_embedder, name_for
from memoray.errors import InvalidRequestError, MemorayError, ShardUnavailableError
from memoray.keys import SLOTS_COUNT
from memoray.requests import ShardStatus, StatusRequest
from memoray.storage.filesystem import LocalFileSystem

if TYPE_CHECKING:
    from ray.actor import ActorHandle

    from memoray.storage.manifest import Manifest

START_SECONDS_MAX = 180.0
# A query is not to wait until the long texts of jobs have been embedded, nor while an endpoint lets one wait.
EMBEDS_AT_ONCE_MAX = 16
MEBIBYTE = 2**20


class ClusterConfig(msgspec.Struct, frozen=True):
    """What a deployment consists of.

    Attributes:
        store: directory of the store; on a cluster a path that every shard node sees.
        shards_count: number of shards; fixed when the store is created.
        retrievers_count: number of retrieval actors.
        extractors_count: number of extraction workers; None: one for each shard.
        embedder: by name; see `memoray.engine.embedders`. None: the store's own, `minilm` in a new one. A key
            is read where its actor runs.
        extractor: name of the extractor; `none` keeps turns and extracts nothing.
        namespace: Ray namespace of the actors; one deployment each.
        takes_over: start although another live process owns the store; that one will end.
        engine: bounds and defaults of every shard.
    """

    store: str
    shards_count: int = 1
    retrievers_count: int = 1
    extractors_count: int | None = None
    embedder: str | None = None
    extractor: str = "offline"
    namespace: str = NAMESPACE
    engine: EngineConfig = EngineConfig()
    takes_over: bool = False


class Cluster:
    """The actors of one deployment. Needs `ray.init` first; see `memoray.actors.runtime`."""

    def __init__(self, config: ClusterConfig) -> None:
        """Remember what to start; nothing happens yet.

        Raises:
            InvalidRequestError: a count is out of its range, or there is no such embedder.
        """
        if config.embedder is not None:
            check_embedder(config.embedder)
        if not 1 <= config.shards_count <= SLOTS_COUNT:
            message = f"{config.shards_count} shards; a store has 1 to {SLOTS_COUNT:,}"
            raise InvalidRequestError(message)
        if config.retrievers_count < 1:
            message = f"{config.retrievers_count} retrieval actors; at least one is needed"
            raise InvalidRequestError(message)
        self.config = config
        self._labels: frozenset[str] = frozenset()

    def ensure_shards(self) -> list[ShardStatus]:
        """Start what does not run yet and wait until every shard answers.

        Returns:
            The status of each shard, in order; one that found its files damaged says so there.

        Raises:
            InvalidRequestError: the store was made with another shard count or embedder.
            EmbedderUnavailableError: the store is new and its embedder does not answer.
            ShardUnavailableError: an actor did not start within 180 s; the message names it, and the node label that
                no node has.
        """
        deadline = time.monotonic() + START_SECONDS_MAX
        self._labels = _labels()
        embedder = self.config.embedder or name_for(LocalFileSystem(), self._store)
        try:
            manifest = self._manifest(self._embedder_card(embedder, deadline))
        except MemorayError:
            if self._find(shard_name(0)) is None:
                self._end(EMBEDDER_NAME)  # it is not this store's; the next one has the name
            raise
        card = encode(card_in(manifest))
        helpers = {name: self._extractor(name) for name in self._extractor_names()}
        shards = {shard_name(shard): self._shard(shard, card, embedder) for shard in range(manifest.shards_count)}
        helpers |= {name: self._retriever(name, manifest.shards_count, card) for name in self._retriever_names()}
        statuses: list[ShardStatus] = []
        for name, handle in shards.items():
            reply: object = handle.status.remote(encode(StatusRequest()))
            statuses.append(decode(self._wait(reply, name, "shard", deadline), ShardStatus))
        for name, handle in helpers.items():
            self._wait(handle.__ray_ready__.remote(), name, "worker", deadline)
        return statuses

    @property
    def _store(self) -> str:
        return str(Path(self.config.store).absolute())

    def _embedder_card(self, name: str, deadline: float) -> EmbedderCard:
        """Start the embedder and ask it who it is."""
        embedder = self._actor(EmbedderActor, EMBEDDER_NAME, "worker", name, max_concurrency=EMBEDS_AT_ONCE_MAX)
        model = decode(self._wait(embedder.name.remote(), EMBEDDER_NAME, "worker", deadline), str)

        def ask() -> EmbedderCard:
            return decode(self._wait(embedder.card.remote(), EMBEDDER_NAME, "worker", deadline), EmbedderCard)

        return card_for(model, ask, LocalFileSystem(), self._store)

    def stop(self, timeout: float = 60.0) -> None:
        """Close every shard, then end all actors. Nothing accepted is lost: what waits goes on at the next start."""
        names = [EMBEDDER_NAME, *self._extractor_names(), *self._retriever_names()]
        shards = [shard_name(number) for number in range(self.config.shards_count)]
        closing: list[Any] = [handle.close.remote() for name in shards if (handle := self._find(name)) is not None]
        if closing:
            ray.wait(closing, num_returns=len(closing), timeout=timeout)
        for name in (*shards, *names):
            self._end(name)

    def _end(self, name: str) -> None:
        handle = self._find(name)
        if handle is not None:
            ray.kill(handle, no_restart=True)

    def _find(self, name: str) -> ActorHandle[Any] | None:
        try:
            return ray.get_actor(name, namespace=self.config.namespace)
        except ValueError:
            return None

    def _extractors_count(self) -> int:
        if self.config.extractor == "none":
            return 0
        count = self.config.extractors_count
        return self.config.shards_count if count is None else count

    def _extractor_names(self) -> list[str]:
        return [extractor_name(number) for number in range(self._extractors_count())]

    def _retriever_names(self) -> list[str]:
        return [retriever_name(number) for number in range(self.config.retrievers_count)]

    def _manifest(self, card: EmbedderCard) -> Manifest:
        return bind_manifest(
            LocalFileSystem(),
            self._store,
            shards_count=self.config.shards_count,
            card=card,
            config=self.config.engine,
        )

    def _extractor(self, name: str) -> ActorHandle[Any]:
        return self._actor(ExtractionWorker, name, "worker", self.config.extractor)

    def _retriever(self, name: str, shards_count: int, card: bytes) -> ActorHandle[Any]:
        where = (shards_count, self.config.namespace, card)
        return self._actor(RetrievalActor, name, "worker", *where, max_concurrency=32, max_task_retries=-1)

    def _shard(self, shard: int, card: bytes, embedder: str) -> ActorHandle[Any]:
        plan = ShardPlan(
            store=self._store,
            shard=shard,
            shards_count=self.config.shards_count,
            namespace=self.config.namespace,
            card=decode(card, EmbedderCard),
            embedder=embedder,
            extractors_count=self._extractors_count(),
            retrievers_count=self.config.retrievers_count,
            config=self.config.engine,
            takes_over=self.config.takes_over,
        )
        return self._actor(
            ShardActor,
            shard_name(shard),
            "shard",
            encode(plan),
            max_concurrency=64,
            max_task_retries=0,
            max_pending_calls=1000,
            memory=300 * MEBIBYTE,
            scheduling_strategy="SPREAD",
        )

    def _actor(self, cls: type[object], name: str, role: str, *arguments: object, **options: Any) -> ActorHandle[Any]:  # noqa: ANN401 - Ray's own options
        selector = {"label_selector": {"memoray-role": role}} if role in self._labels else {}
        placed = ray.remote(cls).options(
            num_cpus=0,
            max_restarts=-1,
            enable_task_events=False,
            name=name,
            namespace=self.config.namespace,
            lifetime="detached",
            get_if_exists=True,
            **{**selector, **options},
        )
        return cast("ActorHandle[Any]", placed.remote(*arguments))

    def _wait(self, reply: object, name: str, role: str, deadline: float) -> bytes:
        try:
            return cast("bytes", ray.get(cast("Any", reply), timeout=max(1.0, deadline - time.monotonic())))
        except GetTimeoutError as error:
            message = f"actor {name!r} did not start within {START_SECONDS_MAX:.0f} s; is a node with role {role!r} up?"
            raise ShardUnavailableError(message) from error
        except RayActorError as error:
            message = f"actor {name!r} did not start: {error}"
            raise ShardUnavailableError(message) from error


def _labels() -> frozenset[str]:
    """The roles that nodes are labelled for; on a laptop there are none, and actors go anywhere."""
    nodes = cast("list[dict[str, Any]]", ray.nodes())  # type: ignore[no-untyped-call]  # Ray's own
    return frozenset(str(node.get("Labels", {}).get("memoray-role")) for node in nodes if node["Alive"])
