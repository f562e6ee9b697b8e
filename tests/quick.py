"""Run the tests that say most about the change in the working tree, as many as fit in a minute on two cores.

    python tests/quick.py -n 2 --dist loadfile --no-loadscope-reorder

A test file is near to a changed file if it is its mirror (tests/learning/lr/test_decays.py of learning/lr/decays.py) or
imports it, far if it does so through others. The nearest run, of those the fastest; of no change all are as near.
"""

import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from support.durations import load_durations
from support.imports import ROOT, SRC, imported_modules, own_files

TESTS = ROOT / "tests"
SECONDS = 80.0  # of tests: a minute for each of two workers, without the time in which they start and import TensorFlow
MIRRORED, NAMED = 0, 1  # steps of imports
UNKNOWN = 5.0  # seconds of a file that nobody measured


def main() -> int:
    files = sorted(TESTS.rglob("test_*.py"))
    changed = changed_files()
    steps = measure_steps(files, changed) if changed else dict.fromkeys(files, 0)
    seconds = load_durations()
    chosen, left = choose(steps, {file: seconds.get(file.relative_to(ROOT).as_posix(), UNKNOWN) for file in steps})
    what = f"{len(changed)} changed files reach" if changed else "nothing changed; of all,"
    print(f"quick: {what} {len(steps)} test files, {len(chosen)} run now", flush=True)
    for file in [file for file in left if steps[file] == MIRRORED] if changed else []:
        print(f"quick: {file.relative_to(ROOT)} does not fit into the minute; run it by itself", flush=True)
    if not chosen:
        return 0
    names = [str(file.relative_to(ROOT)) for file in chosen]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "not slow", *sys.argv[1:], *names], cwd=ROOT, check=False
    ).returncode


def changed_files(root: Path = ROOT) -> set[Path]:
    """Of the working tree, since it left main."""

    def ask(*words: str) -> list[str]:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
        return done.stdout.splitlines() if done.returncode == 0 else []

    [base] = ask("merge-base", "main", "HEAD") or ask("merge-base", "origin/main", "HEAD") or ["HEAD"]
    names = ask("diff", "--name-only", "--no-renames", base) + ask("ls-files", "--others", "--exclude-standard")
    return {root / name for name in names}


def measure_steps(files: Iterable[Path], changed: Collection[Path]) -> dict[Path, int]:
    """Return how far each test file is from the nearest changed file, without those that none of them touches."""
    named = {path: re.compile(rf"\b{re.escape(path.relative_to(ROOT).parts[0])}\b") for path in changed}
    patterns = {pattern for path, pattern in named.items() if path.suffix != ".py"}
    conftests = {path.parent for path in changed if path.name == "conftest.py"}
    mirrors = {mirror_of(path) for path in changed}
    imports: dict[Path, set[Path]] = {}
    steps: dict[Path, int] = {}
    for file in files:
        if file in changed or file in mirrors:
            steps[file] = MIRRORED
        elif conftests & set(file.parents) or any(pattern.search(file.read_text("utf-8")) for pattern in patterns):
            steps[file] = NAMED
        elif (distance := _distance(file, changed, imports)) is not None:
            steps[file] = distance
    return steps


def _distance(file: Path, changed: Collection[Path], imports: dict[Path, set[Path]]) -> int | None:
    """Count the imports from a file to the nearest changed one; `imports` remembers what each file imports."""
    seen, edge, distance = {file}, {file}, 0
    while edge:
        if not edge.isdisjoint(changed):
            return distance
        for one in edge - imports.keys():
            imports[one] = own_files(one) | _helpers(one)
        edge = {other for one in edge for other in imports[one]} - seen
        seen |= edge
        distance += 1
    return None


def _helpers(file: Path) -> set[Path]:
    """Modules of tests/ that a file imports."""
    places = [TESTS / f"{name.replace('.', '/')}.py" for name in imported_modules(file)]
    return {place for place in places if place.is_file()}


def mirror_of(file: Path) -> Path | None:
    """The test file that has the name of a module."""
    if not file.is_relative_to(SRC):
        return None
    inner = file.relative_to(SRC)
    return TESTS / inner.parent / f"test_{inner.name}"


def choose(steps: Mapping[Path, int], seconds: Mapping[Path, float]) -> tuple[list[Path], list[Path]]:
    """Return the files for which there is time, nearest and then fastest first, and the others."""
    time, chosen, left = SECONDS, list[Path](), list[Path]()
    for file in sorted(steps, key=lambda file: (steps[file], seconds[file])):
        if seconds[file] <= time:
            time -= seconds[file]
            chosen.append(file)
        else:
            left.append(file)
    return chosen, left


if __name__ == "__main__":
    sys.exit(main())
