"""A SavedModel and its labels -> a folder that `mlflow.pyfunc.load_model` reads, with nothing of bakeoff in it."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.models import Model, ModelSignature
from mlflow.pyfunc import save_model
from mlflow.types import ColSpec, DataType, Schema
from mlflow.types.schema import Array
from PIL import Image

LOADER = Path(__file__).with_name("image_predictor.py")
NUMBERS, TEXTS = Array(DataType.double), Array(DataType.string)
ANSWERS: dict[str, Mapping[str, Any]] = {
    "detection": {"boxes": Array(NUMBERS), "classes": Array(DataType.long), "texts": TEXTS, "scores": NUMBERS},
    "one label": {
        "class": DataType.long, "text": DataType.string, "score": DataType.double, "probabilities": NUMBERS,
    },
    "several labels": {"texts": TEXTS, "scores": NUMBERS},
}  # fmt: skip


def write_pyfunc(
    data: Path, out: Path, *, answers: str, clips: bool, requirements: list[str], run: str, model_id: str
) -> None:
    """`data` holds saved_model/ and labels.txt."""
    takes = Array(DataType.binary) if clips else DataType.binary
    signature = ModelSignature(
        Schema([ColSpec(takes)]), Schema([ColSpec(kind, name) for name, kind in ANSWERS[answers].items()])
    )
    save_model(
        out, loader_module=LOADER.stem, data_path=str(data), code_paths=[str(LOADER)], signature=signature,
        input_example=example(clips),
        pip_requirements=requirements, mlflow_model=Model(run_id=run, model_uuid=model_id, model_id=model_id),
    )  # fmt: skip


def example(clips: bool) -> pd.DataFrame:
    """One row of input: a grey square, or two of them."""
    buffer = io.BytesIO()
    Image.fromarray(np.full((32, 32, 3), 128, np.uint8)).save(buffer, "PNG")
    return pd.DataFrame([[[buffer.getvalue()] * 2 if clips else buffer.getvalue()]])
