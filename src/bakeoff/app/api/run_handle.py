"""One run, by whose fields Python reads what the commands show: values, numbers, curves, examples, and the model."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.app.api.in_workspace import absolute, in_workspace
from bakeoff.app.api.predictions import MIN_SCORE, ImagePredictions, predict_images
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.formatting import align

if TYPE_CHECKING:
    import keras

    from bakeoff.app.api.predictions import Images
    from bakeoff.experiments.compare.load_runs import Gathered
    from bakeoff.experiments.compare.run_row import Contender
    from bakeoff.inference.predict.model_interface import Model

HISTORY = "train/history.jsonl"  # among a run's artifacts


@dataclass(frozen=True)
class RunHandle:
    """A run of a workspace. Whatever takes time to read is read when it is asked for."""

    contender: "Contender" = field(repr=False)
    gathered: "Gathered" = field(repr=False, compare=False)
    root: Path = field(repr=False)  # of the workspace

    @property
    def id(self) -> str:
        """The short name that every list shows."""
        return self.contender.short

    @property
    def name(self) -> str:
        return self.contender.name

    @property
    def state(self) -> str:
        return self.contender.state

    @property
    def note(self) -> str:
        return self.contender.note or ""

    @property
    def params(self) -> dict[str, str]:
        """Every value of the variant by its key, as text: `lr.use`, `lr.peak`, …"""
        return dict(self.contender.params)

    @property
    def metrics(self) -> dict[str, float]:
        """Every number of the run: `mAP_50`, `validation/mAP_50`, …"""
        from bakeoff.experiments.compare.run_row import names_in

        found = {name: self.contender.number(name) for name in names_in(self._numbers.metrics)}
        return {name: number.value for name, number in found.items() if number}

    def interval(self, metric: str) -> tuple[float, float] | None:
        """Return the ends of a number's 95 % interval over the examples; None if it has none."""
        number = self._numbers.number(metric)
        return None if number is None or number.low is None or number.high is None else (number.low, number.high)

    @cached_property
    def config(self) -> dict[str, Any]:
        """The whole variant with every value, as run.yaml has it."""
        return self._load_config()

    @cached_property
    def history(self) -> "RunHistory":
        """What was logged of the training: a row for each step that was logged, and each validation."""
        return RunHistory(self._load_history(), self.id)

    @cached_property
    def examples(self) -> "RunExamples":
        """What the evaluation says of each example of the validation split."""
        return RunExamples(self._find_examples(), self.id)

    @cached_property
    def model(self) -> "keras.Model":
        """The Keras model with its best weights; it takes pixels of 0 to 255 at its own size, and gives raw outputs."""
        return self._load_network()

    def predict(self, images: "Images", *, min_score: float = MIN_SCORE) -> ImagePredictions:
        """Return boxes, names and scores that the run's best weights find on images.

        Images are files, folders, patterns, arrays of uint8 (height, width, 3) or pictures of Pillow.
        """
        several: Iterable[Any] = [images] if _is_one(images) else images  # type: ignore[assignment]
        given = [absolute(one) if isinstance(one, str | os.PathLike) else one for one in several]
        return self._predict(given, min_score)

    def __repr__(self) -> str:
        return "\n".join(align(self._rows()))

    def _repr_html_(self) -> str:
        from bakeoff.foundation.html import template

        return template.render("notebook_rows.html.jinja", rows=self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        from bakeoff.experiments.compare.comparison_table import choose_metrics, format_number

        numbers = [(name, self.contender.number(name)) for name in choose_metrics([self.contender])]
        rows = [("run", self.id), ("variant", self.contender.variant), ("state", self.state)]
        rows += [(name, format_number(number)) for name, number in numbers if number]
        return rows + ([("note", self.note)] if self.note else [])

    @property
    def _whole(self) -> "Contender":
        """The run itself, or the one whose result DVC's cache gave to it."""
        return self.gathered.maker_of(self.contender)

    @cached_property
    def _numbers(self) -> "Contender":
        return self._fill()

    @cached_property
    def _opened(self) -> "Model":
        from bakeoff.foundation.tf_loading import load_tensorflow
        from bakeoff.inference.predict.select_model import find_run

        trained, _ = find_run(self.called)
        load_tensorflow()
        from bakeoff.inference.predict.model_interface import opened

        return opened(trained)

    @property
    def called(self) -> str:
        """A name by which every command finds this run."""
        one = self.contender
        return str(one.files.absolute()) if one.files else one.revision or one.run_id

    @in_workspace
    def _fill(self) -> "Contender":
        """Read every number, those of single classes, too."""
        stored = [run for run in self.gathered.project_runs() if run.run_id == self.contender.run_id]
        return self.gathered.fill(stored, lambda name: True)[0] if stored else self.contender

    @in_workspace
    def _load_config(self) -> dict[str, Any]:
        from bakeoff.experiments.runs.run_yaml import load_run_yaml
        from bakeoff.foundation.workspace import RUN

        files = self.contender.files
        return load_run_yaml(str(files / RUN) if files else self.called)

    @in_workspace
    def _load_history(self) -> list[dict[str, Any]]:
        from bakeoff.experiments.reproduce.recorded import read_lines
        from bakeoff.tracking.find_run import find_run
        from bakeoff.tracking.results.results import result_here, result_of

        for one in (self.contender, self._whole):
            if (here := result_here(one.files or Path())).run_id == one.run_id and here.history:
                return here.lines
            tracked = find_run(one.run_id) if one.run_id else None
            if tracked and (content := tracked.read(HISTORY)):
                return list(read_lines(content))
            revision = one.revision or one.experiment
            if revision and (lines := result_of(revision).lines):
                return lines
        raise WorkspaceError(
            f"{self.contender.label}: has no {HISTORY} here or in MLflow; it has not trained to its end"
        )

    @in_workspace
    def _find_examples(self) -> Path:
        from bakeoff.experiments.compare.examples import find_examples

        return find_examples(self._whole, self.gathered.target.address).absolute()

    @in_workspace
    def _load_network(self) -> "keras.Model":
        from bakeoff.inference.predict.loading import load_network

        return load_network(self.called)

    @in_workspace
    def _predict(self, images: Sequence[Any], min_score: float) -> ImagePredictions:
        return predict_images(self._opened, images, min_score)


class RunHistory(Sequence[Mapping[str, Any]]):
    """The rows of history.jsonl. In a notebook they are curves."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], run: str) -> None:
        self._rows, self._run = rows, run

    def __getitem__(self, at: Any) -> Any:
        return RunHistory(self._rows[at], self._run) if isinstance(at, slice) else self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def series(self, name: str) -> list[tuple[int, float]]:
        """Return step and value of each row that has this number, such as `train/loss`."""
        return [(row["step"], row[name]) for row in self._rows if name in row]

    def to_pandas(self) -> Any:
        """Return a table with a row for each step and a column for each number."""
        import pandas

        return pandas.DataFrame(self._rows)

    def __repr__(self) -> str:
        last = {name: value for row in self._rows for name, value in row.items()}
        names = [name for name in last if name not in ("step", "phase")]
        return "\n".join([
            f"{len(self._rows)} rows of run {self._run}, to step {last.get('step', 0):,}; the last values:",
            *align((f"  {name}", f"{last[name]:.6g}") for name in names),
        ])  # fmt: skip

    def _repr_html_(self) -> str:
        from bakeoff.experiments.runs.curve_drawings import draw_series
        from bakeoff.foundation.html import template

        names = {name for row in self._rows for name in row}
        curves = draw_series({name: self.series(name) for name in names if name not in ("step", "phase")})
        return template.render("notebook_curves.html.jinja", curves=curves)


class RunExamples(Sequence[Mapping[str, Any]]):
    """The rows of examples.parquet: file, ground truth, prediction, and what is wrong with it."""

    def __init__(self, file: Path, run: str) -> None:
        self.file, self._run = file, run

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        import pyarrow.parquet

        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(self.file).to_pylist()
        return rows

    def __getitem__(self, at: Any) -> Any:
        return self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def to_pandas(self) -> Any:
        """Return the table as it is in the file."""
        import pandas

        return pandas.read_parquet(self.file)

    @property
    def errors(self) -> dict[str, int]:
        """How often what is wrong, the most frequent first: kinds of errors of boxes, else true labels."""
        return dict(Counter(name for row in self._rows for name in _name_errors(row)).most_common())

    def __repr__(self) -> str:
        errors = ", ".join(f"{count} {name}" for name, count in self.errors.items()) or "no errors"
        return f"{len(self):,} examples of run {self._run}: {errors}"

    def _repr_html_(self) -> str:
        from bakeoff.foundation.html import template

        rows = [(name, str(count)) for name, count in self.errors.items()]
        return template.render("notebook_rows.html.jinja", rows=[("examples", f"{len(self):,}"), *rows])


def _is_one(images: Any) -> bool:
    return isinstance(images, str | os.PathLike) or hasattr(images, "shape") or hasattr(images, "convert")


def _name_errors(row: Mapping[str, Any]) -> list[str]:
    truth, found = row["truth"], row["prediction"]
    if isinstance(truth, str):
        return [] if truth == found else [truth]
    if (truth and isinstance(truth[0], str)) or (found and isinstance(found[0], str)):
        return sorted({*truth} ^ {*found})
    missed = ["missed" for box in truth if not box["found"]]
    return missed + [box["error"] for box in found if box["error"] not in ("", "right")]
