"""What the documents show runs: Python blocks against a deployment, commands by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memoray.actors import client as client_module
from memoray.actors.cluster import Cluster, ClusterConfig
from memoray.serving.cli import app

REPOSITORY = Path(__file__).parents[2]
DOCUMENTS = [REPOSITORY / "README.md", REPOSITORY / "ARCHITECTURE.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
CONTRIBUTING = REPOSITORY / "CONTRIBUTING.md"
NAMESPACE = "docs-test"


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def deployment(ray_session: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert ray_session
    cluster = Cluster(ClusterConfig(store=str(tmp_path_factory.mktemp("docs") / "store"), namespace=NAMESPACE))
    cluster.ensure_shards()
    yield NAMESPACE
    cluster.stop()


def test_there_are_blocks_to_run() -> None:
    assert sum(len(blocks(path, "python")) for path in DOCUMENTS) >= 1
    assert sum(len(blocks(path, "sh")) for path in DOCUMENTS) >= 2


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_python_blocks_run_in_order(
    path: Path, deployment: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They connect to the default deployment, which here is the test's."""
    real = client_module.Client

    def here(_namespace: str, *, timeout: float) -> client_module.Client:
        return real(deployment, timeout=timeout)

    monkeypatch.setattr(client_module, "Client", here)
    names: dict[str, object] = {}
    for block in blocks(path, "python"):
        exec(compile(block, str(path), "exec"), names)  # noqa: S102 - our own documents
    if path.name == "README.md":
        assert "window seats" in capsys.readouterr().out


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_and_options_exist(path: Path) -> None:
    runner = CliRunner()
    for block in blocks(path, "sh"):
        for line in block.splitlines():
            words = line.split("#")[0].split()
            if words[:1] != ["memoray"]:
                continue
            shown = runner.invoke(app, [words[1], "--help"])
            assert shown.exit_code == 0, line
            assert all(word in shown.stdout for word in words if word.startswith("--")), line


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for path in [*DOCUMENTS, CONTRIBUTING]:
        for block in blocks(path, "sh"):
            assert set(re.findall(r"^make (\w+)", block, re.MULTILINE)) <= targets, path.name


def test_links_lead_somewhere() -> None:
    for path in [*DOCUMENTS, CONTRIBUTING]:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"
