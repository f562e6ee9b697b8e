"""What is left out while TensorFlow is loaded, and Ctrl-C meanwhile."""

import gc
import os
import re
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from bakeoff.foundation.errors import STOPPED
from bakeoff.foundation.tf_loading import CHOSEN, all_that_is_loaded_stays, left_out

LOADS = """import time
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.tf_loading import load_tensorflow
with errors_in_one_line():
    print("starts", flush=True)
    load_tensorflow()
    time.sleep(60)
"""


def test_what_is_left_out_cannot_be_imported_until_the_end() -> None:
    sys.modules.pop("wave", None)
    with left_out("wave"):
        with pytest.raises(ImportError):
            import_module("wave")
    assert import_module("wave").__name__ == "wave"


def test_what_is_loaded_already_stays() -> None:
    loaded = import_module("colorsys")
    with left_out("colorsys"):
        assert import_module("colorsys") is loaded
    assert sys.modules["colorsys"] is loaded


def test_nothing_is_left_out_any_more_after_an_error() -> None:
    sys.modules.pop("wave", None)
    with pytest.raises(OSError, match="no such device"), left_out("wave"):
        raise OSError("no such device")
    assert import_module("wave").__name__ == "wave"


def test_no_garbage_is_searched_for_once_more_as_python_ends() -> None:
    """Nothing that is known by then is looked through: it counts as frozen, and what it holds goes with the process."""
    code = (
        "import atexit, gc\nfrom bakeoff.foundation.tf_loading import collect_seldom\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 1000, len(gc.get_objects()) < 1000))\n"
        "print(len(gc.get_objects()) > 1000)\ncollect_seldom()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\nTrue True\n"


@pytest.mark.parametrize("is_on", [True, False])
def test_what_is_loaded_is_never_searched_for_garbage(is_on: bool) -> None:
    searches: list[str] = []
    was_on = gc.isenabled()
    gc.enable() if is_on else gc.disable()
    gc.callbacks.append(lambda phase, _: searches.append(phase))
    try:
        with pytest.raises(OSError, match="no such device"), all_that_is_loaded_stays():
            loaded = [[number] for number in range(3 * gc.get_threshold()[0])]  # more than start a search
            assert not searches
            raise OSError("no such device")
        assert gc.isenabled() == is_on
        assert not any(one is loaded for one in gc.get_objects())
    finally:
        gc.callbacks.pop()
        gc.unfreeze()
        gc.enable() if was_on else gc.disable()


@pytest.mark.parametrize("saves_graphs", [True, False])
def test_a_graph_goes_through_the_passes_of_tensorflow_once_if_none_is_saved(saves_graphs: bool) -> None:
    code = (
        "from bakeoff.foundation.tf_loading import load_tensorflow\n"
        f"load_tensorflow(saves_graphs={saves_graphs})\nimport tensorflow as tf\n"
        "tf.function(lambda x: tf.add_n([x * one for one in range(40)]), autograph=False)(tf.ones([3]))"
    )
    env = os.environ | {CHOSEN: "0", "TF_CPP_VMODULE": "meta_optimizer=1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    passes = re.findall(r"\] (\w+): Graph size after", done.stderr)
    assert passes.count("remapper") == (2 if saves_graphs else 1) and ("layout" in passes) == saves_graphs


def end_by_ctrl_c(seconds: float) -> tuple[int, list[str]]:
    """Send Ctrl-C to a process that began to load TensorFlow so many seconds ago. Return its status and its errors.

    In this process TensorFlow may be loaded, and then the variable of its notices is set.
    """
    own = {name: value for name, value in os.environ.items() if name != CHOSEN}
    with subprocess.Popen(
        [sys.executable, "-c", LOADS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=own
    ) as process:
        assert process.stdout and process.stdout.readline() == "starts\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=50)
        finally:
            process.kill()
    return process.returncode, errors.splitlines()


@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
def test_ctrl_c_ends_a_process_that_loads_tensorflow() -> None:
    assert end_by_ctrl_c(0.3) == (130, [STOPPED])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
def test_ctrl_c_at_any_moment_of_the_loading_ends_the_process() -> None:
    for moment in range(40):
        assert end_by_ctrl_c(moment * 0.1) == (130, [STOPPED]), moment


FAKE = """import os
os.write(2, b"notice;")
class config:
    list_physical_devices = staticmethod(lambda kind: [])
"""
TWICE = """import subprocess, sys
from bakeoff.foundation.tf_loading import load_tensorflow
load_tensorflow()
if len(sys.argv) > 1:
    subprocess.run([sys.executable, "-c", sys.argv[1]], check=True)
"""


@pytest.mark.parametrize(("level", "notices"), [(None, ""), ("0", "notice;notice;"), ("2", "notice;notice;")])
def test_a_process_started_by_one_that_loaded_it_is_as_quiet(level: str | None, notices: str, tmp_path: Path) -> None:
    (tmp_path / "tensorflow.py").write_text(FAKE, encoding="utf-8")
    own = {key: value for key, value in os.environ.items() if key != CHOSEN} | ({CHOSEN: level} if level else {})
    own["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run([sys.executable, "-c", TWICE, TWICE], env=own, capture_output=True, text=True, check=True)
    assert done.stderr == notices
