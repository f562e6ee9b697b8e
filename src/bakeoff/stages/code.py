"""The installed code -> models/code.yaml: of each stage the digest of the code and the built-in options that decide it.

A workspace that `bakeoff init` made has this stage before the others, which depend on their line of the file. DVC runs
it always: it takes a moment, and so a plain `dvc repro` knows of an upgrade. The repository names its folders of code
under `deps` instead, and has no such stage.
"""

from bakeoff.foundation import workspace
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.files import write_whole
from bakeoff.foundation.shipped import code_lines
from bakeoff.stages import begin_stage


def main() -> None:
    with errors_in_one_line():
        begin_stage("code", __doc__)
        content = "".join(f"{key}: {value}\n" for key, value in code_lines().items())
        if not workspace.CODE.is_file() or workspace.CODE.read_text(encoding="utf-8") != content:
            write_whole(workspace.CODE, content, lasting=True)


if __name__ == "__main__":
    main()
