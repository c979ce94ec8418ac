"""Unit tests are for pure modules: one during which a file, socket or process is opened fails."""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest

_FORBIDDEN = {"open", "os.remove", "os.rename", "os.mkdir", "socket.connect", "subprocess.Popen"}
_touched: list[str] = []
_is_watching = False


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if not _is_watching or event not in _FORBIDDEN:
        return
    # The standard library imports some of its modules when they are first needed; hypothesis keeps notes about source
    # files that changed; and a descriptor was opened by name before.
    name = arguments[0]
    is_import = event == "open" and str(name).endswith((".py", ".pyc"))
    if not is_import and ".hypothesis" not in str(name) and not (event == "open" and isinstance(name, int)):
        _touched.append(f"{event} {arguments[:1]}")


sys.addaudithook(_watch)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    # Around the call only: pytest itself opens files before and after it.
    global _is_watching  # noqa: PLW0603 - an audit hook cannot be taken out, only switched off
    _touched.clear()
    _is_watching = True
    try:
        result = yield
    finally:
        _is_watching = False
    assert not _touched, f"a pure module touched the world: {_touched[:3]}"
    return result
