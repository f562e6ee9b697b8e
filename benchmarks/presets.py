"""Every preset from its records to its export, and a table of what each took. Minutes a preset.

    python benchmarks/presets.py                                        # prints the table
    python benchmarks/presets.py --write docs/performance.md            # and puts it between the marks of that page
    python benchmarks/presets.py --only "frc or demo_clips" --write …   # these, by pytest's -k; other rows stay

tests/proofs/presets/ runs them and prints the rows. The exit code is that of the tests.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from bench import BEGIN, END, write
from result import describe_machine

ROOT = Path(__file__).resolve().parent.parent
TARGET = "make presets"
TESTS = "tests/proofs/presets"
HEAD = "| preset | input | batch | a step | memory, estimated | its peak | peak / estimate |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PATTERN", help="the presets whose names it fits")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table between the marks of this page")
    arguments = parser.parse_args()
    command = (sys.executable, "-m", "pytest", "-n", "0", "-m", "slow", "-rP", TESTS, "-k", arguments.only)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        rows = {}
        for line in process.stdout:
            print(line, end="", flush=True)
            if line.startswith("| `"):
                rows[line.split("|")[1]] = line.strip()
    if arguments.write:
        rows = known_rows(arguments.write) | rows
        write(arguments.write, TARGET, "\n".join([f"{describe_machine()}.\n", HEAD, "|---" * 7 + "|", *rows.values()]))
    sys.exit(process.returncode)


def known_rows(page: Path) -> dict[str, str]:
    """Return the rows that the page has, by their first cell."""
    _, _, rest = page.read_text(encoding="utf-8").partition(BEGIN.format(TARGET))
    lines = rest.partition(END.format(TARGET))[0].splitlines()
    return {line.split("|")[1]: line for line in lines if line.startswith("| `")}


if __name__ == "__main__":
    main()
