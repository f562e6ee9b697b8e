"""The text of a pipeline.config: where its fields stand, and what is wrong with it."""

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import text_format

from bakeoff.config.api_export.messages import new_message
from bakeoff.foundation.errors import ConfigError
from bakeoff.importing.api_config.fields import Block
from bakeoff.importing.api_config.options import import_pipeline
from bakeoff.importing.api_config.pipeline_reader import (
    MAX_DEPTH,
    MOST_BYTES,
    FieldLocation,
    Spot,
    SyntaxMistake,
    find_places,
)
from support.api_files import TF1, TF2, import_changed
from support.messages import missing_in

WAYS_TO_WRITE = {
    "a colon before a block": "model: { ssd: { num_classes: 3 } }",
    "no colon before a block": "model { ssd { num_classes: 3 } }",
    "angle brackets": "model < ssd: < num_classes: 3 > >",
    "all on one line": "model{ssd{num_classes:3 freeze_batchnorm:true}}",
    "commas and semicolons": "model { ssd { num_classes: 3, freeze_batchnorm: true; }, }",
    "comments": "# model {\nmodel { # ssd {\n ssd { num_classes: 3 # 4 }\n } } # end",
    "a list of numbers": "model { ssd { anchor_generator { multiscale_anchor_generator { aspect_ratios: [1.0, 2, .5] }}}}",
    "an empty list": "model { ssd { anchor_generator { multiscale_anchor_generator { aspect_ratios: [] } } } }",
    "a list of blocks": "eval_input_reader: [{ name: 'a' }, < name: 'b' >]",
    "a list of blocks without a colon": "eval_input_reader [{ name: 'a' }]",
    "a repeated field line by line": "eval_config { metrics_set: 'a' metrics_set: \"b\" }",
    "a repeated block": "eval_input_reader { name: 'a' } eval_input_reader { name: 'b' }",
    "a text in pieces": "train_config { fine_tune_checkpoint: 'a/' \"b\"\n  'c' }",
    "escapes": r"""train_config { fine_tune_checkpoint: 'a\n\t\'\"\\\x41\101\303\251\u00e9' }""",
    "other letters": "train_config { fine_tune_checkpoint: 'modèle/ü' }",
    "a hash in a text": "train_config { fine_tune_checkpoint: 'a#b' }",
    "enums by name and number": "model { ssd { post_processing { score_converter: SIGMOID } loss { expected_loss_weights: 2 } } }",
    "every way to say true": "eval_config { skip_scores: t skip_labels: 1 save_graph: True use_moving_averages: true }",
    "every way to say false": "eval_config { skip_scores: f skip_labels: 0 save_graph: False use_moving_averages: false }",
    "hexadecimal and octal": "train_config { num_steps: 0x1F batch_size: 017 }",
    "negative numbers": "model { ssd { num_classes: -3 negative_class_weight: -.5 } }",
    "numbers with an exponent": "train_config { gradient_clipping_by_norm: 1e-5 bias_grad_multiplier: 1.E+2 }",
    "numbers with an f": "train_config { gradient_clipping_by_norm: 1.5f bias_grad_multiplier: 2f }",
    "a whole number for a float": "train_config { gradient_clipping_by_norm: 10 }",
    "a float written by protobuf": "train_config { gradient_clipping_by_norm: 0.800000011920929 }",
    "an empty file": "",
    "only comments": "# nothing\n\n",
    "windows line ends": "model {\r\n  ssd {\r\n    num_classes: 3\r\n  }\r\n}\r\n",
}


def parse(text: str) -> Any:
    return text_format.Parse(text, new_message())


def agrees(ours: Block, theirs: Any) -> None:
    """Every field has the same value in both, defaults included."""
    for field in theirs.DESCRIPTOR.fields:
        name, value = field.name, getattr(theirs, field.name)
        if field.message_type:
            inner = list(value) if field.is_repeated else [value] if theirs.HasField(name) else []
            blocks = ours.inners(name) if field.is_repeated else [ours.inner(name)] if ours.has(name) else []
            for one, other in zip(blocks, inner, strict=True):
                agrees(one, other)
        elif field.is_repeated:
            assert ours.has(name) == bool(value), name
            assert ours.get(name) == list(value), name
        elif field.enum_type:
            assert field.enum_type.values_by_name[ours.get(name)].number == value, name
        else:
            assert ours.has(name) == theirs.HasField(name), name
            assert ours.get(name) == (pytest.approx(value, rel=1e-6) if isinstance(value, float) else value), name


@pytest.mark.parametrize("text", WAYS_TO_WRITE.values(), ids=list(WAYS_TO_WRITE))
def test_a_text_has_a_place_for_each_field_that_protobuf_reads(text: str) -> None:
    place, mistakes = find_places(text)
    assert mistakes == []
    agrees(Block(parse(text), place), parse(text))


REFUSED = {
    "model { ssd {": (1, 14, ("line 1", "never closed")),
    "model { ssd { }\n\n": (3, 1, ("line 1", "never closed")),
    "model { ssd > }": (1, 13, ("'ssd'", ": or {", "'>'")),
    "model\n}": (2, 1, ("'model'", ": or {", "'}'")),
    "model { }\n}": (2, 1, ("field's name", "'}'")),
    "train_config {\n  num_steps: }": (2, 14, ("a value", "'}'")),
    "train_config {\n  num_steps 5 }": (2, 13, ("'num_steps'", ": or {", "'5'")),
    "train_config {\n  num_steps: 5k }": (2, 14, ("not a number: '5k'",)),
    "train_config {\n  num_steps: 1.2.3 }": (2, 14, ("not a number: '1.2.3'",)),
    "train_config {\n  num-steps: 5 }": (2, 3, ("field's name", "'num-steps'")),
    "eval_config {\n\n metrics_set: 'a\n' }": (3, 15, ("text", "end on its line", "'a")),
    "eval_config { metrics_set: '\ta }": (1, 28, ("text", "end on its line", "'\\ta")),
    "eval_config { metrics_set: 'a' \"b }": (1, 28, ("UTF-8", "escapes")),
    "eval_config { metrics_set: '\\377' }": (1, 28, ("UTF-8", "escapes")),
    "model @ssd": (1, 7, ("'model'", ": or {", "'@'")),
    "eval_config { metrics_set: ['a' 'b', 'c'\n 'd' 1 }": (2, 6, ("values of a list", "line 1")),
    "eval_config { metrics_set ['a'] }": (1, 27, ("'metrics_set'", ":", "a list")),
    "eval_config { metrics_set: -'a' }": (1, 28, ("a value", "'-'")),
    "{ }": (1, 1, ("field's name", "'{'")),
}


@pytest.mark.parametrize("text", REFUSED)
def test_wrong_syntax_is_said_with_its_place(text: str) -> None:
    line, column, parts = REFUSED[text]
    with pytest.raises(SyntaxMistake) as refused:
        find_places(text)
    assert missing_in(refused.value.reason, *parts) == []
    assert refused.value.spot == Spot(line, column)
    with pytest.raises(text_format.ParseError):
        parse(text)


def test_an_escape_that_does_not_exist_is_refused() -> None:
    """Python itself only warns of it."""
    with pytest.raises(SyntaxMistake, match=r"escapes .*'a\\qb'"):
        find_places("eval_config { metrics_set: 'a\\qb' }")


def test_every_field_knows_its_line() -> None:
    text = "# head\nmodel {\n  ssd { num_classes:\n 3 }\n}\neval_config { metrics_set: ['a',\n 'b'] }\n"
    lines: dict[str, list[int]] = {}

    def collect(place: FieldLocation) -> None:
        for name, places in place.fields.items():
            for one in places:
                lines.setdefault(name, []).append(one.spot.line)
                collect(one)

    collect(find_places(text)[0])
    assert lines == {"model": [2], "ssd": [3], "num_classes": [3], "eval_config": [6], "metrics_set": [6, 7]}


def test_blocks_may_be_deep_but_not_endless() -> None:
    assert len(find_places("a {" * MAX_DEPTH + "}" * MAX_DEPTH)[1]) == 1
    with pytest.raises(SyntaxMistake, match=f"nested deeper than {MAX_DEPTH}"):
        find_places("a {" * 100_000)


def test_damaged_texts_are_refused_exactly_where_protobuf_refuses_them() -> None:
    """Words are left out, doubled, exchanged or put in by chance, thousands of times."""
    tokens = "model ssd batch_size : { } < > [ ] , ; -5 7 1.5 'a' true".split()
    whole = [text for name, text in WAYS_TO_WRITE.items() if name != "escapes"]  # a wrong one only warns there
    draw = random.Random(7)
    readable = 0
    for number in range(6000):
        pieces = re.findall(r"#.*\n|\w[\w.+-]*|'[^']*'|\"[^\"]*\"|\s+|.", draw.choice(whole))
        for _ in range(draw.randint(1, 2)):
            at = draw.randint(0, len(pieces))
            pieces[at : at + draw.randint(0, 2)] = draw.choice(
                [[], [f" {draw.choice(tokens)} "], pieces[at : at + 1] * 2]
            )
        text = "".join(pieces)
        theirs, ours = is_readable(parse, text), is_readable(without_mistakes, text)
        assert ours == theirs, (number, text)
        readable += ours
    assert 1000 < readable < 5000


def is_readable(reader: Callable[[str], Any], text: str) -> bool:
    try:
        reader(text)
    except (SyntaxMistake, ConfigError, text_format.ParseError):
        return False
    return True


def without_mistakes(text: str) -> None:
    if find_places(text)[1]:
        raise ConfigError(text)


def test_protobuf_has_the_parts_that_its_interface_does_not_promise() -> None:
    """`Tokenizer` stands outside of text_format's `__all__`; docs/dependencies.md says what it is for."""
    tokenizer = text_format.Tokenizer(["a: 'b'  # c", " 'd' }"])
    assert (tokenizer.token, tokenizer.AtEnd()) == ("a", False)
    tokenizer.NextToken()
    before, here = tokenizer.ParseErrorPreviousToken(""), tokenizer.ParseError("")
    assert (before.GetLine(), before.GetColumn(), here.GetLine(), here.GetColumn()) == (1, 1, 1, 2)
    assert not tokenizer.TryConsume(";") and tokenizer.TryConsume(":")
    assert tokenizer.ConsumeString() == "bd"
    assert tokenizer.token == "}"
    tokenizer.NextToken()
    assert (tokenizer.token, tokenizer.AtEnd()) == ("", True)


@pytest.mark.parametrize(
    "change, parts",
    [
        (("matcher {", "macher {"), ("tf2.config:9:5: model.ssd.macher: ", "no such field", "'matcher'?", "one of: ")),
        (("num_classes: 90", "num_classes: many"), ("tf2.config:7:5: model.ssd.num_classes: ", "whole number", "2147483647", "many")),
        (("batch_size: 128", "batch_size: -1"), ("train_config.batch_size: ", "whole number", "0", "4294967295", "-1")),
        (("batch_size: 128", "batch_size: 1e9"), ("train_config.batch_size: ", "whole number", "1e9")),
        (("gamma: 2.0", "gamma: nan"), ("weighted_sigmoid_focal.gamma: ", "finite", "nan")),
        (("gamma: 2.0", "gamma: 1e400"), ("weighted_sigmoid_focal.gamma: ", "finite", "1e400")),
        (("gamma: 2.0", "gamma: 'two'"), ("weighted_sigmoid_focal.gamma: ", "a number", "'two'")),
        (("activation: RELU_6", "activation: RELU6"), ("conv_hyperparams.activation: ", "RELU6", "'RELU_6'?", "NONE, RELU, RELU_6, SWISH")),
        (("freeze_batchnorm: false", "freeze_batchnorm: no"), ("tf2.config:6:5: model.ssd.freeze_batchnorm: ", "true or false", "got no")),
        (("type: 'ssd_mobilenet_v2_fpn_keras'", "type: ssd"), ("model.ssd.feature_extractor.type: ", "in quotes", "ssd")),
        (("freeze_batchnorm: false", "freeze_batchnorm: false freeze_batchnorm: true"), ("model.ssd.freeze_batchnorm: ", "twice", "line 6", "one value")),
        (("freeze_batchnorm: false", "freeze_batchnorm: [false]"), ("model.ssd.freeze_batchnorm: ", "no list", "one value")),
        (("freeze_batchnorm: false", "freeze_batchnorm { }"), ("model.ssd.freeze_batchnorm: ", "true or false", "block { }")),
        (("similarity_calculator { iou_similarity { } }", "similarity_calculator: 'iou'"), ("model.ssd.similarity_calculator: ", "block { }", "'iou'")),
        (("optimizer {", "optimizer { adam_optimizer { }"), ("train_config.optimizer.momentum_optimizer: ", "beside adam_optimizer", "line ")),
        (("  ssd {", "  faster_rcnn {"), ("tf2.config:4:3: model.faster_rcnn: ", "no Faster R-CNN", "`model: ssd_resnet50_fpn_640`")),
        (("  ssd {", "  center_net {"), ("tf2.config:4:3: model.center_net: ", "no CenterNet", "`model: ssd_resnet50_fpn_640`")),
        (("model {", "item {"), ("tf2.config: ", "not a pipeline.config", "`model { ssd { … } }`")),
        (("      score_converter: SIGMOID\n    }\n", "      score_converter: SIGMOID\n"), ("not protobuf", "line 3", "never closed")),
    ],
)  # fmt: skip
def test_a_mistake_is_said_with_its_line(change: tuple[str, str], parts: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as refused:
        import_changed(TF2, change)
    assert missing_in(str(refused.value), *parts) == []


def test_the_inside_of_a_block_that_no_ssd_needs_is_not_checked() -> None:
    """The messages have no list of what such a block holds."""
    change = ("score_converter: SIGMOID", "score_converter: SIGMOID calibration_config { some { x: 1 } label: ['a'] }")
    [line] = [line for line in import_changed(TF2, change).report if "calibration" in line]
    assert missing_in(line, "calibration_config: not carried over", "no counterpart") == []


def test_what_only_protobuf_refuses_is_said_in_its_words() -> None:
    change = ("batch_norm_trainable: true", "batch_norm_trainable ['a']")  # a field that is removed
    with pytest.raises(ConfigError, match=r"^tf1\.config: not protobuf.*: \d+:\d+ : .*Expected \"{\"\."):
        import_changed(TF1, change)


def test_of_very_many_mistakes_the_first_are_said() -> None:
    with pytest.raises(ConfigError) as refused:
        import_pipeline(b"model { ssd { " + b"x: 1\n" * 1000 + b"} }", "p.config")
    lines = str(refused.value).splitlines()
    assert len(lines) == 31
    assert lines[0].startswith("p.config:1:15: model.ssd.x: no such field")
    assert lines[-1] == "p.config: and 970 more"


def test_all_mistakes_come_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        import_changed(
            TF2, ("matcher {", "macher {"), ("num_steps: 50000", "num_steps: 5.5"), ("gamma: 2.0", "gama: 2")
        )
    lines = str(refused.value).splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "model.ssd.macher",
        "model.ssd.loss.classification_loss.weighted_sigmoid_focal.gama",
        "train_config.num_steps",
    ]
    assert all(re.match(r"tf2\.config:\d+:\d+: ", line) for line in lines)


@pytest.mark.parametrize(
    "content, parts",
    [
        (b"model { ssd { num_classes: " + b"9" * 900_000 + b"x } }", ("p.config:1:28: not protobuf", "not a number: '999")),
        (b"a" * 900_000 + b" { }", ("p.config:1:1: not protobuf", "200", "aaa")),
        (b"\x00\x01\x02", ("p.config: ", "binary", "pipeline.config")),
        (b"\xff\xfe\x00m", ("p.config: ", "UTF-8", "byte 0", "pipeline.config")),
        (b"", ("p.config: ", "not a pipeline.config", "`model { ssd { … } }`")),
        (b"# YAML\nmodel:\n  ssd:\n    num_classes: 3\n", ("p.config:3:6: not protobuf", "field's name", "':'", "YAML")),
        (b"model:\n  ssd: 3\n", ("p.config:2:6: not protobuf", "field's name", "':'", "YAML")),
        (b'{"model": {"ssd": {}}}', ("p.config:1:1: not protobuf", "field's name", "'{'", "JSON")),
        (b"item { id: 1 name: 'ball' }", ("p.config: ", "not a pipeline.config", "`model { ssd { … } }`")),
        (b"model { }", ("p.config:1:1: model: ", "`ssd`", "no model")),
        (b" " * (MOST_BYTES + 1), ("p.config: ", f"{MOST_BYTES:,} bytes", "pipeline.config")),
        (b"model {" * 10_000, ("p.config:1:455: not protobuf", "nested", "64")),
        (b"model { ssd { } } train_config { num_steps: " + b"9" * 400_000 + b" }", ("train_config.num_steps: ", "whole number")),
    ],
    ids=["a number before a letter", "a name", "binary", "utf-16", "empty", "yaml", "short yaml", "json", "label map", "no model", "too long", "too deep", "too large a number"],
)  # fmt: skip
def test_what_is_no_pipeline_config_is_refused(content: bytes, parts: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as refused:
        import_pipeline(content, "p.config")
    assert missing_in(str(refused.value), *parts) == []
    assert len(str(refused.value)) < 1000
