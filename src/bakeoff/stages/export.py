"""run.yaml + records + models/train -> models/export: a SavedModel, TensorFlow Lite files, labels, and their worth."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.config.track_settings import Track, load_track
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.dataset.records.record import TRAIN, VALIDATION
from bakeoff.experiments.planning.known_before import LOST, lost_by_files
from bakeoff.experiments.planning.time_estimate import keep_stage
from bakeoff.export import hailo
from bakeoff.export.devices import DEVICES
from bakeoff.export.licences import state_licences
from bakeoff.export.settings import DIGESTS, MAIN, REPORT, RKNN, Export
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError, errors_in_one_line
from bakeoff.foundation.files import building, hash_file
from bakeoff.foundation.progress import print_line, progress
from bakeoff.foundation.tf_loading import load_tensorflow
from bakeoff.learning.checkpoints.trained_state import TrainedState, read_state
from bakeoff.learning.input.view import View
from bakeoff.learning.plan.phases import batch_shape
from bakeoff.learning.run_file.read_write import fitting_manifest, load_group, load_learning
from bakeoff.learning.run_file.settings import LearningRun
from bakeoff.stages import begin_stage
from bakeoff.tracking import tracker
from bakeoff.tracking.results.measurements import keep_measured, run_id_of

if TYPE_CHECKING:
    import keras

METRICS = "metrics.json"
EIGHT_BITS = "in_eight_bits"  # in export.json, of a network that learnt so
CALIBRATION = "calibration_images"  # in export.json, of a device whose compiler learns from some
BATCH = 16  # examples that are compared at once; the size changes no result


def export(
    run: LearningRun, settings: Export, track: Track, records: Path, trained: Path, out: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write the trained network as files; return what `export.json` holds, and how long answers take here."""
    load_tensorflow()
    from bakeoff.export.accuracy_report import compare_files, require_parity, sample_of
    from bakeoff.export.rknn_build import TOOLKIT
    from bakeoff.export.rknn_report import write_rknn
    from bakeoff.export.tflite_metadata import ModelMetadata
    from bakeoff.export.write_formats import representative_of, write_files
    from bakeoff.learning.input.record_reader import RecordReader, plain_errors_of
    from bakeoff.learning.networks.quantized.quantizable import is_active
    from bakeoff.learning.tasks.task import make_task

    manifest, state = fitting_manifest(records, run.derived), read_state(trained)
    _require_compilers(settings, manifest)
    network = _restore(run, trained, state, f"{settings.weights}.weights.h5")
    task = make_task(run.model, manifest.classes, multi_label=manifest.multi_label)
    train, validation = (
        RecordReader(records, manifest.splits[split], run.memory.on_bad_record) for split in (TRAIN, VALIDATION)
    )
    shape = batch_shape(run, BATCH)
    representative = representative_of(train, shape, settings, run.seed)
    lineage = state.lineage
    about = ModelMetadata(run.name, lineage.trained_from or "not known", ", ".join(lineage.licences))
    with building(out) as partial, plain_errors_of(train, validation):
        with progress("convert", len(settings.formats), "files") as bar:
            for _ in write_files(
                network, run.model, task, manifest.classes, settings,
                about=about, representative=representative, folder=partial,
            ):  # fmt: skip
                bar.advance()
        with progress("compare", len(sample_of(validation, settings.sample)), "examples") as bar:
            report, timing = compare_files(network, task, settings, validation, shape, partial, bar.advance)
        if RKNN in settings.formats:
            print_line(f"export: {TOOLKIT} converts and simulates, which may take minutes")
            report["files"][RKNN] = write_rknn(
                network, task, manifest.classes, settings, partial,
                representative=representative, store=validation, shape=shape,
            )  # fmt: skip
        report |= {
            "device": settings.device,
            "lineage": {"starts": state.lineage.starts or (), "own": state.lineage.own},
        }
        if is_active(network):
            report[EIGHT_BITS] = True
        if settings.device and DEVICES[settings.device].is_hailo:
            report[CALIBRATION] = hailo.write_hailo(settings.device, partial, manifest.classes, representative)
        _write_notes(run, settings, report, manifest.classes, partial)
        require_parity(report, settings.max_drop, settings.ranges)
    if fingerprint := lineage.fingerprint:
        keep_measured(fingerprint, export=timing, **{LOST: lost_by_files(run.model, report)})
    with tracker.attach(track, run_id_of(state)) as copy:
        copy.metrics(state.last_step, _flatten(report, timing), revised=True)
        for name in ("labels.txt", REPORT, MAIN):
            copy.file(out / name, "export")
        copy.exported(out, state, weights=settings.weights, task=run.derived.task, multi_label=manifest.multi_label)
    return report, timing


def _restore(run: LearningRun, trained: Path, state: TrainedState, weights: str) -> "keras.Model":
    from bakeoff.learning.networks.quantized.quantizable import Quantizable, is_active
    from bakeoff.learning.networks.weights import restore

    network = restore(run.model, run.derived.num_classes, trained / weights, state.files.get(weights))
    if isinstance(network, Quantizable) and not is_active(network):
        print_line("export: these weights are of a phase before that in eight bits, so int8 finds ranges on pictures")
    return network


def _require_compilers(settings: Export, manifest: Manifest) -> None:
    """Refuse, before anything is converted, what another maker's compiler would lack in the end."""
    from bakeoff.export.rknn_build import find_python

    if RKNN in settings.formats:
        find_python()
    is_hailo = settings.device is not None and DEVICES[settings.device].is_hailo
    if is_hailo and (why := hailo.find_obstacle(manifest.splits[TRAIN], manifest.classes)):
        raise DataError(f"export.device: {settings.device} {why}; {hailo.REMEDY}")


def _flatten(report: Mapping[str, Any], timing: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of each file by a name for trackers."""
    files = {form: {key: file[key] for key in file if key != "edge_tpu"} for form, file in report["files"].items()}
    flat_facts = [*tracker.flatten(files), *tracker.flatten(timing["files"])]
    numbers = {f"export/{key}": value for key, value in flat_facts if _is_number(value)}
    return numbers | {"export/bytes": sum(file["bytes"] for file in report["files"].values())}


def _write_notes(
    run: LearningRun, settings: Export, report: Mapping[str, Any], classes: Sequence[str], folder: Path
) -> None:
    """Write what tells of the files, and the archive of a device that takes one."""
    from bakeoff.export.photonvision import ARCHIVE, BACKENDS, write_archive
    from bakeoff.export.readme import README, write_readme

    if settings.device and settings.device in BACKENDS:
        model = next(file for form, file in settings.files.items() if form in DEVICES[settings.device].formats)
        own = (report["lineage"]["own"] or {}).get("run", "")
        name = "_".join(filter(None, [run.name, own[:8]]))
        write_archive(settings.device, folder / model, name, classes, _licences(report), folder / ARCHIVE)
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    report = {**report, DIGESTS: {name: hash_file(path) for name, path in files.items()}}
    for name, numbers in ((REPORT, report), (METRICS, metrics(report))):
        (folder / name).write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    view = View.of(run.model)
    fed = replace(view, fit=settings.fit_for(view.fit))
    in_eight_bits = report.get(EIGHT_BITS, False)
    readme = write_readme(run.name, run.derived.task, classes, fed, settings, in_eight_bits=in_eight_bits)
    (folder / README).write_text(readme, encoding="utf-8")


def _licences(report: Mapping[str, Any]) -> list[str]:
    return state_licences(report["lineage"]["starts"], report["lineage"]["own"])


def metrics(report: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return what `dvc metrics` and `dvc exp show` have columns for: the few numbers that files differ in."""
    names = (report["headline"], "drop", "bytes")
    files = report["files"].items()
    return {form: {name: file[name] for name in names if file.get(name) is not None} for form, file in files}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def describe_export(report: Mapping[str, Any], timing: Mapping[str, Any]) -> list[str]:
    """Return a line for the network, one for the rule of a detector's .tflite, and one for each file."""
    from bakeoff.export.accuracy_report import AS_A_FILE, describe_fit, describe_rule

    headline = report["headline"]

    def number(value: float | None) -> str:
        return "none" if value is None else f"{value:.3f}"

    examples = f"{report['examples']:,} of {report['of']:,} validation examples"
    lines = [f"{report['weights']} weights, {headline} {number(report['network'].get(headline))}, on {examples}"]
    lines += [describe_rule(report)] if AS_A_FILE in report else []
    lines += [fit] if (fit := describe_fit(report)) else []
    if report.get(EIGHT_BITS):
        lines.append("int8, onnx and the network compute in the eight bits that it learnt in, other files in floats")
    if images := report.get(CALIBRATION):
        advice = f"; Hailo advises {hailo.ADVISED:,}" if images < hailo.ADVISED else ""
        lines.append(f"{hailo.FOLDER}/: what Hailo's compiler needs, with {images:,} images to calibrate with{advice}")
    for_edge_tpu = report.get("device") and DEVICES[report["device"]].is_edge_tpu
    for form, file in report["files"].items():
        name = f"{file['file']} ({form})" if file["file"] != form else f"{form}/"
        change = "" if file["drop"] is None else f" ({round(-file['drop'], 3) + 0.0:+.3f})"
        timed = timing["files"].get(form)  # a simulator is not timed
        pace = f"{timed['latency_ms']:.1f} ms an answer" if timed else f"by simulation, on {file['examples']} examples"
        lines.append(f"{name}: {file['bytes'] / 1e6:.1f} MB, {headline} {number(file.get(headline))}{change}, {pace}")
        if for_edge_tpu and "edge_tpu" in file:
            lines.append(f"  {file['edge_tpu']['in_words']}")
    return lines


def main() -> None:
    with errors_in_one_line():
        begin_stage("export", __doc__)
        run, settings = load_learning(workspace.RUN), load_group(workspace.RUN, "export", {"export": Export})
        made = export(
            run, settings, load_track(workspace.RUN), workspace.RECORDS, workspace.TRAINED, workspace.EXPORTED
        )
        first, *rest = describe_export(*made)
        print_line(f"export: {first}")
        for line in (*rest, *_licences(made[0])):
            print_line(f"  {line}")
        print_line(f"  these, labels.txt, label_map.pbtxt, {REPORT} and README.md: {workspace.EXPORTED.as_posix()}/")
        keep_stage("export", run, settings, state=read_state(workspace.TRAINED))


if __name__ == "__main__":
    main()
