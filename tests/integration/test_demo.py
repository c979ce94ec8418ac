"""The demo, as a stranger runs it: every answer is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from memoray.serving.demo import QUESTIONS


def test_every_answer_of_the_demo_is_right(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "memoray.serving.cli", "demo", "--json", "--store", str(tmp_path / "store")],
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
        env={**os.environ, "HOME": str(tmp_path), "RAY_AUTH_MODE": "token"},
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["right"] is True
    assert len(shown["answers"]) == len(QUESTIONS) >= 6
    for answer in shown["answers"]:
        first = answer["hits"][0]
        said = " ".join(source["text"] for source in first["sources"])
        assert answer["right"], answer["question"]
        assert first["sources"], "an answer shows the message that it came from"
        assert answer["expected"] in said or answer["expected"].startswith("2026")
    by_question = {answer["question"]: answer["hits"][0] for answer in shown["answers"]}
    assert "1.23" not in by_question["Which Go version does our production environment run?"]["text"]
    assert by_question["When was the certificate in Frankfurt rotated?"]["event_time"].startswith("2026-03-1")
    assert (tmp_path / ".ray" / "auth_token").stat().st_mode & 0o077 == 0
