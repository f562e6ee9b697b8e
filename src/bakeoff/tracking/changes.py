"""What a workspace differs in from its commit -> a patch that `git apply` takes, with the files that git does not know.

# not in here: clip.mp4 (12000000 bytes)
diff --git a/conf/lr/mine.yaml b/conf/lr/mine.yaml
…
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.tracking.git import OUTPUTS

LARGEST = 1_000_000  # bytes of a file that git does not know; what is larger is data
# The second is how runs of earlier versions named them, of which none was in the patch.
LEFT_OUT = re.compile(rb"^# (?:not in here: (?P<name>.+) \(\d+ bytes\)|git does not know (?P<older>.+))$", re.MULTILINE)
# Whatever the user's git is set to, the patch is in the form that every git applies.
PLAIN = (
    "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip


def changes() -> bytes | None:
    """None if there are none, or no git."""
    unknown = [name for name in _unknown() if not name.endswith("/")]  # but for repositories inside this one
    sizes = {name: _size(name) for name in unknown}
    taken = [name for name, size in sizes.items() if size <= LARGEST]
    try:
        patch = _diff_with(taken)
    except OSError:  # no room for a second index
        patch, taken = _git("diff", *PLAIN, "HEAD", "--", ".", *OUTPUTS), []
    named = [f"# not in here: {name} ({size} bytes)\n".encode() for name, size in sizes.items() if name not in taken]
    return b"".join([*named, patch or b""]) or None


def left_out(patch: bytes) -> list[str]:
    """Files that were there, and of which the patch has but the name."""
    head = patch.partition(b"diff --git ")[0]
    return [(found["name"] or found["older"]).decode(errors="replace") for found in LEFT_OUT.finditer(head)]


def _unknown() -> list[str]:
    listed = _git("ls-files", "-z", "--others", "--exclude-standard", "--", ".", *OUTPUTS) or b""
    return [os.fsdecode(name) for name in listed.split(b"\0") if name]


def _size(name: str) -> int:
    try:
        return Path(name).lstat().st_size
    except OSError:  # it went away a moment ago
        return LARGEST + 1


def _diff_with(unknown: list[str]) -> bytes | None:
    """As if git knew these files: by an index of its own, so that the user's stays as it is."""
    own = Path(os.fsdecode((_git("rev-parse", "--git-path", "index") or b"").removesuffix(b"\n")))
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        index = Path(folder) / "index"
        if own.is_file():
            shutil.copyfile(own, index)
        names = b"".join(os.fsencode(name) + b"\0" for name in unknown)
        add = ("add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul")
        if unknown and _git("--literal-pathspecs", *add, index=index, given=names) is None:
            raise OSError("git cannot take the files into an index")
        return _git("diff", *PLAIN, "HEAD", "--", ".", *OUTPUTS, index=index)


def _git(*arguments: str, index: Path | None = None, given: bytes | None = None) -> bytes | None:
    """Bytes, for a patch holds files of any encoding."""
    environment = os.environ | ({"GIT_INDEX_FILE": str(index)} if index else {})
    try:
        done = subprocess.run(["git", *arguments], input=given, env=environment, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None
