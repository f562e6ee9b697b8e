"""Any zip is imported as a dataset, or refused as a whole: nothing of it lies elsewhere, and nothing is left of it."""

import shutil
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from random import Random

from bakeoff.foundation.errors import BakeoffError
from bakeoff.importing.datasets.import_dataset import Request, bring_in
from proofs.attacks.campaign import Attempt, Campaign, Wrong
from proofs.attacks.odd_zips import MAKERS
from support.drawing import write


def attempts(randoms: Iterable[Random], folder: Path) -> Iterator[Attempt]:
    for random in randoms:
        make = random.choice(MAKERS)
        source = write(folder / "a.zip", make(random))
        yield Attempt(f"{make.__name__}, {source.stat().st_size:,} bytes", partial(unpack, folder, source))


def unpack(folder: Path, source: Path) -> None:
    for old in [path for path in folder.iterdir() if path != source]:
        shutil.rmtree(old)
    (folder / "conf/data").mkdir(parents=True)
    raw = folder / "data/raw"
    try:
        brought = bring_in(Request(source, "field", Path("data/raw/field"), most_bytes=400_000_000))
    except BakeoffError:
        if left := [path for path in folder.rglob("*") if not path.is_dir() and path != source]:
            raise Wrong(f"left: {left[0]}") from None
        raise
    odd = [path for path in raw.rglob("*") if path.is_symlink() or not (path.is_dir() or path.is_file())]
    elsewhere = {path.name for path in folder.iterdir()} - {"a.zip", "conf", "data"}
    if odd or elsewhere:
        raise Wrong(f"a link or another kind of file: {odd}, elsewhere: {elsewhere}")
    if brought.survey.total + brought.survey.rejected + brought.survey.ignored < 6:
        raise Wrong(f"{brought.survey.total} of 6 pictures, and no word of the others")


CAMPAIGN = Campaign(200, attempts)
