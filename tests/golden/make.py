"""Write the golden store of this version: `python -m tests.golden.make tests/golden/VERSION`. Once for each release.

Every event type is in it, so that a later version that cannot read one fails. An event type that comes between two
releases gets a store of its own, named after the release to come and what it has beside it: a store is never rewritten.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from memoray.engine.state import ShardState
from memoray.operations import Add, Clear, Delete, Operation, Update
from memoray.protocols import Extraction, ExtractionRequest
from memoray.requests import UndoRequest
from memoray.storage.filesystem import LocalFileSystem
from tests.support.fake_embedder import FakeEmbedder
from tests.support.moody import MoodyEmbedder
from tests.support.shards import ANA, BEN, ScriptedExtractor, ShardBench


def summary(state: ShardState) -> dict[str, Any]:
    """What must be read from the store for ever."""
    users: dict[str, Any] = {}
    for user, known in state.users.items():
        users[f"{user.app_name}/{user.user_id}"] = {
            "entries": {
                entry.id: [entry.version, entry.text, entry.kind.value, list(entry.sources), list(entry.related)]
                for entry in known.entries.values()
            },
            "retired": sorted(known.retired),
            "turns": {turn.id: [turn.session_id, turn.position, turn.text] for turn in known.turns.values()},
            "withdrawn": sorted(known.withdrawn),
            "cursors": {key: [session.extracted, session.length] for key, session in known.sessions.items()},
            "jobs": [[job.session_id, job.attempts, job.is_parked] for job in known.jobs],
            "unembedded": sorted([*known.entries_unembedded, *known.turns_unembedded]),
        }
    return {"last_seq": state.last_seq, "requests": len(state.window.answers), "users": users}


class _Extractor(ScriptedExtractor):
    def extract(self, request: ExtractionRequest) -> Extraction:
        if "park" in request.turns[-1].text:
            raise RuntimeError("as the test wants it")
        return super().extract(request)


def main(folder: str) -> None:
    """Write `store/` and `expected.json`."""
    root = Path(folder)
    embedder = MoodyEmbedder(FakeEmbedder(8))
    bench = ShardBench(LocalFileSystem(), root=str(root / "store"), embedder=embedder, extractor=_Extractor(_propose))
    bench.submit("Production runs Go 1.23", "Works at Google", "我对花生过敏")
    bench.settle()
    bench.submit("Production runs Go 1.24", "Works at Microsoft", "我对花生过敏", session="s2")
    bench.settle()
    embedder.mood = "down"
    bench.apply(Add("Without a vector at first"))
    embedder.mood = "well"
    bench.submit("The boat is red", session="s3")
    bench.settle()
    known = bench.shard.state().user(ANA).entries
    boat = next(key for key, entry in known.items() if "boat" in entry.text)
    google = next(key for key, entry in known.items() if "Google" in entry.text)
    bench.apply(Delete(boat), Update(google, topics=("work",)))
    bench.submit("To be cleared", user=BEN)
    bench.settle()
    cleared = bench.apply(Clear(), user=BEN)
    back = bench.shard.undo(UndoRequest(BEN, "back", seq=cleared.seq))
    bench.shard.undo(UndoRequest(BEN, "away again", seq=back.seq))
    bench.submit("After the clear, to park", user=BEN)
    bench.settle()
    expected = summary(bench.shard.state())
    bench.check()
    bench.shard.close(10.0)
    (root / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _propose(request: ExtractionRequest) -> list[Operation]:
    return [Add(turn.text, sources=(turn.id,)) for turn in request.turns]


if __name__ == "__main__":
    main(sys.argv[1])
