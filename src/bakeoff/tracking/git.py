"""What git knows about the code that runs and about what was rendered before."""

import subprocess

OUTPUTS = (":!models", ":!dvc.lock")  # written by the stages themselves, so no change of the user's


def commit() -> str | None:
    return _git("rev-parse", "HEAD")


def has_uncommitted_changes() -> bool:
    return bool(_git("status", "--porcelain", "--", ".", *OUTPUTS))


def untracked(*folders: str) -> list[str]:
    """Files that git neither knows nor ignores."""
    return (_git("ls-files", "--others", "--exclude-standard", "--", *folders) or "").splitlines()


def experiments() -> list[str]:
    """Names of DVC's experiments."""
    refs = (_git("for-each-ref", "--format=%(refname)", "refs/exps") or "").splitlines()
    return [ref.rpartition("/")[2] for ref in refs if len(ref.split("/")) == 5]  # refs/exps/8d/f53e…/name


def commit_of(experiment: str) -> str | None:
    refs = (_git("for-each-ref", "--format=%(objectname) %(refname)", "refs/exps") or "").splitlines()
    return next((ref.split()[0] for ref in refs if ref.split("/")[-1] == experiment), None)


def has_commit(commit: str) -> bool:
    return _git("cat-file", "-t", commit) == "commit"


def file_at(revision: str, path: str) -> str | None:
    """The text of a file in a commit, branch, tag or DVC experiment; None if there is no such thing."""
    text = None if revision.startswith("-") else _git("show", f"{revision}:./{path}")
    if text is None:
        refs = (_git("for-each-ref", "--format=%(refname)", "refs/exps") or "").splitlines()
        named = [ref for ref in refs if ref.split("/")[-1] == revision]
        text = _git("show", f"{named[0]}:./{path}") if named else None
    return text


def file_at_refs(path: str) -> dict[str, str]:
    """The text of a file by branch, tag and DVC experiment; those that lack it are left out."""
    refs = (_git("for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags", "refs/exps") or "").splitlines()
    answers = _git("cat-file", "--batch=%(objecttype) %(objectsize)", given="".join(f"{r}:./{path}\n" for r in refs))
    found, rest = {}, (answers or "").encode()
    for ref in refs:
        head, _, rest = rest.partition(b"\n")
        if head.startswith(b"blob "):
            size = int(head.split()[1])
            found[ref.rpartition("/")[2]], rest = rest[:size].decode(), rest[size + 1 :]
    return found


def _git(*arguments: str, given: str | None = None) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], input=given, capture_output=True, text=True, errors="replace", check=False
        )
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
