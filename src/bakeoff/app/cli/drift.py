"""`bakeoff drift FOLDER`: whether new images look like those that a run was trained on."""

import sys
from dataclasses import dataclass
from pathlib import Path

from bakeoff.app.cli.command_options import Command, absolute_path, argument, option
from bakeoff.app.cli.terminal import RUN
from bakeoff.foundation import workspace
from bakeoff.foundation.progress import print_line, progress
from bakeoff.foundation.tf_loading import load_tensorflow

NAMED = 5  # files in a line


@dataclass(frozen=True)
class DriftCommand(Command):
    folder: Path = argument("folder of new images, without labels", "FOLDER", type=absolute_path)
    of_run: str | None = option(f"{RUN}; default: what was trained here", "RUN", flags="--run")
    html: Path | None = option("path of the page (default: .bakeoff/drift/<FOLDER>.html)", "FILE", type=absolute_path)

    def run(self) -> None:
        from bakeoff.inference.drift.samples import list_images, open_records, require_pictures
        from bakeoff.inference.predict.select_model import find_run_or_own

        folder = self.folder
        files = list_images(folder)
        trained, called = find_run_or_own(self.of_run)
        require_pictures(trained, called)
        stores = open_records(trained, called)
        load_tensorflow()
        from bakeoff.inference.drift.drift_report import describe, write_drift
        from bakeoff.inference.drift.drift_statistics import FEWEST, compare_with_all, join_samples, rank_foreign
        from bakeoff.inference.drift.samples import MOST, read_folder, read_records, take_sample
        from bakeoff.inference.predict.features import FeatureExtractor

        failures: list[tuple[Path, str]] = []
        data = trained.run.data if trained.run else {}
        extractor, limits = FeatureExtractor(trained), (data.get("max_side"), bool(data.get("square")))
        with progress("drift", min(len(files), MOST), "images") as bar:
            pictures = read_folder(folder, files, lambda path, why: failures.append((path, why)))
            new = take_sample(pictures, extractor, bar.advance, *limits)
        for path, why in failures:
            print(f"{path}: passed over, {why}", file=sys.stderr)
        unread = f"; {len(failures):,} could not be read" if failures else ""
        if len(new.names) < FEWEST:
            print_line(f"drift: no statement: {len(new.names)} images in {folder}, {FEWEST} or more are needed{unread}")
            return
        some = {name: store for name, store in stores.items() if store.examples >= FEWEST}
        if not some:
            print_line(f"drift: no statement: {called} has no {FEWEST} images of the training or of the validation")
            return
        with progress("drift", sum(min(store.examples, MOST) for store in some.values()), "images of the run") as bar:
            samples = [take_sample(read_records(store), extractor, bar.advance, *limits) for store in some.values()]
        aspects, foreign = compare_with_all(samples, new), rank_foreign(join_samples(samples), new)
        own = " and ".join(f"{len(sample.names):,} {name}" for name, sample in zip(some, samples, strict=True))
        of_all = f" of {len(files):,}" if len(files) > MOST else ""
        counted = f"{len(new.names):,}{of_all} images of {folder} beside {own} images of {called}"
        print_line(f"drift: {counted}{unread}")
        for line in describe(aspects):
            print_line(line)
        print_line(f"  most foreign: {', '.join(f'{one.name} ({one.aspect})' for one in foreign[:NAMED])}")
        page = self.html or workspace.main_workspace() / workspace.IN_FLIGHT / "drift" / f"{folder.name}.html"
        write_drift(page, folder, counted, aspects, foreign)
        print_line(f"  page: {page}")
