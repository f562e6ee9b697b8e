"""That API's sample files, carried over and written again, judged by its own protos.

`BAKEOFF_SAMPLES=path python -m pytest -m slow -s tests/proofs/official/test_samples.py` prints what became of each
file of a folder: of `research/object_detection/samples/configs` and `…/configs/tf2` in a copy of that API's repository,
github.com/tensorflow/models.
"""

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff.config.api_export.messages import OPAQUE, PACKAGE, PROTO, name_of, new_message
from bakeoff.config.compose.whole_run import Run
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.foundation.errors import ConfigError
from bakeoff.importing.api_config.fields import COMPUTING, DEPRECATED
from bakeoff.importing.api_config.options import import_pipeline
from proofs.official.environment import run_there
from support.carried import OWN, Key, Lines, Text, names_of, write_again

SAMPLES = "BAKEOFF_SAMPLES"  # the variable that names the folder
# Words of lines about fields that change nothing of what the file trains.
NO_LOSS = (
    COMPUTING, DEPRECATED, "a placeholder", "would have one", "there is no warm-up", "on TPUs only",
    "train.checkpoint_every_steps decides that here",
)  # fmt: skip
RENAMED = "its name under TensorFlow 2"  # ends the line of a network that is the same in both versions


@pytest.fixture
def samples() -> list[Path]:
    folder = os.environ.get(SAMPLES)
    if not folder:
        pytest.skip(f"{SAMPLES} names no folder of pipeline.configs")
    paths = sorted(Path(folder).rglob("*.config"))
    assert len({path.name for path in paths}) == len(paths) > 0
    return paths


@pytest.mark.slow
def test_samples_go_out_as_they_came_in_or_a_line_names_what_does_not(
    samples: list[Path],
    variant: Callable[..., Run],
    manifest: Manifest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    read, written = tmp_path / "read", tmp_path / "written"
    read.mkdir()
    written.mkdir()
    lines: dict[str, Lines] = {}
    refused: dict[str, Text] = {}
    for path in samples:
        source = path.read_bytes()
        try:
            import_pipeline(source, path.name)
        except ConfigError as error:
            refused[path.name] = str(error)
        try:
            text, lines[path.name] = write_again(source, path.name, variant, manifest)
        except ConfigError:
            continue  # no SSD
        (read / path.name).write_bytes(source)
        (written / path.name).write_text(text, encoding="utf-8")
    run_there("protos_there.py", read, written, tmp_path / "differences.json")
    differences = json.loads((tmp_path / "differences.json").read_text(encoding="utf-8"))
    assert differences.keys() == lines.keys()
    unnamed = [(name, *one) for name, ones in differences.items() for one in ones if not names_of(one[0], lines[name])]
    carried = {name: ones for name, ones in differences.items() if name not in refused}
    losses = {name: {key for key, *_ in ones if is_loss(key, lines[name])} for name, ones in carried.items()}
    renamed = {name for name in carried if any(text.endswith(RENAMED) for _, text in lines[name])}
    with capsys.disabled():
        print_table(len(samples), losses, renamed, refused)
    assert unnamed == []
    assert all("there is no " in text and "here; the nearest is " in text for text in refused.values())


def is_loss(key: Key, lines: Lines) -> bool:
    texts = [text for text in names_of(key, lines) if not text.endswith(RENAMED)]
    return not key.startswith(OWN) and not all(any(word in text for word in NO_LOSS) for text in texts)


def print_table(number: int, losses: dict[str, set[Key]], renamed: set[str], refused: dict[str, Text]) -> None:
    equal = {name for name, keys in losses.items() if not keys}
    print(f"\n{number} files, apart from data, evaluation, placeholders and how that API computes:")
    print(f"  {len(equal - renamed)} equal", *sorted(equal - renamed), sep="\n    ")
    print(f"  {len(equal & renamed)} equal with {RENAMED}", *sorted(equal & renamed), sep="\n    ")
    lossy = [f"{name}: {', '.join(sorted(keys))}" for name, keys in losses.items() if keys]
    print(f"  {len(lossy)} with losses", *lossy, sep="\n    ")
    print(f"  {len(refused)} refused")
    print("\nlost:")
    for key, count in Counter(key for keys in losses.values() for key in keys).most_common():
        print(f"  {count}: {key}")
    print("\nrefused:")
    texts = [line.partition(": ")[2] for text in refused.values() for line in text.splitlines()]
    for text, count in sorted(Counter(texts).items(), key=lambda pair: (-pair[1], pair[0])):
        print(f"  {count}: {text}")


@pytest.mark.slow
def test_the_tables_of_messages_are_those_of_that_api(tmp_path: Path) -> None:
    run_there("schema_there.py", tmp_path / "schema.json")
    there = json.loads((tmp_path / "schema.json").read_text(encoding="utf-8"))
    here: dict[str, list] = {}
    collect(new_message().DESCRIPTOR, here)
    assert len(here) > 100
    for name, fields in here.items():
        assert sorted(fields) == sorted(there[f"{PACKAGE}.{name}"]), name


def collect(message: Any, schema: dict[str, list]) -> None:
    name = name_of(message)
    if name in schema or name in OPAQUE:
        return
    schema[name] = [describe(field) for field in message.fields]
    for field in message.fields:
        if field.message_type:
            collect(field.message_type, schema)


def describe(field: Any) -> list:
    kind = field.message_type or field.enum_type
    number = PROTO.TYPE_FLOAT if field.type == PROTO.TYPE_DOUBLE else field.type  # that is what a float is read as here
    default = None if field.message_type or field.is_repeated else field.default_value
    if field.enum_type and default is not None:
        default = field.enum_type.values_by_number[default].name
    return [
        field.name,
        field.number,
        kind.full_name if kind else number,
        field.is_repeated,
        default,
        field.containing_oneof.name if field.containing_oneof else None,
        bool(field.GetOptions().deprecated),
    ]
