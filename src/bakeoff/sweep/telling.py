"""A sweep that is run -> what MLflow hears of it: when it begins, and when it ends for now."""

from collections.abc import Iterator
from contextlib import contextmanager

from bakeoff.sweep.manifest import Manifest, read
from bakeoff.sweep.parent_run import ParentRun
from bakeoff.sweep.point_tags import tag_points
from bakeoff.tracking.reconcile import reconcile
from bakeoff.tracking.sync import send_beside


@contextmanager
def told(manifest: Manifest) -> Iterator[None]:
    parent = ParentRun.of(manifest.track)
    parent.began(manifest)
    try:
        yield
    finally:
        manifest = read(manifest.folder)
        parent.ended(manifest)
        reconcile()  # points that came from DVC's cache ran nothing that could have told of them
        tag_points(manifest)
        send_beside()
