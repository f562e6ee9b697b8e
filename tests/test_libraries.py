from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest

from bakeoff import libraries
from bakeoff.libraries import library_version, package_of


def test_tensorflow_has_its_version_whichever_of_its_packages_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert package_of("tensorflow") in ("tensorflow", "tensorflow-cpu")
    assert library_version("tensorflow") == version(package_of("tensorflow"))
    monkeypatch.setattr(libraries, "PACKAGES", {"arrays": ("no-such-package", "numpy")})
    assert (package_of("arrays"), library_version("arrays")) == ("numpy", np.__version__)


def test_other_libraries_are_packages_of_their_own_name() -> None:
    assert (package_of("numpy"), library_version("numpy")) == ("numpy", np.__version__)
    with pytest.raises(PackageNotFoundError, match="no-such-library"):
        library_version("no-such-library")
