"""Layouts in which the folder of a file names its class."""

from bakeoff.dataset.sources.dataset import find_side
from bakeoff.importing.datasets.tree import DATE, Layout, Tree, below_side

UNLABELLED = (
    "pictures without any label: no file of boxes belongs to them, and no folder names their class; "
    "`--as unlabelled` brings them in, and `bakeoff web` labels them; `bakeoff propose` has a run propose boxes"
)


def find_image_folders(tree: Tree) -> Layout | None:
    if not tree.images:
        return None
    inner = [below_side(path) for path in tree.images]
    classes = {parts[0] for parts in inner if parts}
    if classes and all(map(DATE.fullmatch, classes)):
        if any(len(parts) > 1 for parts in inner):
            return Layout("image_folders", "folders of classes in folders of dates", {"dated": True})
        return Layout("image_folders", "folders of dates", {}, UNLABELLED)
    if not classes or (len(classes) == 1 and not any(find_side(path.parts[0]) for path in tree.images)):
        return Layout("image_folders", "a folder of pictures", {}, UNLABELLED)
    return Layout("image_folders", "a folder of pictures for each class")


def find_clips(tree: Tree) -> Layout | None:
    if not tree.videos:
        return None
    if {below_side(path) for path in tree.videos} == {()}:
        lack = "films without any label; `bakeoff frames` makes pictures of a film, or sort clips into folders by class"
        return Layout("clips", "films", {}, lack)
    return Layout("clips", "a folder of clips for each class", {"max_side": 256})
