"""How the C module gets into the package, and how the package does without it."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest
from packaging.tags import sys_tags

from muniment.store import scan
from muniment.store.names import SHAPES

ROOT = Path(__file__).parents[1]


def can_compile() -> bool:
    compiler = str(sysconfig.get_config_var("CC") or "").split()[:1]
    return bool(compiler and shutil.which(compiler[0])) and Path(sysconfig.get_paths()["include"], "Python.h").exists()


needs_compiler = pytest.mark.skipif(not can_compile(), reason="no C compiler here, or no headers of Python")


@pytest.fixture
def source(tmp_path: Path, build_hook: ModuleType) -> Path:
    """A tree with a C module to build, and nothing else."""
    copy = tmp_path / build_hook.C_SOURCE
    copy.parent.mkdir(parents=True)
    shutil.copyfile(ROOT / build_hook.C_SOURCE, copy)
    return tmp_path


def loaded(path: Path) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader("_scan", str(path))
    spec = importlib.util.spec_from_loader("_scan", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@needs_compiler
@pytest.mark.skipif(os.environ.get("MUNIMENT_NO_C") == "1", reason="it was not wanted")
def test_the_c_module_is_there_where_it_can_be_built() -> None:
    assert scan.IN_C, "run `make page`"


@needs_compiler
def test_the_c_module_is_built_beside_its_source_and_works(build_hook: ModuleType, source: Path) -> None:
    built = build_hook.build_module(source)
    assert built.parent == (source / build_hook.C_SOURCE).parent
    assert loaded(built).humped(b"see checkToken", SHAPES, 64) == {b"checkToken"}


@needs_compiler
def test_the_c_module_is_made_anew_when_its_source_is_newer(build_hook: ModuleType, source: Path) -> None:
    built = build_hook.build_module(source)
    os.utime(built, (2e9, 2e9))
    assert build_hook.build_module(source).stat().st_mtime == 2e9
    os.utime(source / build_hook.C_SOURCE, (2e9 + 1, 2e9 + 1))
    assert build_hook.build_module(source).stat().st_mtime < 2e9


def test_without_a_compiler_there_is_a_word_and_no_module(
    build_hook: ModuleType, source: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for tool in ("CC", "LDSHARED"):
        monkeypatch.setenv(tool, "/nowhere/cc")
    assert build_hook.build_module(source) is None
    assert "built without its C module" in capfd.readouterr().err


@needs_compiler
def test_a_module_of_another_machine_is_made_anew(build_hook: ModuleType, source: Path) -> None:
    strange = (source / build_hook.C_SOURCE).with_suffix(".abi3.so")
    strange.write_bytes(b"not one of ours")
    os.utime(strange, (2e9, 2e9))
    assert loaded(build_hook.build_module(source)).humped(b"aB", SHAPES, 64) == {b"aB"}


def test_the_wheel_is_one_that_this_machine_takes(build_hook: ModuleType) -> None:
    taken = {str(tag) for tag in sys_tags()}
    assert build_hook.wheel_tag() in taken


def test_one_may_build_without_the_c_module(
    build_hook: ModuleType, source: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MUNIMENT_NO_C", "1")
    (source / build_hook.C_SOURCE).with_suffix(".abi3.so").write_bytes(b"of another time")
    assert build_hook.build_module(source) is None
    assert "MUNIMENT_NO_C=1" in capfd.readouterr().err
    assert [path.name for path in (source / build_hook.C_SOURCE).parent.iterdir()] == ["_scan.c"]


def test_without_the_c_module_names_are_found_all_the_same() -> None:
    program = """
import sys
sys.modules["muniment.store._scan"] = None
from muniment.store import scan, words
assert not scan.IN_C
print(words.hidden_words(b"see checkToken"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "Token check\n"


@needs_compiler
def test_telling_how_to_install_an_extra_hinders_no_build(build_hook: ModuleType, source: Path) -> None:
    """setuptools lets go of its tools in a process that looks for pip in the usual way."""
    told = "from muniment import config; config.installing('mcp'); "
    built = f"import hatch_build, pathlib; assert hatch_build.build_module(pathlib.Path({str(source)!r}))"
    subprocess.run([sys.executable, "-W", "error", "-c", told + built], cwd=ROOT, check=True)
