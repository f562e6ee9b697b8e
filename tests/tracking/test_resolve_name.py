"""Each command that takes a run, with each kind of name that a run has; docs/runs.md has the table."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.resolve_name import candidates
from bakeoff.tracking.results.measurements import keep_measured
from bakeoff.tracking.results.run_id import Names
from bakeoff.tracking.store.target import Target, place_in
from support.commands import run_bakeoff
from support.imports import ROOT
from support.made_runs import made
from support.messages import missing_in
from support.repository import git
from support.run_journals import write_run

RUN_ID, FINGERPRINT = "9e1f70b2" + "0" * 24, "64cbc1a6731605e7"
OTHER_ID, OTHER_FINGERPRINT = "77aa0b1c" + "0" * 24, "5d1c9a3e00000000"
SHORT, VARIANT = "9e1f70b2", "ssd_tiny · cosine · low"
LISTING, STATE = "01" * 16, "02" * 16
LOCK = f"stages: {{train: {{cmd: c, outs: [{{path: models/train, md5: {LISTING}.dir}}]}}}}\n"
KINDS = (
    "short name", "id", "beginning of it", "fingerprint", "beginning of a fingerprint", "MLflow's id",
    "beginning of MLflow's id", "DVC experiment", "variant", "branch", "commit", "short commit",
)  # fmt: skip
COMMANDS = {  # the words before the run, those after it, and the exit code where there is neither data nor weights
    "status": (("status",), (), 0),
    "stop": (("stop",), (), 0),
    "clean": (("clean",), (), 0),
    "compare": (("compare",), (), 0),
    "better": (("better",), (OTHER_ID,), 2),
    "evaluate": (("evaluate",), (), 2),
    "predict": (("predict", "a.png", "--out", "out", "--run"), (), 2),
    "reproduce": (("reproduce",), (), 2),
    "continue": (("continue",), (), 2),
    "config": (("config",), (OTHER_ID,), 0),
}


@pytest.fixture(scope="module")
def names(new_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Of a run that is under way here, in MLflow and in a commit, in a workspace with another one beside it."""
    from bakeoff.tracking.store.mlflow_client import open_store
    from bakeoff.tracking.sync.send_run import Delivery

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("workspace"))
        for name in ("DVC_EXP_NAME", "MLFLOW_TRACKING_URI"):
            patch.delenv(name, raising=False)
        shutil.copy(new_store, "mlflow.db")
        shutil.copytree(ROOT / "conf", "conf")
        shutil.copy(ROOT / "docs/images/compare.jpg", "a.png")
        for file, text in (
            ("dvc.yaml", "stages: {}\n"), ("params.yaml", "experiment: demo\ndata: {use: digits}\n"),
            ("dvc.lock", LOCK), ("models/config/run.yaml", "variant: {model: ssd_tiny, lr: cosine, memory: low}\n"),
            (".gitignore", ".bakeoff\nmlflow.db\nmlartifacts\n"),
            (f".dvc/cache/files/md5/01/{LISTING[2:]}.dir", json.dumps([{"relpath": "state.json", "md5": STATE}])),
            (f".dvc/cache/files/md5/02/{STATE[2:]}", json.dumps({"lineage": {"fingerprint": FINGERPRINT}})),
        ):  # fmt: skip
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(text, encoding="utf-8")
        made(Path(".bakeoff/runs"), FINGERPRINT, run_id=RUN_ID, experiment="tall-kite")
        made(Path(".bakeoff/runs"), OTHER_FINGERPRINT, run_id=OTHER_ID, name="cnn · cosine · low")
        keep_measured(FINGERPRINT, run_id=RUN_ID)
        own = {"bakeoff.fingerprint": FINGERPRINT, "DVC_EXP_NAME": "tall-kite", "bakeoff.git_commit": "none"}
        target = Target("local", "bakeoff")
        for run_id, tags, name in (
            (RUN_ID, own, f"{VARIANT} (tall-kite)"),
            (OTHER_ID, {"bakeoff.fingerprint": OTHER_FINGERPRINT}, "cnn · cosine · low"),
        ):
            write_run(run_id, tags=tags, name=name)
            journal = Journal(run_id)
            journal.text(f"seed: {len(tags)}\n", "config/run.yaml")
            journal.close()
            client, experiment = open_store(target)
            Delivery(client, experiment, journal.folder, target).send()
        for arguments in (("init", "--quiet", "-b", "trunk"), ("add", "."), ("commit", "--quiet", "-m", "a result")):
            git(*arguments)
        commit, in_mlflow = git("rev-parse", "HEAD"), place_in(Path(".bakeoff/journal") / RUN_ID, target).run
        assert in_mlflow
        yield dict(zip(KINDS, (
            SHORT, RUN_ID, RUN_ID[:5], FINGERPRINT, FINGERPRINT[:6], in_mlflow, in_mlflow[:10], "tall-kite", VARIANT,
            "trunk", commit, commit[:12],
        ), strict=True))  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # of MLflow and its libraries
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_every_name_and_says_which_run_it_took(
    command: str, names: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after, expected = COMMANDS[command]
    for kind in KINDS:
        code, output, wrong = run_bakeoff(monkeypatch, capsys, *before, names[kind], *after)
        assert code == expected, (kind, output, wrong)
        if command == "config" and kind not in ("branch", "commit", "short commit"):
            assert output.splitlines()[1].split() == ["seed", "3", "1"], (kind, output)  # what differs, not a run
        elif command != "config":
            assert SHORT in output + wrong and OTHER_ID[:8] not in (output + wrong).replace("– 77aa0b1c", ""), (
                kind,
                wrong,
            )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_a_name_of_several_and_one_of_none(
    command: str, names: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after, _ = COMMANDS[command]
    alike = f"{RUN_ID[:12]}{'1' * 20}"
    made(Path(".bakeoff/runs"), "1234567890abcdef", run_id=alike)
    write_run(alike)
    try:
        code, _, wrong = run_bakeoff(monkeypatch, capsys, *before, SHORT[:6], *after)
        if command != "continue":  # it looks into the store alone, which has but one
            assert code == 2 and wrong.count(SHORT) >= 2
            assert wrong.startswith(f"{SHORT[:6]}: must name one run, got 2: ")
        code, _, wrong = run_bakeoff(monkeypatch, capsys, *before, "nobody", *after)
        assert code == 2 and missing_in(wrong, "nobody", "no run", "short name") == []
    finally:
        shutil.rmtree(Path(".bakeoff/runs/1234567890abcdef"))
        shutil.rmtree(Path(".bakeoff/journal") / alike)


def test_of_several_attempts_the_newest_is_meant_and_whole_names_win(names: dict[str, str]) -> None:
    first = Names("aaaa0000", "f1", experiment="try", variant="cosine", began=1)
    again = Names("bbbb0000", "f1", experiment="try", variant="cosine", began=2)
    other = Names("aaaa1111", "f2", experiment="try-2", variant="cos", began=3)
    runs = [first, again, other]
    assert candidates("f1", runs) == candidates("try", runs) == [again]
    assert candidates("cos", runs) == [other] and candidates("cosine", runs) == [again, first]
    assert candidates("aaaa", runs) == [other, first] and candidates("aaa", runs) == []
    assert candidates("try-", runs) == [other] and candidates("cosi", runs) == [again, first]
