"""Git: a command of it, and what it knows: commits, DVC's experiments, files of other revisions, a patch of what is
not committed.

The patch is one that `git apply` takes. It has the files that git does not know, too, and names those it leaves out:
# not in here: clip.mp4 (12000000 bytes)
diff --git a/conf/lr/mine.yaml b/conf/lr/mine.yaml
"""

import io
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.workspace import main_workspace

PAUSES = (0.1, 0.5, 2.0)  # seconds before another try beside a `git gc`, which may take a while to remove objects

# Variables of a git hook, for example, which would name another repository than that of the folder.
ELSEWHERE = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX",
)  # fmt: skip
# Git itself does not sync all files to the disk. A loss of power would leave objects and references empty.
LASTING = ("-c", "core.fsync=all")
OUTPUTS = (":!models", ":!dvc.lock")  # written by the stages themselves, so no change of the user's
LARGEST = 1_000_000  # bytes of a file that git does not know; what is larger is data
# Files that hold keys or passwords; a patch is copied to wherever a run is.
SECRET = re.compile(
    r"(?i)(^|/)(\.env(\..*)?|\.envrc|\.netrc|_netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|\.htpasswd"
    r"|id_(rsa|dsa|ecdsa|ed25519)(_sk)?|(.*[._-])?(credentials?|secrets?|passwords?|passwd|tokens?)(\.\w+)?"
    r"|config\.local|.*\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|gpg|asc))$"
)
PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY")
# The second is how runs of earlier versions named them, of which none was in the patch.
LEFT_OUT = re.compile(rb"^# (?:not in here: (?P<name>.+) \(\d+ bytes\)|git does not know (?P<older>.+))$", re.MULTILINE)
# Whatever the user's git is set to, the patch is in the form that every git applies.
PLAIN = (
    "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip


def git(*arguments: str, folder: Path | None = None, more: Mapping[str, str] | None = None) -> str:
    """Run git in a folder, by default the main workspace, and return what it prints. `more` are variables.

    Raises WorkspaceError.
    """
    return run(*arguments, folder=folder or main_workspace(), more=more).decode(errors="replace").strip()


def git_beside_gc(*arguments: str, folder: Path | None = None, clean: Callable[[], object] = lambda: None) -> str:
    """Run git, and run it again where a `git gc` beside it took away an object that it had listed.

    `clean` removes what a failed try left. Raises WorkspaceError.
    """
    for pause in PAUSES:
        with suppress(WorkspaceError):
            return git(*arguments, folder=folder)
        clean()
        time.sleep(pause)
    return git(*arguments, folder=folder)


@contextmanager
def own_index(folder: Path) -> Iterator[dict[str, str]]:
    """Give the variables of git for a copy of a repository's index. So the user's index stays as it is."""
    used = _try("rev-parse", "--git-path", "index", folder=folder) or b""
    with TemporaryDirectory(prefix="bakeoff-") as place:
        copy, own = Path(place) / "index", folder / os.fsdecode(used.removesuffix(b"\n"))
        if own.is_file():
            shutil.copy2(own, copy)  # of the same age: git reads files that are as young as its index
        yield {"GIT_INDEX_FILE": str(copy)}


def commit(revision: str = "HEAD") -> str | None:
    return None if revision.startswith("-") else _ask("rev-parse", "--verify", f"{revision}^{{commit}}")


def has_commit(commit: str) -> bool:
    return _ask("cat-file", "-t", commit) == "commit"


def is_shallow() -> bool:
    return _ask("rev-parse", "--is-shallow-repository") == "true"


def has_uncommitted_changes() -> bool:
    return bool(_ask("status", "--porcelain", "--", ".", *OUTPUTS))


def untracked(*folders: str) -> list[str]:
    """List the files that git neither knows nor ignores."""
    return _list_files("--others", "--exclude-standard", "--", *folders)


def tracked(*names: str) -> list[str]:
    """List those of these files that git knows."""
    return _list_files("--", *names)


def _list_files(*options: str) -> list[str]:
    return [os.fsdecode(name) for name in (_try("ls-files", "-z", *options) or b"").split(b"\0") if name]


def experiments() -> list[str]:
    return [ref.rpartition("/")[2] for ref in _refs("refs/exps") if len(ref.split("/")) == 5]  # refs/exps/8d/f5…/name


def commit_of(experiment: str) -> str | None:
    return next((commit for ref, commit in _refs("refs/exps").items() if ref.split("/")[-1] == experiment), None)


def file_at(revision: str, path: str) -> str | None:
    """Return the text of a file in a commit, branch, tag or DVC experiment; None if there is no such thing."""
    text = None if revision.startswith("-") else _ask("show", f"{revision}:./{path}")
    if text is None:
        made = commit_of(revision)
        text = _ask("show", f"{made}:./{path}") if made else None
    return text


def file_at_refs(path: str) -> dict[str, str]:
    """Return the text of a file by branch, tag and DVC experiment; those that lack it are left out."""
    refs = _refs("refs/heads", "refs/tags", "refs/exps")
    names = "".join(f"{ref}:./{path}\n" for ref in refs).encode()
    texts, rest = {}, _try("cat-file", "--batch=%(objecttype) %(objectsize)", given=names) or b""
    for ref in refs:
        head, _, rest = rest.partition(b"\n")
        if head.startswith(b"blob "):
            size = int(head.split()[1])
            texts[ref.rpartition("/")[2]], rest = rest[:size].decode(errors="replace"), rest[size + 1 :]
    return texts


def list_blobs(revision: str) -> dict[str, str]:
    """Return the object of each regular file of a commit, by the file's name below this process's folder."""
    rows = (_try("ls-tree", "-r", "-z", revision) or b"").split(b"\0")
    pairs = (row.partition(b"\t") for row in rows if row.startswith(b"100"))  # no link, no repository inside this one
    return {os.fsdecode(name): head.split()[2].decode() for head, _, name in pairs}


def read_blobs(blobs: Iterable[str]) -> Iterator[bytes]:
    """Yield what each object holds. Raises WorkspaceError for one that this clone lacks."""
    stream = io.BytesIO(run("cat-file", "--batch", given="".join(f"{blob}\n" for blob in blobs).encode()))
    while head := stream.readline():
        if not head.split()[-1].isdigit():
            raise WorkspaceError(f"git: this clone lacks the object {head.split()[0].decode()}; `git fetch` brings it")
        yield stream.read(int(head.split()[-1]))
        stream.read(1)


def make_patch() -> bytes | None:
    """Return what the workspace differs in from its commit; None if it does not, or without git."""
    listed = _try("ls-files", "-z", "--others", "--exclude-standard", "--", ".", *OUTPUTS) or b""
    # A folder is a repository inside this one.
    unknown = [name for name in map(os.fsdecode, listed.split(b"\0")) if name and not name.endswith("/")]
    sizes = {name: _size_of(name) for name in unknown}
    taken = [name for name, size in sizes.items() if size <= LARGEST and not _may_hold_a_secret(name)]
    changed = (_try("diff", "--name-only", "-z", "HEAD", "--", ".", *OUTPUTS) or b"").split(b"\0")
    secret = [name for name in map(os.fsdecode, changed) if name and _may_hold_a_secret(name)]
    sizes |= {name: _size_of(name) for name in secret}
    left_out = [f":(exclude,top,literal){name}" for name in secret]
    try:
        patch = _diff_with(taken, left_out)
    except OSError:  # no room for a second index
        patch, taken = _try("diff", *PLAIN, "HEAD", "--", ".", *OUTPUTS, *left_out), []
    named = [f"# not in here: {name} ({size} bytes)\n".encode() for name, size in sizes.items() if name not in taken]
    return b"".join([*named, patch or b""]) or None


def list_left_out(patch: bytes) -> list[str]:
    """List the files that were there, and of which the patch has but the name."""
    head = patch.partition(b"diff --git ")[0]
    return [(match["name"] or match["older"]).decode(errors="replace") for match in LEFT_OUT.finditer(head)]


def _size_of(name: str) -> int:
    try:
        return Path(name).lstat().st_size
    except OSError:  # it went away a moment ago
        return LARGEST + 1


def _may_hold_a_secret(name: str) -> bool:
    path = Path(name)
    try:
        return bool(SECRET.search(name)) or (path.is_file() and bool(PRIVATE_KEY.search(path.read_bytes())))
    except OSError:  # nobody may read it
        return True


def _diff_with(unknown: list[str], left_out: list[str]) -> bytes | None:
    """Return the diff as if git knew these files."""
    with own_index(Path()) as index:
        names = b"".join(os.fsencode(name) + b"\0" for name in unknown)
        add = ("add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul")
        if unknown and _try("--literal-pathspecs", *add, more=index, given=names) is None:
            raise OSError("git cannot take the files into an index")
        return _try("diff", *PLAIN, "HEAD", "--", ".", *OUTPUTS, *left_out, more=index)


def _refs(*below: str) -> dict[str, str]:
    """Return the names of refs, each with its object's digest."""
    lines = (_ask("for-each-ref", "--format=%(refname) %(objectname)", *below) or "").splitlines()
    return dict(line.rsplit(" ", 1) for line in lines)


def _ask(*arguments: str) -> str | None:
    """Return git's answer as text; None if it has none, or fails."""
    return (_try(*arguments) or b"").decode(errors="replace").strip() or None


def _try(
    *arguments: str, folder: Path | None = None, more: Mapping[str, str] | None = None, given: bytes | None = None
) -> bytes | None:
    """Return what git prints, by default in this process's folder; None if it fails or is not there."""
    with suppress(WorkspaceError, FileNotFoundError):
        return run(*arguments, folder=folder, more=more, given=given)
    return None


def run(
    *arguments: str, folder: Path | None = None, more: Mapping[str, str] | None = None, given: bytes | None = None
) -> bytes:
    """Return what git prints, in bytes, for files are of any encoding. Raises WorkspaceError."""
    environment = {key: value for key, value in os.environ.items() if key not in ELSEWHERE} | dict(more or {})
    command = ["git", *LASTING, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, input=given, capture_output=True, check=False)
    if done.returncode:
        reason = (done.stderr.decode(errors="replace").strip().splitlines() or ["failed"])[-1]
        raise WorkspaceError(f"git {arguments[0]}: {reason}; `git status` says more")
    return done.stdout
