"""What is seen to before libraries in C load: a limit of addresses under which they crash or hang, and threads."""

import os
import subprocess
import sys

import pytest

from bakeoff.foundation.address_space import require_for_numpy, require_for_tensorflow
from bakeoff.foundation.errors import WorkspaceError
from support.imports import ROOT
from support.messages import missing_in
from support.workspace_copy import environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no such limit")
STAGES = ("build_records", "code", "render_config", "train", "evaluate", "export")


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_names_the_limit_and_what_raises_it(stage: str) -> None:
    limited = f"ulimit -v 100000; exec {sys.executable} -m bakeoff.stages.{stage}"
    done = subprocess.run(["sh", "-c", limited], cwd=ROOT, env=environment(), capture_output=True, text=True)
    [line] = done.stderr.splitlines()
    assert done.returncode == 2 and missing_in(line, "not enough memory", "100000", "`ulimit -v unlimited`") == []


def test_tensorflow_needs_more_than_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda which: (10**9, 10**9))
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1}, raising=False)
    require_for_numpy()
    with pytest.raises(WorkspaceError) as refused:
        require_for_tensorflow()
    assert missing_in(str(refused.value), "976562", "TensorFlow", "2228224", "2 cores", "`ulimit -v unlimited`") == []


def test_without_a_limit_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    asked: list[int] = []
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda which: asked.append(which) or unlimited)
    require_for_tensorflow()
    assert asked == [resource.RLIMIT_AS]


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads as Linux shows them")
@pytest.mark.parametrize(("given", "threads"), [({}, 1), ({"OPENBLAS_NUM_THREADS": "2"}, 2)])
def test_numpy_has_one_thread_in_a_stage_unless_told_otherwise(given: dict[str, str], threads: int) -> None:
    look = "import sys; sys.argv = ['-m']; import bakeoff.stages, numpy, os; print(len(os.listdir('/proc/self/task')))"
    own = {name: value for name, value in environment().items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", look], env=own | given, capture_output=True, text=True, check=True)
    assert int(done.stdout) == min(threads, len(os.sched_getaffinity(0)))
