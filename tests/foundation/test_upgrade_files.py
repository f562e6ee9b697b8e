"""What a newer version writes into a workspace, what of a team's own stays, and what a kill leaves."""

from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from bakeoff.foundation import made_by, new_workspace, upgrade_files, workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.made_by import MadeBy
from bakeoff.foundation.new_workspace import make_workspace, workspace_files
from bakeoff.foundation.upgrade_files import FilePlan, plan_files, write_files
from bakeoff.stages import code
from support.messages import missing_in

OLD_LINE, NEW_LINE = (
    "      - data/weights # files that a training starts from\n",
    "      - data/weights\n      - more\n",
)
NEW_FILE = ".dvc/later.html"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace that 9.1 made; what this process asks about is 9.2 from now on."""
    monkeypatch.setattr(made_by, "installed_version", lambda package: "9.1")
    make_workspace(tmp_path / "field", example=True)
    monkeypatch.setattr(made_by, "installed_version", lambda package: "9.2")
    files = workspace_files(example=False)
    assert OLD_LINE in files["dvc.yaml"]
    files |= {
        ".gitignore": files[".gitignore"] + "core.*\n", ".dvc/plots.html": "<html>9.2</html>\n", NEW_FILE: "new\n",
        "dvc.yaml": files.pop("dvc.yaml").replace(OLD_LINE, NEW_LINE).replace("errors by kind", "errors of a kind"),
    }  # fmt: skip
    monkeypatch.setattr(upgrade_files, "workspace_files", lambda example: files)
    return tmp_path / "field"


def upgrade(folder: Path) -> FilePlan:
    plan = plan_files(folder, MadeBy.read(folder))
    write_files(folder, plan)
    return plan


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_files_that_nobody_edited_become_the_new_versions(folder: Path) -> None:
    params = (folder / "params.yaml").read_text(encoding="utf-8")
    plan = upgrade(folder)
    assert {change.name for change in plan.changes} == {
        "dvc.yaml", ".gitignore", ".dvc/plots.html", NEW_FILE, ".dvc/bakeoff.json",
    }  # fmt: skip
    assert [change.name for change in plan.changes][-2:] == ["dvc.yaml", ".dvc/bakeoff.json"] and plan.remarks == []
    assert NEW_LINE in (folder / "dvc.yaml").read_text(encoding="utf-8")
    assert (folder / ".gitignore").read_text(encoding="utf-8").endswith("core.*\n")
    assert (folder / "params.yaml").read_text(encoding="utf-8") == params
    assert MadeBy.read(folder).version == "9.2"  # type: ignore[union-attr]
    assert upgrade(folder).changes == []


def test_own_lines_stay_and_what_was_removed_stays_away(folder: Path) -> None:
    edit(folder / "dvc.yaml", "stages:\n", "stages:\n  clean:\n    cmd: echo clean\n")
    edit(folder / ".gitignore", "*.key\n", "")
    (folder / "data/raw/.gitignore").unlink()
    edit(folder / ".dvc/plots.html", "<", "<!-- ours --><")
    plan = upgrade(folder)
    pipeline = (folder / "dvc.yaml").read_text(encoding="utf-8")
    assert "cmd: echo clean" in pipeline and NEW_LINE in pipeline and "errors of a kind" in pipeline
    ignored = (folder / ".gitignore").read_text(encoding="utf-8")
    assert "*.key" not in ignored and "core.*" in ignored
    assert not (folder / "data/raw/.gitignore").exists()
    [remark] = plan.remarks
    assert missing_in(remark, ".dvc/plots.html", "stays") == []


def test_a_place_that_both_edited_is_refused_and_nothing_is_written(folder: Path) -> None:
    edit(folder / "dvc.yaml", OLD_LINE, "      - data/weights\n      - our/table.csv\n")
    before = contents(folder)
    line = before["dvc.yaml"].splitlines().index("      - our/table.csv")
    with pytest.raises(WorkspaceError) as refused:
        upgrade(folder)
    assert missing_in(str(refused.value), f"dvc.yaml:{line}:", "our/table.csv", OLD_LINE.strip()) == []
    assert contents(folder) == before


def test_a_kill_at_any_write_is_gone_on_with(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(folder / "dvc.yaml", "stages:\n", "stages:\n  clean:\n    cmd: echo clean\n")
    before, write = contents(folder), upgrade_files.write_whole

    def killed_after(writes: int) -> Callable[..., None]:
        left: Iterator[int] = iter(range(writes))

        def write_some(path: Path, content: str, *, lasting: bool) -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt
            write(path, content, lasting=lasting)

        return write_some

    upgrade(folder)
    after = contents(folder)
    for writes in range(5):
        for name in after:
            (folder / name).unlink()
        for name, content in before.items():
            (folder / name).write_text(content, encoding="utf-8")
        monkeypatch.setattr(upgrade_files, "write_whole", killed_after(writes))
        with pytest.raises(KeyboardInterrupt):
            upgrade(folder)
        assert all(text in (before.get(name), after[name]) for name, text in contents(folder).items())
        monkeypatch.setattr(upgrade_files, "write_whole", write)
        upgrade(folder)
        assert contents(folder) == after


def test_without_the_record_an_edited_file_is_refused_with_its_line(folder: Path) -> None:
    (folder / ".dvc/bakeoff.json").write_text("{", encoding="utf-8")
    with pytest.raises(WorkspaceError) as refused:
        upgrade(folder)
    assert missing_in(str(refused.value), ".dvc/bakeoff.json", "is missing or damaged") == []


def test_the_workspace_of_a_newer_version_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade(folder)
    monkeypatch.setattr(made_by, "installed_version", lambda package: "9.1")
    for refuse in (workspace.enter, code._require_known_version):
        with chdir(folder), pytest.raises(WorkspaceError) as refused:
            refuse()
        assert missing_in(str(refused.value), ".dvc/bakeoff.json", "9.2", "9.1") == []


def test_init_over_what_an_older_init_left_half_written_has_one_version(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "dvc.yaml").unlink()
    make_workspace(folder, example=True)
    assert MadeBy.read(folder).version == "9.2"  # type: ignore[union-attr]
    assert new_workspace.PIPELINE.name in MadeBy.read(folder).files  # type: ignore[union-attr]
