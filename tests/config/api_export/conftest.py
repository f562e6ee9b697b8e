"""Detection variants, and what is written of them."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import text_format

from bakeoff.config.api_export.messages import new_message
from bakeoff.config.api_export.pipeline import format_pipeline
from bakeoff.config.compose.whole_run import Run
from bakeoff.dataset.records.manifest import Manifest
from support.detector_variants import manifest, pytest_generate_tests, variant

__all__ = ["manifest", "pytest_generate_tests", "variant", "written"]


@pytest.fixture
def written(variant: Callable[..., Run], manifest: Manifest) -> Callable[..., tuple[Any, str]]:
    """A variant's pipeline.config as protobuf reads it, and its text with comments on one line."""

    def write(**groups: Any) -> tuple[Any, str]:
        text = format_pipeline(variant(**groups), manifest)
        return text_format.Parse(text, new_message()), re.sub(r"\n\s*# ", " ", text)

    return write
