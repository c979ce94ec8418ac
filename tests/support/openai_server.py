"""A scripted server that speaks OpenAI's HTTP interface on a loopback socket.

A route answers with what its responder makes of the request; replies that were put in line come first, one a request.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import numpy as np

from tests.support.fake_embedder import FakeEmbedder

GATE_SECONDS_MAX = 30.0


@dataclass(frozen=True)
class Reply:
    """What the server answers.

    Attributes:
        body: bytes as they are, anything else as JSON.
        gate: the answer is held back until it is set.
        declared_bytes: length that the header says, if not the body's own: more than that and the line is cut.
    """

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    gate: threading.Event | None = None
    declared_bytes: int | None = None


@dataclass(frozen=True)
class Asked:
    """A request that came in; `headers` by lower-case name."""

    route: str
    body: dict[str, Any]
    headers: dict[str, str]


Responder = Callable[[dict[str, Any]], Reply]


def error(status: int, message: str = "scripted", **headers: str) -> Reply:
    """A refusal in OpenAI's form; `retry_after="2"` becomes a header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply({"error": {"message": message, "type": "scripted", "code": None}}, status, named)


def embeddings(vectors: Sequence[Sequence[float | None]]) -> Reply:
    """An answer to `/embeddings`."""
    data = [{"object": "embedding", "index": index, "embedding": list(row)} for index, row in enumerate(vectors)]
    return Reply(
        {"object": "list", "data": data, "model": "scripted", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    )


class ScriptedVectors:
    """Responder of `/embeddings`: hashed words; `weights` makes it another model, `too_long` refuses longer texts."""

    def __init__(self, dimension: int = 64, weights: str = "", too_long: int | None = None) -> None:
        self.dimension = dimension
        self.weights = weights
        self.too_long = too_long

    def __call__(self, body: dict[str, Any]) -> Reply:
        texts: list[str] = body["input"]
        if self.too_long is not None and any(len(text) > self.too_long for text in texts):
            return error(400, f"This model's maximum context length is {self.too_long}")
        vectors = FakeEmbedder(body.get("dimensions", self.dimension)).embed([self.weights + text for text in texts])
        return embeddings((vectors * np.float32(3)).tolist())


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away, as one that is out of time does."""


class OpenAiServer:
    """The server; use it in a `with` statement."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._lock = threading.Lock()
        self._line: dict[str, deque[Reply]] = defaultdict(deque)
        self._responders: dict[str, Responder] = {"/embeddings": ScriptedVectors()}
        self._gates: list[threading.Event] = []
        self._http = _Http(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def respond(self, route: str, responder: Responder) -> None:
        """From now on, a route such as `/embeddings` is answered so."""
        with self._lock:
            self._responders[route] = responder

    def then(self, route: str, *replies: Reply) -> None:
        """The next requests of a route are answered so, one after the other; those after them by its responder."""
        with self._lock:
            self._line[route].extend(replies)
            self._gates.extend(reply.gate for reply in replies if reply.gate is not None)

    def inputs(self) -> list[list[str]]:
        """Texts of the requests to `/embeddings`, in the order in which they came."""
        with self._lock:
            return [asked.body["input"] for asked in self.asked if asked.route == "/embeddings"]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        for gate in self._gates:
            gate.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(GATE_SECONDS_MAX)

    def _reply(self, route: str, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        with self._lock:
            self.asked.append(Asked(route, body, headers))
            if self._line[route]:
                return self._line[route].popleft()
            responder = self._responders.get(route)
        return error(404, f"no route {route}") if responder is None else responder(body)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                body = json.loads(self.rfile.read(length))
                headers = {name.lower(): value for name, value in self.headers.items()}
                reply = server._reply(self.path.removeprefix("/v1"), body, headers)
                if reply.gate is not None:
                    reply.gate.wait(GATE_SECONDS_MAX)
                content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                self.send_response(reply.status)
                self.send_header("content-type", "application/json")
                size = len(content) if reply.declared_bytes is None else reply.declared_bytes
                self.send_header("content-length", str(size))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)
                self.close_connection = size > len(content)

            def log_message(self, format: str, *_arguments: object) -> None:  # noqa: A002 - the base class's name
                """Keep quiet."""

        return Handler
