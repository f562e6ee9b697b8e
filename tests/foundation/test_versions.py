import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest

from bakeoff.foundation import versions
from bakeoff.foundation.versions import installed_version, is_newer, library_version, package_of
from support.imports import ROOT
from support.workspace_copy import environment


def test_tensorflow_has_its_version_whichever_of_its_packages_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert package_of("tensorflow") in ("tensorflow", "tensorflow-cpu")
    assert library_version("tensorflow") == version(package_of("tensorflow"))
    monkeypatch.setattr(versions, "PACKAGES", {"arrays": ("no-such-package", "numpy")})
    assert (package_of("arrays"), library_version("arrays")) == ("numpy", np.__version__)


def test_other_libraries_are_packages_of_their_own_name() -> None:
    assert (package_of("numpy"), library_version("numpy")) == ("numpy", np.__version__)
    with pytest.raises(PackageNotFoundError, match="no-such-library"):
        library_version("no-such-library")


@pytest.mark.parametrize("package", ["keras", "numpy", "hydra-core", "opencv-python-headless", "types-PyYAML", "dvc"])
def test_a_version_is_the_one_that_python_knows(package: str) -> None:
    try:
        known = version(package)
    except PackageNotFoundError:
        pytest.skip("not installed here")
    assert installed_version(package) == known


def test_a_version_is_read_without_loading_what_reads_mail() -> None:
    code = "import sys; from bakeoff.foundation.versions import installed_version as f; f('keras'); "
    code += "print('email' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_versions_are_in_the_order_of_releases() -> None:
    ordered = ["0.9", "0.15.0rc1", "0.15.0", "0.15.1.dev3", "0.15.1", "0.16", "1.0"]
    for at, version_ in enumerate(ordered):
        assert [is_newer(other, version_) for other in ordered] == [place > at for place in range(len(ordered))]
    assert not is_newer("0.16.0", "0.16") and not is_newer("0.16", "0.16.0+local")
