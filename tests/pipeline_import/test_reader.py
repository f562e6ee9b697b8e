"""Protobuf text format, read beside protobuf's own parser."""

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import message, text_format

from bakeoff.object_detection_api import schema, text_writer
from bakeoff.object_detection_api.block import Block, Mistakes, checked
from bakeoff.object_detection_api.text_reader import MAX_DEPTH, Field, Message, read
from bakeoff.object_detection_api.text_writer import Word, block, comment, document, field, fields, inline
from bakeoff.object_detection_api.tokens import SyntaxMistake

Parse = Callable[[str], message.Message]
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


def block_of(text: str) -> Block:
    mistakes = Mistakes()
    found = checked(read(text), mistakes)
    assert mistakes.found == []
    return found


def agrees(ours: Block, theirs: Any) -> None:
    """Every field has the same value in both, defaults included."""
    for name, kind in schema.MESSAGES[ours.message].items():
        value = getattr(theirs, name)
        if kind.type in schema.MESSAGES:
            inner = list(value) if kind.repeated else [value] if theirs.HasField(name) else []
            assert len(ours.inners(name)) == len(inner), name
            for one, other in zip(ours.inners(name), inner, strict=True):
                agrees(one, other)
        elif kind.repeated:
            assert ours.has(name) == bool(value), name
            if kind.type == "float":
                assert ours.numbers(name) == pytest.approx(list(value), rel=1e-6), name
        elif kind.type == "float":
            assert ours.number(name) == pytest.approx(value, rel=1e-6), name
        elif kind.type in schema.ENUMS:
            assert schema.ENUMS[kind.type][ours.text(name)] == value, name
        else:
            assert ours.get(name) == value, name


@pytest.mark.parametrize("text", WAYS_TO_WRITE.values(), ids=list(WAYS_TO_WRITE))
def test_a_text_means_what_it_means_to_protobuf(text: str, parse: Parse) -> None:
    agrees(block_of(text), parse(text))


REFUSED = {
    "model { ssd {": (1, "the block opened in line 1 is never closed"),
    "model { ssd { }\n\n": (3, "the block opened in line 1 is never closed"),
    "model { ssd > }": (1, "after 'ssd' must stand : or {, got '>'"),
    "model\n}": (2, "after 'model' must stand : or {, got '}'"),
    "model { }\n}": (2, "a field's name must stand here, got '}'"),
    "train_config {\n  num_steps: }": (2, "a value must stand here, got '}'"),
    "train_config {\n  num_steps 5 }": (2, "after 'num_steps' must stand : or {, got '5'"),
    "train_config {\n  num_steps: 5k }": (2, "not a number: '5k'"),
    "train_config {\n  num_steps: 1.2.3 }": (2, "not a number: '1.2.3'"),
    "eval_config {\n\n metrics_set: 'a\n' }": (3, "a text must end on its line with ', got 'a"),
    "eval_config { metrics_set: '\\377' }": (1, "a text must be UTF-8"),
    "model @ssd": (1, "no such sign in text format: '@'"),
    "eval_config { metrics_set: ['a' 'b', 'c'\n 'd' }": (2, "between the values of a list (opened in line 1)"),
    "eval_config { metrics_set ['a'] }": (1, "after 'metrics_set' must stand : before a list of plain values"),
    "eval_config { metrics_set: -'a' }": (1, "a value must stand here, got 'a'"),
    "{ }": (1, "a field's name must stand here, got '{'"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_wrong_syntax_is_said_with_its_line(text: str, parse: Parse) -> None:
    line, reason = REFUSED[text]
    with pytest.raises(SyntaxMistake) as refused:
        read(text)
    assert refused.value.line == line
    assert reason in refused.value.reason
    with pytest.raises(text_format.ParseError):
        parse(text)


def test_an_escape_that_does_not_exist_is_refused() -> None:
    with pytest.raises(SyntaxMistake, match="no such escape in a text: 'qb"):
        read("eval_config { metrics_set: 'a\\qb' }")


def test_every_field_knows_its_line() -> None:
    text = "# head\nmodel {\n  ssd { num_classes:\n 3 }\n}\neval_config { metrics_set: ['a',\n 'b'] }\n"
    lines = {}

    def collect(message: Message) -> None:
        for one in message.fields:
            lines.setdefault(one.name, []).append(one.line)
            if isinstance(one.value, Message):
                collect(one.value)

    collect(read(text))
    assert lines == {"model": [2], "ssd": [3], "num_classes": [3], "eval_config": [6], "metrics_set": [6, 7]}


def test_blocks_may_be_deep_but_not_endless() -> None:
    deepest = "a {" * MAX_DEPTH + "}" * MAX_DEPTH
    assert read(deepest).fields[0].name == "a"
    with pytest.raises(SyntaxMistake, match=f"nested deeper than {MAX_DEPTH}"):
        read("a {" * 100_000)


def test_damaged_texts_are_refused_exactly_where_protobuf_refuses_them(parse: Parse) -> None:
    """Words are left out, doubled, exchanged or put in by chance, thousands of times."""
    words = ["model", "ssd", "batch_size", ":", "{", "}", "<", ">", "[", "]", ",", ";", "-5", "7", "1.5", "'a'", "true"]
    # A wrong escape only warns there; an empty list of numbers needs a colon there.
    whole = [text for name, text in WAYS_TO_WRITE.items() if name not in ("escapes", "an empty list")]
    draw = random.Random(7)
    readable = 0
    for number in range(6000):
        pieces = re.findall(r"#.*\n|\w[\w.+-]*|'[^']*'|\"[^\"]*\"|\s+|.", draw.choice(whole))
        for _ in range(draw.randint(1, 2)):
            at = draw.randint(0, len(pieces))
            pieces[at : at + draw.randint(0, 2)] = draw.choice(
                [[], [f" {draw.choice(words)} "], pieces[at : at + 1] * 2]
            )
        text = "".join(pieces)
        theirs, ours = _readable_by(lambda text: bool(parse(text)) or True, text), _readable_by(_faultless, text)
        assert ours == theirs, (number, text)
        readable += ours
    assert 1000 < readable < 5000


def _readable_by(reader: Callable[[str], bool], text: str) -> bool:
    try:
        return reader(text)
    except (SyntaxMistake, text_format.ParseError):
        return False


def _faultless(text: str) -> bool:
    mistakes = Mistakes()
    checked(read(text), mistakes)
    return not mistakes.found


def test_what_is_written_is_what_protobuf_reads(parse: Parse) -> None:
    name = 'a "b" \\ ü\n\t\x01'
    text = document(
        comment("Two\nlines as   one."),
        block("eval_config", field("skip_scores", True), fields("metrics_set", [name, "c"]), comment("inside")),
        inline("train_config", field("batch_size", 7), field("gradient_clipping_by_norm", 1e-05)),
        block("model", block("ssd", field("num_classes", -1), block("post_processing", field("score_converter", Word("SOFTMAX"))))),
        block("graph_rewriter"),
    )  # fmt: skip
    read_back: Any = parse(text)
    assert list(read_back.eval_config.metrics_set) == [name, "c"]
    assert read_back.eval_config.skip_scores is True
    assert read_back.train_config.gradient_clipping_by_norm == pytest.approx(1e-5)
    assert read_back.model.ssd.num_classes == -1
    assert read_back.model.ssd.post_processing.score_converter == 2
    assert read_back.HasField("graph_rewriter")
    agrees(block_of(text), read_back)
    assert text.startswith("# Two lines as one.\n\neval_config {\n  skip_scores: true\n")


def test_long_comments_are_wrapped() -> None:
    lines = comment("word " * 60)
    assert len(lines) > 1 and max(map(len, lines)) <= text_writer.WIDTH + 2
    assert all(line.startswith("# word") for line in lines)


def test_a_list_is_marked_as_one() -> None:
    assert [one.listed for one in read("a: [1] a: 2").fields] == [True, False]
    assert isinstance(read("a: 1").fields[0], Field)
