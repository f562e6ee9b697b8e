"""All short benchmarks, one after the other, and their results as one table: `make bench`.

    python benchmarks/bench.py                                    # prints it; in a workspace after `dvc repro`
    python benchmarks/bench.py --write docs/performance.md        # and puts it between the marks of that page
    python benchmarks/bench.py --networks                         # images per second of every network of conf/model

The short benchmarks take less than 15 minutes on two idle cores, the networks about 20. Each row is one benchmark of
benchmarks/, whose first lines say what its arms are. A benchmark that fails leaves its last line in the table, and the
others run all the same.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from result import MARK, describe_machine

FOLDER = Path(__file__).resolve().parent
BEGIN, END = "<!-- what follows is written by `{}` -->", "<!-- end of what `{}` writes -->"
HEAD = "| what | here | the other arm | ratio | load |\n|---|---|---|---|---|"
COMMANDS = (
    "startup.py", "nothing_to_do.py --pairs 3", "compare.py --repeats 3", "metrics.py", "records.py --images 3000",
    "input.py --images 1200 --rounds 1 --arms bakeoff unchecked plain square keras", "evaluate.py --rounds 1",
    "training.py --networks ssd_small cnn_small --repeats 2 --seconds 4", "convolutions.py --turns 3 --seconds 1",
    "determinism.py --pairs 1",
    "checkpoints.py --networks ssd_small --checkpoints 8",
)  # fmt: skip
NETWORKS = "networks.py --seconds 2"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", action="store_true", help="images per second of every network, and nothing else")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table between the marks of this page")
    arguments = parser.parse_args()
    target, page = "make bench-networks" if arguments.networks else "make bench", arguments.write
    if page and BEGIN.format(target) not in page.read_text(encoding="utf-8"):
        sys.exit(f"{page}: must have a line {BEGIN.format(target)}, got none")
    start, machine = time.monotonic(), describe_machine()
    table = networks() if arguments.networks else short_benchmarks()
    minutes = (time.monotonic() - start) / 60
    text = f"{machine}; {minutes:.0f} minutes for all.\n\n" + "\n".join(table)
    print(text)
    if page:
        write(page, target, text)


def short_benchmarks() -> list[str]:
    """Return the table, and print each row as soon as it is there."""
    rows = []
    for command in COMMANDS:
        new = results(command)
        print("\n".join(new), flush=True)
        rows += new
    return [HEAD, *rows]


def networks() -> list[str]:
    return [line for line in output(NETWORKS)[0] if line.startswith("|")]


def results(command: str) -> list[str]:
    """Return the rows of the table that a benchmark has."""
    lines, trouble = output(command)
    rows = [f"| {line.removeprefix(MARK + ' | ')} |" for line in lines if line.startswith(f"{MARK} | ")]
    return rows or [f"| `{command.split()[0]}` failed | {trouble} | | | {os.getloadavg()[0]:.1f} |"]


def output(command: str) -> tuple[list[str], str]:
    """Return the lines that it printed, and the last one of its errors."""
    script, *arguments = command.split()
    done = subprocess.run([sys.executable, str(FOLDER / script), *arguments], capture_output=True, text=True)
    errors = done.stderr.strip().splitlines()
    return done.stdout.splitlines(), errors[-1].replace("|", " ")[:100] if errors and done.returncode else ""


def write(page: Path, target: str, text: str) -> None:
    begin, end = BEGIN.format(target), END.format(target)
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
