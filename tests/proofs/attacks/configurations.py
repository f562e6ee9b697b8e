"""Hostile settings: params.yaml, options, presets, overrides, sweeps, run.yaml, pipeline.config and label maps."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from bakeoff.config.compose.overrides import parse_overrides
from bakeoff.config.compose.whole_run import Run, as_tree, load, write
from bakeoff.dataset.sources.labels import read_labels
from bakeoff.experiments.sweep.configurations import (
    SplitOverrides,
    list_values,
    load_overrides,
    require_few,
    select_fixed,
)
from bakeoff.experiments.sweep.search.space import parse_space
from bakeoff.foundation import workspace
from bakeoff.importing.api_config.options import check_settings, import_pipeline, write_options
from bakeoff.learning.run_file.parse import flat
from bakeoff.learning.run_file.read_write import load_learning, sealed
from bakeoff.learning.run_file.yaml_file import write_mapping
from proofs.attacks.campaign import Attempt, Campaign
from support.any_variant import CONF, GROUPS, PARAMS, change, render, write_pairs
from support.api_files import TF1, TF2
from support.imports import ROOT
from support.odd_inputs import ODD

RUN, LABELS, SWEEP = Path("run.yaml"), Path("labels.pbtxt"), Path("conf/sweep/odd.yaml")
HOSTILE = (
    "[" * 5000, "{a: " * 500, "&a [*a]", "&a [x, x]\n  b: &b [*a, *a]\n  c: [*b, *b]",
    "!!python/object/apply:os.abort []", "1e400", "-.inf", "1" * 400, "0b" + "1" * 500, "1_000_000", "\ufeff1", "\t1",
    "\x00", "\x1b[2J", "\u202e1", "\ud800", "٣", "½", "x" * 150_000, "[" + "a, " * 15_000 + "a]",
    "{" + ", ".join(f"k{n}: 1" for n in range(9_000)) + "}", "['" + "*" * 3000 + "']", "['" + "*a" * 30 + "b']",
    "'(a+)+$'", "'(" + "a?" * 300 + ")'", "'${oc.env:PATH}'", "'${hydra:runtime.cwd}'", "'../../../../etc/passwd'",
    "/dev/zero", "/proc/self/mem", "'a/' ", "'" + "a/" * 2000 + "'", "[" + "'*x', " * 15_000 + "]",
    "{use: ../../x}", "{use: 'demo\\0'}", "{use: []}", "{kind: ssd, kind: ssd}", "{use: demo, defaults: [demo]}",
)  # fmt: skip
EXPRESSIONS = (
    "range(0,1,1e-300)", "range(0,1e308)", "range(1,0,-1e-9)", "range(nan,1)", "choice()", "choice(choice(1,2))",
    "interval(0,1)", "interval(1,0)", "glob(*)", "glob([*],exclude=*)", "sort(3,2,1)", "shuffle(1,2)", "tag(t,1,2)",
    "range(99999999999999999999)", "int(x)", "float(nan)", "str([1])", "bool(2)", "json_str({a:1})", "1," * 4000 + "1",
    "(" * 300, "[" * 90 + "]" * 90, "range(0,10,0.5),3", "'a,b'", "\\,", "choice(range(0,3))", "extend_list(1)",
    "sort(1,a)", "cast(1)", "range(stop=5)", "range(step=0,stop=4)", "choice(1,2,3" + ",4" * 3000 + ")",
    "${lr.peak},1", "a:b", "{a:1,b:2}",
    "tag(log,interval(0.1,1))", "int(interval(1,9))", "1e400,2", "glob(" + "*a" * 40 + ")",
)  # fmt: skip
PREFIXES = ("", "", "", "+", "++", "~")
SEALED: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 10**17, float("nan"), float("inf"), "", "x", [], {}, [None], [[1]], {"": 1},
)  # fmt: skip


def attempts(randoms: Iterable[Random], folder: Path) -> Iterator[Attempt]:
    shutil.copytree(ROOT / "conf", folder / "conf", dirs_exist_ok=True)
    shutil.copy(ROOT / "params.yaml", folder)
    SWEEP.parent.mkdir(exist_ok=True)
    run = render()
    write(run, RUN)
    load(RUN)
    import_pipeline(TF1.read_bytes(), "pipeline.config")
    keys = [key for key in flat(as_tree(run)) if not key.startswith(("variant", "derived"))]
    options = sorted(CONF.rglob("*.yaml"))
    for random in randoms:
        kind = random.choice(
            [
                _edit_params,
                _set_params,
                _edit_option,
                _override,
                _sweep,
                _write_sweep,
                _seal_run,
                _edit_run,
                _pipeline,
                _labels,
            ]
        )
        yield kind(random, keys, options, run)


def _edit_params(random: Random, keys: list[str], options: list[Path], run: Run) -> Attempt:
    source = _edit(random, PARAMS.read_text("utf-8"))
    return Attempt(f"params.yaml is {_shorten(source)}", partial(_with_file, PARAMS, source, render))


def _set_params(random: Random, keys: list[str], options: list[Path], run: Run) -> Attempt:
    value = random.choice((_mild, _value))
    pairs = [(random.choice(keys), value(random)) for _ in range(random.randint(1, 3))]
    source = write_pairs(pairs).encode("utf-8", "surrogatepass")
    return Attempt(f"params.yaml sets {_shorten(pairs)}", partial(_with_file, PARAMS, source, render))


def _edit_option(random: Random, keys: list[str], options: list[Path], run: Run) -> Attempt:
    path = random.choice(options)
    source, name = _edit(random, path.read_text("utf-8")), path.stem
    word = f"{path.parent.name}={name}" if path.parent != CONF and random.random() < 0.9 else "seed=1"
    return Attempt(
        f"{path} with {word} is {_shorten(source)}", partial(_with_file, path, source, lambda: render([word]))
    )


def _override(random: Random, keys: list[str], options: list[Path], run: Run) -> Attempt:
    if random.random() < 0.5:
        words = [f"++{random.choice(keys)}={_mild(random)}" for _ in range(random.randint(1, 3))]
    else:
        words = [_word(random, keys, _value(random)) for _ in range(random.choice((1, 1, 2, 3, 300)))]
    return Attempt(f"the words {_shorten(words)}", lambda: render(words))


def _sweep(random: Random, keys: list[str], options: list[Path], run: Run) -> Attempt:
    words = [_word(random, keys, _expression(random)) for _ in range(random.choice((1, 2, 3, 40)))]
    return Attempt(f"the sweep {_shorten(words)}", lambda: _plan_sweep(words))


def _write_sweep(random: Random, keys: list[str], options: list[Path], run: Run) -> Attempt:
    lines = [f"{_word(random, keys, '')[:-1]}: {_expression(random)}" for _ in range(random.randint(1, 4))]
    source = (
        _edit(random, "\n".join(lines)) if random.random() < 0.5 else "\n".join(lines).encode("utf-8", "surrogatepass")
    )
    act = partial(_with_file, SWEEP, source, lambda: _plan_sweep(load_overrides(SWEEP)))
    return Attempt(f"a sweep's file {_shorten(source)}", act)


def _seal_run(random: Random, keys: list[str], options: list[Path], run: Run) -> Attempt:
    tree = as_tree(run)
    places = [*flat(tree), *tree, *(f"derived.{key}" for key in tree["derived"]), *(f"variant.{key}" for key in GROUPS)]
    for _ in range(random.randint(1, 2)):
        place, value = random.choice(places), random.choice(SEALED)
        tree = change(tree, place.split("."), value)
    if random.random() < 0.2:
        del tree[random.choice(list(tree))]
    write_mapping(RUN, sealed(tree), head="")
    return Attempt(f"run.yaml with {place}: {value!r}", partial(_with_file, RUN, RUN.read_bytes(), _load_run))


def _edit_run(random: Random, keys: list[str], options: list[Path], run: Run) -> Attempt:
    write(run, RUN) if not RUN.exists() else None
    source = _edit(random, RUN.read_text("utf-8"))
    return Attempt(f"run.yaml is {_shorten(source)}", partial(_with_file, RUN, source, _load_run))


def _pipeline(random: Random, keys: list[str], options: list[Path], run: Run) -> Attempt:
    text = random.choice((TF1, TF2)).read_text("utf-8")
    lines = text.splitlines()
    if random.random() < 0.5:
        for _ in range(random.randint(1, 4)):
            at = random.randrange(len(lines))
            odd = (
                _value(random)
                if random.random() < 0.5
                else random.choice(("inf", "nan", "1e39", "''", "'\\377'", "{}", "-1"))
            )
            lines[at] = f"{lines[at].partition(':')[0]}: {odd}"
        source = "\n".join(lines).encode("utf-8", "surrogatepass")
    else:
        source = _edit(random, text)
    return Attempt(f"pipeline.config is {_shorten(source)}", lambda: _import(source, random.random() < 0.5))


def _labels(random: Random, keys: list[str], options: list[Path], run: Run) -> Attempt:
    text = "".join(f"item {{\n  id: {number}\n  name: 'class {number}'\n}}\n" for number in range(1, 9))
    source = _edit(random, text)
    return Attempt(
        f"a label map {_shorten(source)}", partial(_with_file, LABELS, source, lambda: read_labels(Path(), LABELS.name))
    )


def _with_file(path: Path, source: bytes, act: Callable[[], object]) -> None:
    """Act on a file with other bytes, and put the file back."""
    before = path.read_bytes() if path.exists() else None
    path.write_bytes(source)
    try:
        act()
    finally:
        path.unlink() if before is None else path.write_bytes(before)


def _plan_sweep(words: list[str]) -> None:
    variants = SplitOverrides.split(words).variants
    require_few(variants)
    select_fixed(variants)
    if any(one.is_sweep_override() for one in parse_overrides(variants)):
        parse_space(variants, CONF)
    values = [list_values(one, CONF, 50) for one in parse_overrides(variants) if one.is_discrete_sweep()]
    fixed = [*select_fixed(variants).values()]
    render([*fixed, *(first for first, *_ in values)])


def _load_run() -> None:
    run = load(RUN)
    assert run.name and as_tree(run) and load_learning(RUN).name


def _import(source: bytes, nearest: bool) -> None:
    imported = import_pipeline(source, "pipeline.config", takes_nearest=nearest)
    check_settings(imported.settings, "pipeline.config")
    write_options(
        imported.settings,
        Path("imported"),
        name=workspace.choose_option_name("odd", "odd", reserved="x"),
        file="pipeline.config",
        force=True,
    )


def _word(random: Random, keys: list[str], value: str) -> str:
    key = random.choice(
        (
            random.choice(keys),
            random.choice(GROUPS),
            random.choice(("", "a b", "é", "lr.", ".lr", "a[0]", "hydra", "\x00")),
        )
    )
    return f"{random.choice(PREFIXES)}{key}={value}"


def _mild(random: Random) -> str:
    """Return a value that is often of the right type and in range, so that what comes behind the parser meets it."""
    whole, share = str(random.randint(-3, 500)), repr(round(random.uniform(-0.2, 1.2), random.randint(0, 9)))
    others = ("true", "false", "null", "[]", "[1, 2]", "[0.5]", "1e9", "1e-9", "a")
    return random.choice((whole, whole, share, share, random.choice(others)))


def _value(random: Random) -> str:
    mild = _mild(random)
    return random.choice((mild, mild, str(random.getrandbits(80)), random.choice(ODD), random.choice(HOSTILE)))


def _expression(random: Random) -> str:
    return random.choice((random.choice(EXPRESSIONS), random.choice(EXPRESSIONS), _value(random), "1,2", "range(0,4)"))


def _edit(random: Random, text: str) -> bytes:
    """Return a text with pieces cut out, put elsewhere, repeated or replaced, in bytes that may not be UTF-8."""
    for _ in range(random.randint(1, 4)):
        start = random.randint(0, len(text))
        end = min(len(text), start + random.randint(0, 60))
        again = text[start:end] * random.choice((0, 2, 3000))
        other = random.choice((_value(random), _value(random), again, "\n" * 50_000, "\t"))
        text = text[:start] + other + text[end:]
    source = text.encode("utf-8", "surrogatepass")
    at, some = random.randint(0, len(source)), random.randbytes(3)
    ways = (source, source, source, source[:at] + some + source[at:], b"\xef\xbb\xbf" + source, source[:at])
    return random.choice((*ways, text.encode("utf-16", "surrogatepass")))


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) < 160 else f"{text[:80]} … {text[-80:]}"


CAMPAIGN = Campaign(1000, attempts)
