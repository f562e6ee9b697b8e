"""The Dockerfile and the devcontainer, read as a container engine would: no engine is at hand in the tests."""

import json
import re
import subprocess
from fnmatch import fnmatch

import pytest

from bakeoff.foundation.new_workspace import COPIED, GROWN
from support.imports import ROOT

CONTINUED = re.compile(r"\\\n\s*")
WORDS = ("FROM", "ARG", "RUN", "COPY", "ENV", "WORKDIR", "CMD")


def read_instructions() -> list[tuple[str, str]]:
    lines = [
        line for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ]
    text = CONTINUED.sub(" ", "\n".join(lines))
    pairs = [line.partition(" ")[::2] for line in text.splitlines() if line.strip()]
    return [(word, rest.strip()) for word, rest in pairs]


INSTRUCTIONS = read_instructions()
COPIES = [rest.split() for word, rest in INSTRUCTIONS if word == "COPY"]


def test_every_instruction_is_one_and_the_image_has_one_base() -> None:
    assert [word for word, _ in INSTRUCTIONS if word not in WORDS] == []
    assert [word for word, _ in INSTRUCTIONS][:2] == ["ARG", "FROM"]
    assert [rest for word, rest in INSTRUCTIONS if word == "FROM"] == ["python:${PYTHON}-slim"]
    command = next(rest for word, rest in INSTRUCTIONS if word == "CMD")
    assert json.loads(command)[0] == "bakeoff"


def test_every_variable_is_declared_before_it_is_used() -> None:
    known = {"PATH"}
    for word, rest in INSTRUCTIONS:
        assert {*re.findall(r"\$\{(\w+)\}", rest)} <= known, rest
        if word == "ARG":
            known.add(rest.partition("=")[0])
    assert known == {"PATH", "PYTHON", "GPU"}


def test_the_base_has_a_python_that_the_package_takes() -> None:
    [version] = [rest.partition("=")[2] for word, rest in INSTRUCTIONS if rest.startswith("PYTHON=")]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    least, most = re.findall(r'requires-python = ">=3\.(\d+),<3\.(\d+)"', project)[0]
    assert int(least) <= int(version.removeprefix("3.")) < int(most)


@pytest.mark.parametrize("words", COPIES, ids=" ".join)
def test_what_is_copied_is_tracked_and_not_ignored(words: list[str]) -> None:
    *sources, _ = words
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    left_out = [
        line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] not in "#!"
    ]
    for source in sources:
        assert any(name == source or name.startswith(f"{source}/") for name in tracked), source
        assert not any(fnmatch(source, pattern) for pattern in left_out), source


def test_the_image_has_what_bakeoff_init_hands_out_and_what_the_set_up_reads() -> None:
    copied = [source for words in COPIES for source in words[:-1]]
    for name in (*COPIED, *GROWN, "requirements.lock", "requirements-gpu.lock", "environment.py", "setup.py"):
        assert any(name == source or name.startswith(f"{source}/") for source in copied), name
    [made] = [rest for word, rest in INSTRUCTIONS if "make " in rest and "setup" in rest]
    assert "make GPU=${GPU} setup" in made
    assert re.search(r"^setup: ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)


def test_the_devcontainer_is_built_from_the_same_file() -> None:
    folder = ROOT / ".devcontainer"
    settings = json.loads((folder / "devcontainer.json").read_text(encoding="utf-8"))
    assert (folder / settings["build"]["dockerfile"]).resolve() == (ROOT / "Dockerfile").resolve()
    assert (folder / settings["build"]["context"]).resolve() == ROOT.resolve()
    assert settings["postCreateCommand"] == "make setup"
