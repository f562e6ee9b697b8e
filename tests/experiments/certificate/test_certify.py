"""bakeoff certify and verify, on a run whose files are written here, with keys and signatures of the real library."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from bakeoff.experiments.certificate.compare_copy import find_difference
from bakeoff.foundation import workspace
from bakeoff.foundation.shipped import code_lines
from bakeoff.tracking import find_run
from bakeoff.tracking.journal.entries import TagsEntry
from bakeoff.tracking.journal.journal import entries_of
from support.commands import Bakeoff, CommandOutput
from support.drawing import write
from support.finished_run import commit_run, write_run
from support.messages import missing_in
from support.repository import git
from support.run_journals import write_run as write_journal

pytestmark = pytest.mark.long

pytest.importorskip("model_signing", reason="the extra `certify` is not installed")
PRIVATE, PUBLIC = "../keys/private.pem", "../keys/public.pem"
DEPS = {"train": ["src/net", "parts"], "build_records": ["conf"]}
WEIGHTS = workspace.TRAINED / "best.weights.h5"
REAL = "https://in-toto.io/Statement/v1"


def write_keys(private: str, public: str, password: bytes = b"", curve: ec.EllipticCurve | None = None) -> None:
    key = ec.generate_private_key(curve or ec.SECP256R1())
    hidden = BestAvailableEncryption(password) if password else NoEncryption()
    for path, content in (
        (private, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden)),
        (public, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)),
    ):
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_bytes(content)


@pytest.fixture
def commit(here: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Stand in a committed run with code of its own."""
    (here / "work").mkdir()
    monkeypatch.chdir(here / "work")
    write_run()
    write(Path("dvc.yaml"), "stages: {}\n")
    write(Path("conf/lr/cosine.yaml"), "kind: cosine\n")
    write(Path("src/net/größe.py"), "SIZE = 24\n")
    write(Path("src/other.py"), "print('no stage reads this')\n")
    write(Path("parts/_halving.py"), "HALF = 0.5\n")
    write(Path("requirements.lock"), "numpy==2.0\n")
    WEIGHTS.write_bytes(bytes(range(256)) * 8)
    write_keys(PRIVATE, PUBLIC)
    return commit_run(DEPS)


@pytest.fixture
def certified(commit: str, bakeoff: Bakeoff) -> CommandOutput:
    output = bakeoff("certify", "--key", PRIVATE, "--out", "here")
    assert (output.code, output.err) == (0, "")
    return output


def read_certificate() -> dict[str, Any]:
    return json.loads(Path("here/certificate.json").read_text(encoding="utf-8"))


def verify(bakeoff: Bakeoff, *words: str, key: str = PUBLIC) -> CommandOutput:
    return bakeoff("verify", "here/certificate.json", "--key", key, *words)


def official(folder: str = "here", key: str = PUBLIC) -> subprocess.CompletedProcess[str]:
    """Run the command of model-signing, as somebody does who has no bakeoff."""
    words = ["verify", "key", folder, "--signature", f"{folder}/model.sig", "--public_key", key]
    code = "import sys; from model_signing._cli import main; sys.argv[0] = 'model_signing'; main()"
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)


def sign_again(**changes: Any) -> None:
    """Change the certificate, and sign the folder as its owner can."""
    import model_signing

    Path("here/certificate.json").write_text(json.dumps(read_certificate() | changes), encoding="utf-8")
    ignored = model_signing.hashing.Config().set_ignored_paths(paths=["model.sig"])
    config = model_signing.signing.Config().use_elliptic_key_signer(private_key=PRIVATE)
    config.set_hashing_config(ignored).sign("here", "here/model.sig")


def flip(path: str | Path, offset: int) -> None:
    """Flip a bit of a byte; the file may be a link into DVC's cache, which stays as it is."""
    content = bytearray(Path(path).read_bytes())
    content[offset] ^= 1
    Path(path).unlink()
    Path(path).write_bytes(content)


def test_a_certificate_states_what_git_and_dvc_have(certified: CommandOutput, commit: str, bakeoff: Bakeoff) -> None:
    tree = read_certificate()
    assert tree["_type"] == REAL and tree["predicate"]["code"]["commit"] == commit
    subjects = {one["name"]: one["digest"] for one in tree["subject"]}
    assert subjects["models/train/best.weights.h5"] == {
        "sha256": hashlib.sha256(WEIGHTS.read_bytes()).hexdigest(), "md5": hashlib.md5(WEIGHTS.read_bytes()).hexdigest()
    }  # fmt: skip
    assert "models/export/model.tflite" in subjects
    facts = tree["predicate"]
    files = {part: {one["name"] for one in facts[part].get("files", ())} for part in facts}
    assert files["code"] == {"dvc.yaml", "src/net/größe.py", "src/other.py", "parts/_halving.py"}
    assert files["lock"] == {"dvc.lock", "requirements.lock"}
    assert files["config"] == {"conf/lr/cosine.yaml", "models/config/run.yaml"}
    assert {"data/records/manifest.json", "data/records/labels.txt"} < files["data"]
    assert files["metrics"] == {"models/evaluation/metrics.json", "models/evaluation/slices.json"}
    assert facts["metrics"]["values"]["accuracy"] == 0.9 and facts["run"]["fingerprint"] == "ab12" * 4
    assert facts["reproduction"] == {"verdict": None, "at": None}
    blob = next(one for one in facts["lock"]["files"] if one["name"] == "dvc.lock")["digest"]["gitBlob"]
    assert blob == git("rev-parse", "HEAD:dvc.lock")
    card = Path("here/README.md").read_text(encoding="utf-8")
    assert "## Certificate" in card and "`certificate.json`" in card
    output = verify(bakeoff)
    assert output.code == 0 and "code: 4 files, 0 differ" in output.out
    assert official().returncode == 0


def test_the_run_in_mlflow_gives_its_environment_and_verdict_and_gets_the_digest(
    commit: str, bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = {
        "bakeoff.versions": "python 3.11, numpy 2",
        "bakeoff.reproduced": "identical",
        "bakeoff.reproduced_at": "now",
    }
    journal = write_journal("0f" * 16, tags=tags)
    write(workspace.results() / f"{'ab12' * 4}.json", json.dumps({"run_id": "0f" * 16}))
    monkeypatch.setattr(find_run, "send_beside", lambda: None)
    output = bakeoff("certify", "0f0f0f0f", "--key", PRIVATE, "--out", "here")
    assert output.code == 0 and "bakeoff reproduce: identical (now)" in output.out
    facts = read_certificate()["predicate"]
    assert facts["environment"] == {"versions": "python 3.11, numpy 2"}
    assert facts["reproduction"] == {"verdict": "identical", "at": "now"} and facts["run"]["id"] == "0f" * 16
    known: dict[str, str] = {}
    for entry in entries_of(journal.folder, TagsEntry):
        known |= entry.values
    assert known["bakeoff.certificate"] == hashlib.sha256(Path("here/certificate.json").read_bytes()).hexdigest()
    assert known["bakeoff.certificate_key"] == hashlib.sha256(Path(PUBLIC).read_bytes()).hexdigest()


def test_a_run_is_found_by_each_of_its_names(commit: str, bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    write_journal("0f" * 16, tags={"bakeoff.fingerprint": "ab12" * 4})
    monkeypatch.setattr(find_run, "send_beside", lambda: None)
    git("update-ref", "refs/exps/ab/cdef/quick-oven", commit)
    git("commit", "--quiet", "--allow-empty", "--message", "later")
    git("tag", "v1", commit)
    shutil.rmtree("models/train")  # so that the workspace holds the result no more
    for name in (commit, "v1", "quick-oven", "0f0f0f0f", "ab12ab12"):
        shutil.rmtree("here", ignore_errors=True)
        output = bakeoff("certify", name, "--key", PRIVATE, "--out", "here")
        assert output.code == 0, output
        stated = read_certificate()["predicate"]["code"]["commit"]
        assert git("rev-parse", f"{stated}:dvc.lock") == git("rev-parse", f"{commit}:dvc.lock")
    git("checkout", "--quiet", "--detach")
    branch = git("for-each-ref", "--format=%(refname)", "refs/heads")
    for ref in (branch, "refs/tags/v1", "refs/exps/ab/cdef/quick-oven"):
        git("update-ref", "-d", ref)
    shutil.rmtree("here")
    assert (
        missing_in(refuse(bakeoff, "certify", "0f0f0f0f", "--key", PRIVATE, "--out", "here"), "0f0f", "dvc.lock") == []
    )


def test_a_link_in_the_folder_is_named(certified: CommandOutput, bakeoff: Bakeoff) -> None:
    Path("here/link").symlink_to("labels.txt")
    output = verify(bakeoff)
    assert (output.code, len(output.out.splitlines())) == (1, 1) and "here/link" in output.out


def test_the_library_of_in_toto_reads_the_statement(certified: CommandOutput) -> None:
    from google.protobuf import json_format
    from in_toto_attestation.v1 import statement, statement_pb2

    message = json_format.Parse(Path("here/certificate.json").read_text(encoding="utf-8"), statement_pb2.Statement())
    read = statement.Statement.copy_from_pb(message)
    read.validate()
    assert read.pb.predicate_type == "https://bakeoff/certificate/v1"
    assert WEIGHTS.as_posix() in [subject.name for subject in read.pb.subject]


@pytest.mark.parametrize(
    ("path", "offset"),
    [
        ("src/net/größe.py", 4), ("parts/_halving.py", 9), ("conf/lr/cosine.yaml", 0), ("models/config/run.yaml", 30),
        ("dvc.lock", 11), ("requirements.lock", 10), ("data/records/manifest.json", 5), (WEIGHTS.as_posix(), 2047),
        ("models/export/model.tflite", 3), ("models/evaluation/metrics.json", 2),
    ],
)  # fmt: skip
def test_a_changed_byte_of_the_workspace_is_named(
    certified: CommandOutput, bakeoff: Bakeoff, path: str, offset: int
) -> None:
    before = Path(path).read_bytes()[offset]
    flip(path, offset)
    output = verify(bakeoff)
    assert output.code == 1 and output.err == ""
    assert f"differs: {path}: byte {offset:,}: is 0x{before ^ 1:02x}, was certified as 0x{before:02x}\n" in output.out


@pytest.mark.parametrize("name", ["README.md", "FILES.md", "certificate.json", "model.tflite", "labels.txt"])
def test_a_changed_byte_of_the_folder_is_named_by_both_commands(
    certified: CommandOutput, bakeoff: Bakeoff, name: str
) -> None:
    flip(f"here/{name}", 7)
    output = verify(bakeoff)
    where = "byte 7:" if name in ("FILES.md", "model.tflite", "labels.txt") else "SHA-256"
    assert output.code == 1 and output.out.startswith(f"differs: here/{name}: {where}")
    done = official()
    assert done.returncode == 1 and name in done.stderr


def test_without_another_copy_the_digest_is_named(certified: CommandOutput, bakeoff: Bakeoff) -> None:
    good = hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()
    shutil.rmtree(".dvc/cache")
    flip(WEIGHTS, 0)
    bad = hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()
    output = verify(bakeoff)
    assert f"{WEIGHTS.as_posix()}: SHA-256 is {bad[:12]}…, was certified as {good[:12]}…" in output.out


def test_a_damaged_copy_in_the_cache_is_no_witness(certified: CommandOutput, bakeoff: Bakeoff) -> None:
    md5 = hashlib.md5(WEIGHTS.read_bytes()).hexdigest()
    flip(WEIGHTS, 5)
    flip(Path(".dvc/cache/files/md5", md5[:2], md5[2:]), 9)
    assert f"{WEIGHTS.as_posix()}: SHA-256 is" in verify(bakeoff).out


def test_files_that_went_or_came_are_named(certified: CommandOutput, bakeoff: Bakeoff) -> None:
    for change, text in (
        (lambda: write(Path("parts/new.py"), "1\n"), "parts/new.py: is not in the certificate"),
        (lambda: Path("parts/new.py").unlink(), ""),
        (lambda: write(Path("models/train/more.weights.h5"), "x"), "models/train/more.weights.h5: is not in"),
        (lambda: Path("models/train/more.weights.h5").unlink(), ""),
        (lambda: WEIGHTS.unlink(), f"{WEIGHTS.as_posix()}: missing"),
    ):
        change()
        output = verify(bakeoff)
        assert (output.code, text in output.out) == (int(bool(text)), True), output.out
    write(Path("here/more.txt"), "more")
    assert verify(bakeoff).out == "differs: here/more.txt: was not there when the folder was signed\n"


def test_another_clone_says_what_is_not_there_and_which_commit_to_check_out(
    certified: CommandOutput, commit: str, bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any
) -> None:
    git("clone", "--quiet", ".", "../clone")
    shutil.copytree("here", "../clone/here")
    monkeypatch.chdir("../clone")
    output = verify(bakeoff)
    assert output.code == 0 and "weights: 0 files, 0 differ, 2 are not here: `dvc pull` brings them" in output.out
    write(Path("src/other.py"), "print('and more')\n")
    git("commit", "--quiet", "--all", "--message", "later")
    output = verify(bakeoff)
    assert output.code == 1 and "differs: src/other.py: byte 7: is 0x61, was certified as 0x6e" in output.out
    assert f"`git checkout {commit}`" in output.out
    assert verify(bakeoff, "--folder-only").code == 0
    folder, key = Path("here").resolve(), Path(PUBLIC).resolve()
    monkeypatch.chdir(tmp_path_factory.mktemp("away"))
    assert "no workspace here" in bakeoff("verify", str(folder), "--key", str(key)).out
    output = bakeoff("verify", str(folder), "--key", str(key), "--in", str(folder.parent))
    assert output.code == 1 and "differs: src/other.py: byte 7" in output.out
    nothing = str(tmp_path_factory.mktemp("nothing"))
    for place, text in ((nothing, "`bakeoff init`"), (f"{nothing}/there", "no such folder")):
        assert missing_in(refuse(bakeoff, "verify", str(folder), "--key", str(key), "--in", place), place, text) == []


def test_a_commit_of_an_edit_without_its_training_is_refused(commit: str, bakeoff: Bakeoff) -> None:
    def refused(text: str) -> None:
        git("commit", "--quiet", "--all", "--message", "edit")
        output = bakeoff("certify", "--key", PRIVATE, "--out", "here")
        assert (output.code, output.out, len(output.err.splitlines())) == (2, "", 1), output
        assert missing_in(output.err, "dvc.lock: ", text, "`dvc repro`") == []
        git("revert", "--no-edit", "HEAD")

    write(Path("src/net/größe.py"), "SIZE = 48\n")
    refused("train: was not run with the src/net ")
    write(Path("conf/lr/cosine.yaml"), "kind: step\n")
    refused("build_records: was not run with the conf ")
    write(Path("src/other.py"), "print('edited')\n")
    git("commit", "--quiet", "--all", "--message", "what no stage reads")
    assert bakeoff("certify", "--key", PRIVATE, "--out", "here").code == 0


@pytest.mark.parametrize(
    ("stage", "key", "change", "named"),
    [
        (
            "evaluate",
            "params",
            {"models/config/run.yaml": {"seed": 3, "train.steps": 13}},
            "train.steps of ",
        ),
        ("build_records", "outs", [{"path": "models/config/run.yaml", "md5": "0" * 32}], "models/config/run.yaml"),
        ("export", "deps", [{"path": "models/train", "md5": "0" * 32 + ".dir"}], "models/train"),
        ("train", "deps", [{"path": "data/records/manifest.json", "md5": "0" * 32}], "data/records/manifest.json"),
        ("train", "deps", [{"path": "conf/lr/cosine.yaml", "md5": "0" * 32}], "conf/lr/cosine.yaml"),
    ],
)
def test_a_lock_of_other_files_or_values_is_refused(
    commit: str, bakeoff: Bakeoff, stage: str, key: str, change: Any, named: str
) -> None:
    tree = read_lock()
    tree["stages"][stage][key] = [*tree["stages"][stage][key], *change] if key == "outs" else change
    commit_lock(tree)
    output = bakeoff("certify", "--key", PRIVATE, "--out", "here")
    assert output.code == 2 and missing_in(output.err, "dvc.lock: ", stage, named) == []


def test_raw_data_of_the_user_are_stated_as_dvc_knows_them(commit: str, bakeoff: Bakeoff) -> None:
    tree = read_lock()
    tree["stages"]["build_records"]["deps"].append({"path": "data/raw", "md5": "ab" * 16 + ".dir"})
    commit_lock(tree)
    assert bakeoff("certify", "--key", PRIVATE, "--out", "here").code == 0
    assert read_certificate()["predicate"]["data"]["raw"] == {"data/raw": "ab" * 16 + ".dir"}


def test_an_installed_bakeoff_is_compared_by_the_code_of_each_stage(commit: str, bakeoff: Bakeoff) -> None:
    write(Path("dvc.yaml"), "stages: {code: {outs: [models/code.yaml]}}\n")
    git("add", "dvc.yaml")
    for digest, code in ((code_lines()["train"], 0), ("0" * 64, 1)):
        tree = read_lock()
        tree["stages"]["train"]["params"] = {"models/code.yaml": {"train": digest}}
        commit_lock(tree)
        shutil.rmtree("here", ignore_errors=True)
        assert bakeoff("certify", "--key", PRIVATE, "--out", "here").code == 0
        output = verify(bakeoff)
        assert (
            output.code == code and ("differs: the installed bakeoff: has other code for train" in output.out) == code
        )


def read_lock() -> dict[str, Any]:
    return yaml.safe_load(Path("dvc.lock").read_text(encoding="utf-8"))


def commit_lock(tree: dict[str, Any]) -> None:
    write(Path("dvc.lock"), yaml.safe_dump(tree))
    git("commit", "--quiet", "--all", "--message", "edit")


def test_a_key_with_a_password(commit: str, bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    write_keys("../keys/locked.pem", "../keys/locked.pub", b"secret", ec.SECP384R1())
    output = bakeoff("certify", "--key", "../keys/locked.pem", "--out", "here")
    assert output.code == 2 and missing_in(output.err, "--key: ", "locked.pem", "assword") == []
    monkeypatch.setenv("BAKEOFF_KEY_PASSWORD", "secret")
    assert bakeoff("certify", "--key", "../keys/locked.pem", "--out", "here").code == 0
    assert verify(bakeoff, key="../keys/locked.pub").code == 0
    output = verify(bakeoff)
    assert (output.code, len(output.out.splitlines())) == (1, 1) and "here/model.sig: " in output.out


def refuse(bakeoff: Bakeoff, *words: str) -> str:
    output = bakeoff(*words)
    assert (output.code, output.out, len(output.err.splitlines())) == (2, "", 1), output
    return output.err


def test_bad_input_to_certify_is_one_line(commit: str, bakeoff: Bakeoff) -> None:
    sign = ("certify", "--key", PRIVATE, "--out", "here")
    assert missing_in(refuse(bakeoff, "certify", "--key", "no.pem", "--out", "here"), "--key: no.pem", "no such") == []
    assert missing_in(refuse(bakeoff, "certify", "--key", PUBLIC, "--out", "here"), "--key: ", "private key") == []
    other = rsa.generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    Path("../keys/rsa.pem").write_bytes(other)
    assert missing_in(refuse(bakeoff, "certify", "--key", "../keys/rsa.pem", "--out", "x"), "--key: ", "P-256") == []
    assert "nobody" in refuse(bakeoff, "certify", "nobody", *sign[1:])
    git("commit", "--quiet", "--allow-empty", "--message", "later")
    git("clone", "--quiet", "--depth", "1", Path.cwd().as_uri(), "../shallow")
    metrics = Path("models/evaluation/metrics.json")
    git("rm", "--quiet", "--cached", metrics.as_posix())
    git("commit", "--quiet", "--message", "without results")
    assert missing_in(refuse(bakeoff, *sign), "no evaluation", "`dvc repro evaluate`") == []
    write(Path("dvc.lock"), "stages: {}\n")
    assert missing_in(refuse(bakeoff, *sign), "dvc.lock: ", "commit") == []
    assert not Path("here").exists() and not Path("here.partial").exists()


def test_a_shallow_clone_is_named(commit: str, bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    git("commit", "--quiet", "--allow-empty", "--message", "later")
    git("clone", "--quiet", "--depth", "1", Path.cwd().as_uri(), "../shallow")
    monkeypatch.chdir("../shallow")
    text = refuse(bakeoff, "certify", commit, "--key", PRIVATE, "--out", "here")
    assert missing_in(text, commit, "shallow", "`git fetch --unshallow`") == []


def test_bad_input_to_verify_is_one_line(certified: CommandOutput, bakeoff: Bakeoff) -> None:
    def asked(*words: str) -> str:
        return refuse(bakeoff, "verify", *words)

    assert missing_in(asked("here", "--key", "no.pub"), "--key: no.pub", "no such file") == []
    assert missing_in(asked("here", "--key", PRIVATE), "--key: ", "public key") == []
    assert missing_in(asked("here"), "--key: certificate.pub") == []
    assert missing_in(asked("nowhere", "--key", PUBLIC), "nowhere: ", "certificate.json") == []
    sign_again(predicateType="https://bakeoff/certificate/v2")
    assert missing_in(asked("here", "--key", PUBLIC), "predicateType: ", "v1", "v2") == []
    sign_again(predicateType="https://bakeoff/certificate/v1", _type="https://in-toto.io/Statement/v0.1")
    assert missing_in(asked("here", "--key", PUBLIC), "_type: ", "v0.1") == []
    sign_again(_type=REAL, predicate={})
    assert missing_in(asked("here", "--key", PUBLIC), "certificate.json: ", "'code'") == []
    Path("here/model.sig").unlink()
    assert missing_in(asked("here", "--key", PUBLIC), "here/model.sig: missing") == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("publicKey", "publicKez"),
        lambda text: text[:-1],
        lambda text: "[1, 2]",
        lambda text: text.replace('"sig":"ME', '"sig":"MF').replace('"sig": "ME', '"sig": "MF'),
        lambda text: text.replace('"payload":"ew', '"payload":"ex').replace('"payload": "ew', '"payload": "ex'),
    ],
)
def test_a_signature_that_does_not_fit_is_one_line(
    certified: CommandOutput, bakeoff: Bakeoff, damage: Callable[[str], str]
) -> None:
    signature = Path("here/model.sig")
    changed = damage(signature.read_text(encoding="utf-8"))
    assert changed != signature.read_text(encoding="utf-8")
    signature.write_text(changed, encoding="utf-8")
    output = verify(bakeoff)
    assert (output.code, output.err, len(output.out.splitlines())) == (1, "", 1)
    assert output.out.startswith("differs: here/model.sig: does not verify with ")
    assert official().returncode == 1


def test_a_signature_that_leaves_the_certificate_out_certifies_nothing(
    certified: CommandOutput, bakeoff: Bakeoff
) -> None:
    import model_signing

    ignored = model_signing.hashing.Config().set_ignored_paths(paths=["model.sig", "certificate.json"])
    config = model_signing.signing.Config().use_elliptic_key_signer(private_key=PRIVATE)
    config.set_hashing_config(ignored).sign("here", "here/model.sig")
    assert official().returncode == 0
    output = verify(bakeoff)
    assert output.code == 1 and "here/certificate.json: is not among the files" in output.out


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (b"abc", b"abd", (2, "0x63", "0x64")),
        (b"abc", b"ab", (2, "0x63", "the end")),
        (b"", b"\0", (0, "the end", "0x00")),
        (bytes(3 << 20) + b"1", bytes(3 << 20) + b"2", (3 << 20, "0x31", "0x32")),
        (bytes(1 << 20), bytes(1 << 20) + b"2", (1 << 20, "the end", "0x32")),
    ],
)
def test_the_first_difference_of_two_files(a: bytes, b: bytes, expected: tuple[int, str, str]) -> None:
    assert find_difference(BytesIO(a), BytesIO(b)) == expected
