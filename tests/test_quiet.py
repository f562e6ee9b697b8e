"""What is left out while TensorFlow is loaded."""

import sys
from importlib import import_module

import pytest

from bakeoff.quiet import left_out


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
