"""What git knows about the code that runs."""

import subprocess

OUTPUTS = (":!models", ":!dvc.lock")  # written by the stages themselves, so no change of the user's


def commit() -> str | None:
    return _git("rev-parse", "HEAD")


def has_uncommitted_changes() -> bool:
    return bool(_git("status", "--porcelain", "--", ".", *OUTPUTS))


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
