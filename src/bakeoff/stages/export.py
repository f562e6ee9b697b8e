"""run.yaml + models/train -> models/export: a SavedModel and its labels."""

from pathlib import Path

from bakeoff import workspace
from bakeoff.config.run import Derived, Run, fitting_manifest, load
from bakeoff.errors import said_plainly
from bakeoff.progress import say
from bakeoff.quiet import load_tensorflow
from bakeoff.tracking import tracker
from bakeoff.training.state import read_state

SAVED_MODEL = "saved_model"


def export(run: Run, derived: Derived, records: Path, trained: Path, out: Path) -> None:
    load_tensorflow()
    import tensorflow as tf

    from bakeoff.input import pixels
    from bakeoff.input.view import View
    from bakeoff.records.shards import write_labels
    from bakeoff.tasks.servable import save_servable
    from bakeoff.tasks.task import task_of
    from bakeoff.training.weights import restore

    manifest = fitting_manifest(records, derived)
    network = restore(run.model, derived.num_classes, trained / f"{run.export.weights}.weights.h5")

    def resize(images: tf.Tensor) -> tf.Tensor:
        def fitted(image: tf.Tensor) -> tf.Tensor:
            return pixels.fit({"image": image}, View.of(run.model))["image"]

        return tf.map_fn(fitted, images, fn_output_signature=tf.float32)

    with workspace.building(out) as partial:
        save_servable(
            network,
            task_of(run.model, manifest.classes, multi_label=manifest.multi_label),
            resize,
            partial / SAVED_MODEL,
        )
        write_labels(manifest.classes, partial)
    state = read_state(trained)
    with tracker.attach(run.track, state["run_id"]) as copy:
        copy.metrics(state["step"], {"export/bytes": size_of(out)}, revised=True)
        copy.file(out / "labels.txt", "export")
        copy.exported(out, state, weights=run.export.weights, task=derived.task, multi_label=manifest.multi_label)


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def main() -> None:
    with said_plainly():
        workspace.require_own_code()
        run, derived = load(workspace.RUN)
        export(run, derived, workspace.RECORDS, workspace.TRAINED, workspace.EXPORTED)
        size = size_of(workspace.EXPORTED) / 1e6
        say(f"export: SavedModel of the {run.export.weights} weights, {size:.1f} MB, with its labels")
        say(f"  {SAVED_MODEL}/, labels.txt and label_map.pbtxt: {workspace.EXPORTED.as_posix()}/")


if __name__ == "__main__":
    main()
