"""A workspace of a few files in git, in which stages and DVC are not needed."""

import subprocess
from pathlib import Path

DVC_YAML = """stages:
  build_records: {cmd: a}
  render_config: {cmd: b}
  train: {cmd: c}
  evaluate: {cmd: d}
"""
FILES = {
    "dvc.yaml": DVC_YAML,
    "params.yaml": "lr: {use: cosine}\ntrack:\n  use: mlflow\n\nseed: 0\n",
    "conf/lr/cosine.yaml": "kind: cosine\n",
    ".gitignore": ".bakeoff/\ndata/raw/*\n",
    ".dvc/config": "[core]\n    analytics = false\n",
}


def git(*arguments: str, folder: Path = Path()) -> str:
    names = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    return subprocess.run(
        ["git", *names, *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def repository_in(folder: Path) -> str:
    """Its commit."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git("init", "--quiet", "--initial-branch=main", folder=folder)
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "--message", "first", folder=folder)
    return git("rev-parse", "HEAD", folder=folder)
