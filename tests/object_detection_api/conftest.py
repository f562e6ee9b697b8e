"""That API's messages as protobuf itself knows them, and detection variants of this project."""

import copy
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
import yaml
from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory, text_format

from bakeoff.config.checks import Records
from bakeoff.config.facts import Facts, Variable
from bakeoff.config.resolve import resolve
from bakeoff.config.variant import parse_variant
from bakeoff.object_detection_api import schema
from bakeoff.records.manifest import Manifest, Shard, Split
from bakeoff.run.parse import Problems
from bakeoff.run.settings import Run
from imports import ROOT

PACKAGE = "object_detection.protos"
Parse = Callable[[str], message.Message]
Variant = Callable[..., Run]


@pytest.fixture(scope="session")
def messages() -> Callable[[str], type[message.Message]]:
    """The class of a message by its name, made by protobuf from the tables."""
    file = descriptor_pb2.FileDescriptorProto(name="pipeline.proto", package=PACKAGE, syntax="proto2")
    owners: dict[str, Any] = {}
    for name in sorted(schema.MESSAGES, key=lambda name: name.count(".")):
        outer, _, own = name.rpartition(".")
        owners[name] = (owners[outer].nested_type if outer else file.message_type).add(name=own)
    for name, values in schema.ENUMS.items():
        outer, _, own = name.rpartition(".")
        enum = (owners[outer] if outer else file).enum_type.add(name=own)
        for value, number in values.items():
            enum.value.add(name=value, number=number)
    for name, fields in schema.MESSAGES.items():
        for field in fields.values():
            _add(owners[name], field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))


def _add(owner: Any, field: schema.FieldType) -> None:
    proto = descriptor_pb2.FieldDescriptorProto
    made = owner.field.add(name=field.name, number=field.number)
    made.label = proto.LABEL_REPEATED if field.repeated else proto.LABEL_OPTIONAL
    if field.type in schema.SCALARS:
        made.type = getattr(proto, f"TYPE_{field.type.upper()}")
    else:
        made.type = proto.TYPE_ENUM if field.type in schema.ENUMS else proto.TYPE_MESSAGE
        made.type_name = f".{PACKAGE}.{field.type}"
    if field.default is not None:
        made.default_value = field.default
    made.options.deprecated = field.deprecated
    if field.oneof:
        names = [oneof.name for oneof in owner.oneof_decl]
        if field.oneof not in names:
            owner.oneof_decl.add(name=field.oneof)
            names.append(field.oneof)
        made.oneof_index = names.index(field.oneof)


@pytest.fixture(scope="session")
def parse(messages: Callable[[str], type[message.Message]]) -> Parse:
    """A pipeline.config as protobuf's own parser reads it; a field that the messages lack is an error."""
    return lambda text: text_format.Parse(text, messages(schema.ROOT)())


@pytest.fixture(scope="session")
def manifest() -> Manifest:
    """1,200 + 300 images with three classes of things, 50 kB each."""

    def split(name: str, examples: int, shards: int) -> Split:
        each = examples // shards
        files = [Shard(f"{name}-{n:05d}-of-{shards:05d}", each, each * 50_000, f"{n}") for n in range(shards)]
        return Split(examples, examples * 640 * 480 * 3, 1, {"ball": 2 * examples}, tuple(files))

    splits = {"train": split("train", 1200, 4), "validation": split("validation", 300, 2)}
    return Manifest("detection", ("ball", "cube", "duck"), splits)


@pytest.fixture(scope="session")
def variant(manifest: Manifest) -> Variant:
    """A resolved run; its groups are given as trees of conf/, `model` also as the name of an option."""
    parts = [Variable(f"{part}/kernel", (1,), True) for part in ("backbone.a", "head.a", "block_1_a", "neck.a")]
    groups: dict[str, Any] = {
        "variant": {},
        "seed": 0,
        "data": {"kind": "digit_scenes"},
        "model": "ssd_mobilenet_v2_fpnlite_320",
        "memory": {"budget": "100GB"},
        "lr": {"kind": "cosine", "peak": 0.08, "warmup_steps": 1000, "warmup_from": 0.02667},
        "optimizer": {"kind": "momentum", "nesterov": False},
        "train": {"batch_size": 32, "steps": 3000},
        "evaluate": {},
        "export": {},
        "track": {"kind": "none"},
    }

    def run(**changes: Any) -> Run:
        tree = copy.deepcopy(groups | changes)
        if isinstance(tree["model"], str):
            tree["model"] = option("model", tree["model"])
        problems = Problems(lambda key: "test")
        # A pipeline.config names checkpoints of the machine that it was written on.
        with patch("bakeoff.config.checks._check_start"):
            resolved = resolve(
                parse_variant(tree, problems),
                Records(manifest),
                problems,
                facts_of=lambda network, classes: Facts(tuple(parts), 1000),
                is_set=lambda key: False,
            )
        problems.raise_any()
        assert resolved
        return resolved

    return run


def option(group: str, name: str) -> dict[str, Any]:
    """A file of conf/ with what it builds on."""
    tree = yaml.safe_load((ROOT / "conf" / group / f"{name}.yaml").read_text(encoding="utf-8"))
    for below in tree.pop("defaults", []):
        tree = option(group, below) | tree
    return tree


def preset(name: str) -> dict[str, dict[str, Any]]:
    """What a file of conf/experiment/ chooses of the groups that a pipeline.config holds."""
    tree = yaml.safe_load((ROOT / "conf/experiment" / f"{name}.yaml").read_text(encoding="utf-8"))
    chosen = {key.removeprefix("override /"): value for entry in tree["defaults"] for key, value in entry.items()}
    return {group: option(group, chosen[group]) for group in ("model", "lr", "optimizer", "train")}


DETECTORS = sorted(
    path.stem
    for path in (ROOT / "conf/model").glob("*.yaml")
    if option("model", path.stem)["kind"] in ("ssd", "ssd_fpn", "ssd_multibox")
)


def _is_detector(name: str) -> bool:
    return preset(name)["model"]["kind"] in ("ssd", "ssd_fpn", "ssd_multibox")


RECIPES = {
    path.stem: preset(path.stem)
    for path in sorted((ROOT / "conf/experiment").glob("*.yaml"))
    if _is_detector(path.stem)
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`detector` goes through every detection option of conf/model, `recipe` through every preset of one."""
    if "detector" in metafunc.fixturenames:
        metafunc.parametrize("detector", DETECTORS)
    if "recipe" in metafunc.fixturenames:
        metafunc.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))
