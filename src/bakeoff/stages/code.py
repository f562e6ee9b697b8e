"""The installed code -> models/code.yaml: of each stage the digest of the code and the built-in options that decide it.

A workspace that `bakeoff init` made has this stage before the others, which depend on their line of the file. DVC runs
it always: it takes a moment, and so a plain `dvc repro` knows of an upgrade. It tells which stages another version of
bakeoff makes run, before they do. The repository names its folders of code under `deps` instead, and has no such stage.
"""

from collections.abc import Iterator, Mapping

from bakeoff.foundation import workspace
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.files import read_text, write_whole
from bakeoff.foundation.formatting import format_duration
from bakeoff.foundation.own_parts import find_parts
from bakeoff.foundation.progress import print_line
from bakeoff.foundation.shipped import code_lines
from bakeoff.stages import begin_stage


def main() -> None:
    with errors_in_one_line():
        begin_stage("code", __doc__)
        _require_known_version()
        before, now = read_text(workspace.CODE), code_lines()
        content = "".join(f"{key}: {value}\n" for key, value in now.items())
        if before == content:
            return
        lines = (line.partition(": ") for line in (before or "").splitlines())
        for line in describe_changes({key: value for key, _, value in lines}, now):
            print_line(line)
        write_whole(workspace.CODE, content, lasting=True)


def describe_changes(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Yield which stages run because their code is another than last time, and how long those took here."""
    from bakeoff.foundation.installed import NAME
    from bakeoff.foundation.timings import Measured
    from bakeoff.foundation.versions import installed_version

    changed = [stage for stage in now if before and before.get(stage) != now[stage]]
    if not changed:
        return
    measured = Measured.here()
    took = {stage: measured.typical(stage) for stage in changed}
    times = ", ".join(f"{stage} about {format_duration(seconds)}" for stage, seconds in took.items() if seconds)
    version = f"bakeoff {installed_version(NAME)}{' with parts/' if find_parts() else ''}"
    yield f"{version} has other code for {', '.join(changed)} than the last run, so they run again{_aside(times)}"
    later = [stage for stage in list(now)[list(now).index(changed[0]) :] if stage not in changed]
    if later:
        yield f"{', '.join(later)}: again only where other inputs come of that"


def _aside(times: str) -> str:
    return f" ({times}, as here before)" if times else ""


def _require_known_version() -> None:
    """Refuse the workspace of a newer version, and name the command for that of an older one."""
    if not workspace.MADE_BY.is_file():
        return
    from bakeoff.foundation.installed import NAME
    from bakeoff.foundation.made_by import MadeBy, require_not_newer
    from bakeoff.foundation.versions import installed_version, is_newer

    require_not_newer()
    if (made := MadeBy.read()) and is_newer(here := installed_version(NAME), made.version):
        print_line(f"bakeoff {made.version} made this workspace; `bakeoff upgrade` shows what {here} would change")


if __name__ == "__main__":
    main()
