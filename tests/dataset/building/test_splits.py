"""Who is in training and who in validation."""

import json
from collections import Counter
from pathlib import Path

import pytest

from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.dataset import SplitSettings
from bakeoff.dataset.sources.voc import PascalVoc
from bakeoff.foundation.errors import DataError, OutOfRange
from support.built import Build, Built
from support.drawing import encoded, voc, write, write_images, write_numbered
from support.messages import missing_in


def by_class(built: Built, split: str) -> Counter[str]:
    return Counter(name.split("/")[-2] for name in built.names(split))


def test_a_fraction_takes_its_share_of_every_class(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 20, "dog": 10, "emu": 5})
    built = make(ImageFolders(path="set", split=SplitSettings(by="fraction", validation=0.2)))
    assert by_class(built, "validation") == {"cat": 4, "dog": 2, "emu": 1}
    assert by_class(built, "train") == {"cat": 16, "dog": 8, "emu": 4}


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.99])
def test_a_class_of_two_has_one_on_each_side_and_a_class_of_one_is_trained_on(
    share: float, make: Build, tmp_path: Path
) -> None:
    write_images(tmp_path / "set", {"one": 1, "two": 2, "many": 9})
    built = make(ImageFolders(path="set", split=SplitSettings(by="fraction", validation=share)))
    assert by_class(built, "train")["one"] == 1
    assert by_class(built, "train")["two"] == by_class(built, "validation")["two"] == 1
    assert by_class(built, "train")["many"] >= 1 and by_class(built, "validation")["many"] >= 1


def test_only_classes_of_one_still_give_a_validation_side(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"a": 1, "b": 1, "c": 1})
    built = make(ImageFolders(path="set"))
    assert (len(built.names("train")), len(built.names("validation"))) == (2, 1)


def test_another_seed_takes_others_and_the_same_seed_the_same(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 30})
    names = [
        make(ImageFolders(path="set", split=SplitSettings(by="fraction", seed=seed)), out=f"records{turn}").names(
            "validation"
        )
        for turn, seed in enumerate((0, 0, 1))
    ]
    assert names[0] == names[1] != names[2]


def test_one_image_more_moves_at_most_one_other(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 40, "dog": 40})
    before = set(make(ImageFolders(path="set")).names("validation"))
    write(tmp_path / "set/cat/new.jpg", encoded(999))
    after = set(make(ImageFolders(path="set")).names("validation"))
    assert len((before ^ after) - {"cat/new.jpg"}) <= 1


def test_every_class_of_a_detection_set_is_on_both_sides_if_it_can_be(make: Build, tmp_path: Path) -> None:
    """Two images with a rare class among many that lack it, whatever the seed."""
    for number in range(20):
        write(tmp_path / f"set/images/{number}.jpg", encoded(number))
        rare = [("rare", 1, 1, 5, 5)] if number in (3, 11) else []
        write(tmp_path / f"set/annotations/{number}.xml", voc([("common", 4, 6, 20, 18), *rare]))
    for seed in range(6):
        built = make(PascalVoc(path="set", split=SplitSettings(by="fraction", validation=0.1, seed=seed)))
        assert [built.manifest.splits[split].counts["rare"] for split in ("train", "validation")] == [1, 1]


def test_what_a_pattern_finds_stays_together(make: Build, tmp_path: Path) -> None:
    for number in range(24):
        write(tmp_path / f"set/{'cat' if number % 2 else 'dog'}/film{number // 4}_{number:03d}.jpg", encoded(number))
    built = make(ImageFolders(path="set", split=SplitSettings(by="fraction", validation=0.3, group=r"(film\d+)_")))
    films = {
        split: {name.split("/")[1].split("_")[0] for name in built.names(split)} for split in ("train", "validation")
    }
    assert not films["train"] & films["validation"]
    assert len(films["train"]) + len(films["validation"]) == 6


def test_a_class_that_is_in_one_group_only_is_reported(make: Build, tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path / f"set/cat/a_{number}.jpg", encoded(number))
        write(tmp_path / f"set/dog/{'bc'[number % 2]}_{number}.jpg", encoded(10 + number))
    built = make(ImageFolders(path="set", split=SplitSettings(by="fraction", group=r"([abc])_")))
    assert any(missing_in(line, "'cat'", "train only", "4 examples") == [] for line in built.findings.warnings)


def test_blocks_take_the_end_of_every_group_and_leave_a_gap(make: Build, tmp_path: Path) -> None:
    for film in ("x", "y"):
        for number in range(1, 11):  # 10 comes after 9, not after 1
            write(tmp_path / f"set/cat/{film}_{number}.jpg", encoded(number + ord(film) * 50))
    rule = SplitSettings(by="blocks", validation=0.3, gap=2, group=r"([xy])_")
    built = make(ImageFolders(path="set", split=rule))
    assert built.names("validation") == sorted(f"cat/{film}_{n}.jpg" for film in "xy" for n in (8, 9, 10))
    assert built.names("train") == sorted(f"cat/{film}_{n}.jpg" for film in "xy" for n in (1, 2, 3, 4, 5))
    left = built.report["left out"]
    assert sorted(left) == sorted(f"cat/{film}_{n}.jpg" for film in "xy" for n in (6, 7))


@pytest.mark.parametrize("seed", range(4))
def test_the_same_bytes_are_never_on_both_sides_of_a_fraction(seed: int, make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 10})
    for number in range(10):
        write(tmp_path / f"set/cat/copy_{number}.jpg", encoded(number))
    built = make(ImageFolders(path="set", split=SplitSettings(by="fraction", validation=0.3, seed=seed)))
    sides = [{row["image/encoded"][0] for row in built.rows(split).values()} for split in ("train", "validation")]
    assert not sides[0] & sides[1]
    assert len(built.every()) == 20
    assert "10 files there more than once" in built.findings.warnings[0]


def test_given_sides_that_share_an_image_keep_it_for_validation(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set/train", {"cat": 4})
    write_images(tmp_path / "set/validation", {"cat": 2}, first_seed=3)
    built = make(ImageFolders(path="set"))
    assert built.names("train") == [f"train/cat/00{n}.jpg" for n in range(3)]
    left = built.report["left out"]
    [(name, reason)] = left.items()
    assert name == "train/cat/003.jpg"
    assert missing_in(reason, "same bytes", "validation/cat/000.jpg", "validation") == []


def test_the_same_bytes_with_other_labels_are_reported(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 4, "dog": 4})
    write(tmp_path / "set/dog/000.jpg", encoded(0))
    built = make(ImageFolders(path="set"))
    assert any(missing_in(line, "1 of", "other labels", "cat/000.jpg") == [] for line in built.findings.warnings)


def test_a_class_by_a_typing_mistake_is_reported_with_what_it_may_mean(make: Build, tmp_path: Path) -> None:
    for number in range(12):
        write(tmp_path / f"set/images/{number}.jpg", encoded(number))
        label = {3: "racoon", 5: "zebra"}.get(number, "raccoon")
        write(tmp_path / f"set/annotations/{number}.xml", voc([(label, 1, 1, 5, 5)] * (1 + number % 2)))
    warnings = make(PascalVoc(path="set")).findings.warnings
    facts = ("2 classes", "one example", "'racoon' (or 'raccoon'?), 'zebra'")
    assert any(missing_in(line, *facts) == [] for line in warnings)


def test_classes_that_a_given_side_lacks_are_reported_in_one_line(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set/train", {"cat": 3, **{f"class {number:02d}": 2 for number in range(12)}})
    write_images(tmp_path / "set/validation", {"cat": 3, "dog": 2}, first_seed=100)
    warnings = make(ImageFolders(path="set")).findings.warnings
    named = ", ".join(f"'class {number:02d}'" for number in range(10))
    assert warnings == (
        "1 class without a train example: 'dog'",
        f"12 classes without a validation example: {named} and 2 more",
    )


@pytest.mark.parametrize(
    ("rule", "parts"),
    [
        (SplitSettings(), ("20%", "class", "seed 0", "names no split", "(data.split)")),
        (SplitSettings(by="fraction", validation=0.5, seed=3), ("50%", "class", "seed 3")),
        (SplitSettings(by="fraction", group="(.)_"), ("20%", "class", "seed 0", "groups")),
        (SplitSettings(by="blocks", gap=1), ("the last 20%", "group", "gap of 1")),
        (SplitSettings(validation_list="val.txt"), ("by val.txt",)),
        (SplitSettings(fold="2/4", seed=3), ("part 2 of 4", "class", "seed 3")),
    ],
)
def test_how_a_set_was_split_is_printed_and_reported(
    rule: SplitSettings, parts: tuple[str, ...], make: Build, tmp_path: Path
) -> None:
    write_images(tmp_path / "set", {"cat": 8})
    write(tmp_path / "set/val.txt", "003\n004\n")
    built = make(ImageFolders(path="set", split=rule))
    [stated] = built.findings.split
    assert missing_in(stated, "split: ", *parts) == []
    assert built.report["split"] == [stated]
    assert f"<p>{stated}.</p>" in (tmp_path / "records/report.html").read_text()


def test_of_merged_sets_each_says_how_it_was_split(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "one/train", {"cat": 4})
    write_images(tmp_path / "one/val", {"cat": 2}, first_seed=20)
    write_images(tmp_path / "two", {"cat": 5}, first_seed=40)
    built = make(one=ImageFolders(path="one"), two=ImageFolders(path="two", split=SplitSettings(by="fraction")))
    one, two = built.findings.split
    assert missing_in(one, "split of one: ", "folders") == []
    assert missing_in(two, "split of two: ", "20%", "class", "seed 0") == []


def test_images_that_look_alike_across_the_split_are_reported(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set/train", {"cat": 3})
    write(tmp_path / "set/validation/cat/other.jpg", encoded(50))
    write(tmp_path / "set/validation/cat/same.jpg", encoded(1, quality=60))
    built = make(ImageFolders(path="set"))
    report = built.report
    assert report["near-duplicates"] == [["train/cat/001.jpg", "validation/cat/same.jpg"]]
    assert missing_in(built.findings.warnings[0], "1 pair", "alike") == []


def test_a_set_where_some_have_a_side_and_some_not_is_an_error(make: Build, tmp_path: Path) -> None:
    from bakeoff.dataset.sources.box_csv import BoxCsv

    write_numbered(tmp_path / "set/images", 3)
    rows = ["0.jpg,32,24,a,1,1,5,5,train", "1.jpg,32,24,a,1,1,5,5,val", "2.jpg,32,24,a,1,1,5,5,"]
    write(tmp_path / "set/labels.csv", "\n".join(["filename,width,height,class,xmin,ymin,xmax,ymax,split", *rows]))
    with pytest.raises(DataError, match=r"set: 1 of 3 .*no split.*images/2\.jpg .*data\.split\.by"):
        make(BoxCsv(path="set"))


def test_a_name_in_both_lists_is_an_error(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 3})
    write(tmp_path / "set/train.txt", "000\n001\n")
    write(tmp_path / "set/val.txt", "001\n002\n")
    with pytest.raises(DataError, match=r"val\.txt: 001 is in two lists"):
        make(ImageFolders(path="set", split=SplitSettings(train_list="train.txt", validation_list="val.txt")))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"validation": 0}, r"validation: .*\b0 and 1\b.*\b0$"),
        ({"validation": 1.0}, r"validation: .*\b0 and 1\b.*1\.0$"),
        ({"test": 0.9}, r"test: .*\b0\.8\b.*validation.*\b0\.9$"),
        ({"test": 0.1, "by": "given"}, r"test: .*\b0\b.*split\.by .*given\b.*\b0\.1$"),
        ({"test_list": "test.txt"}, r"validation_list: .*test_list.*\bNone$"),
        ({"seed": -1}, "seed: must be 0 or more"),
        ({"gap": 3}, r"gap: .*\b0\b.*split\.by .*blocks.*\b3$"),
        ({"group": "film"}, r"group: .*\(group\).*'film'"),
        ({"group": "(film"}, r"group: .*\(group\).*'\(film'"),
        ({"train_list": "a.txt"}, "validation_list: .*train_list"),
        ({"validation_list": "a.txt", "by": "fraction"}, "by: .*auto or given.*lists.*'fraction'"),
        ({"fold": "0/5"}, r"fold: must be K/N\b.*\b2 to 100\b.*'0/5'"),
        ({"fold": "6/5"}, "fold: must be K/N"),
        ({"fold": "1/1"}, "fold: must be K/N"),
        ({"fold": "1/5", "test": 0.1}, r"fold: .*null.*split\.by .*fraction or given_test.*'1/5'"),
        ({"fold": "1/5", "by": "blocks"}, r"fold: .*null.*split\.by .*fraction or given_test.*'1/5'"),
        ({"fold": "1/5", "validation_list": "a.txt"}, "fold: .*null.*no list.*'1/5'"),
    ],
)
def test_a_split_that_makes_no_sense_is_refused(settings: dict, message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        SplitSettings(**settings)


@pytest.mark.parametrize("group", [None, r"(film\d+)_"])
def test_each_example_is_in_validation_of_one_fold_with_its_whole_group(
    group: str | None, make: Build, tmp_path: Path
) -> None:
    for number in range(41):
        write(tmp_path / f"set/{'cat' if number % 3 else 'dog'}/film{number // 4}_{number:03d}.jpg", encoded(number))
    write(tmp_path / "set/emu/film90_900.jpg", encoded(900))
    write(tmp_path / "set/emu/film91_901.jpg", encoded(900))  # the same bytes
    held = []
    for part in (1, 2, 3):
        rule = SplitSettings(fold=f"{part}/3", group=group)
        built = make(ImageFolders(path="set", split=rule), out=f"records{part}")
        assert sorted([*built.names("train"), *built.names("validation")]) == sorted(
            path.relative_to(tmp_path / "set").as_posix() for path in (tmp_path / "set").rglob("*.jpg")
        )
        held.append(built.names("validation"))
    assert Counter(name for names in held for name in names).most_common(1)[0][1] == 1
    assert sum(map(len, held)) == 43
    films = [{name.split("/")[1].split("_")[0] for name in names} for names in held]
    if group:
        assert not (films[0] & films[1] or films[0] & films[2] or films[1] & films[2])
    else:
        assert {sum("cat/" in name for name in names) for names in held} == {9}
    assert sum({"emu/film90_900.jpg", "emu/film91_901.jpg"} <= set(names) for names in held) == 1


def test_blocks_of_a_merged_set_are_cut_by_its_own_images_though_it_shares_one_with_another(
    make: Build, tmp_path: Path
) -> None:
    write_images(tmp_path / "one", {"cat": 4})
    write_images(tmp_path / "two", {"cat": 4}, first_seed=3)  # its first image is the last one of the other
    rule = SplitSettings(by="blocks", validation=0.25)
    built = make(one=ImageFolders(path="one", split=rule), two=ImageFolders(path="two", split=rule))
    assert [*built.manifest.splits] == ["train", "validation"]
    assert built.names("validation") == ["one/cat/003.jpg", "two/cat/003.jpg"]


def write_half_labelled(root: Path, labelled: int, bare: int) -> None:
    """Pictures of the films 0 and 1 in turn; the first ones have a label."""
    for number in range(labelled + bare):
        write(root / f"images/film{number % 2}_{number:03d}.png", encoded(number, "PNG"))
        if number < labelled:
            name = f"film{number % 2}_{number:03d}"
            write(root / f"annotations/{name}.xml", voc([("cat", 1, 1, 9, 9)], name=f"{name}.png"))


def test_what_a_teacher_answers_is_trained_on_and_draws_no_other_validation(make: Build, tmp_path: Path) -> None:
    write_half_labelled(tmp_path / "set", 10, 15)
    alone = make(PascalVoc(path="set", unlabelled="skip"), out="alone")
    taught = make(PascalVoc(path="set", unlabelled="taught"), out="taught")
    assert taught.names("validation") == alone.names("validation") and len(alone.names("validation")) == 2
    assert len(taught.names("train")) == 8 + 15 and {*alone.names("train")} < {*taught.names("train")}
    assert (alone.manifest.taught, taught.manifest.taught) == (0, 15)
    assert missing_in(taught.report["split"][0], "15 examples", "teacher") == []
    assert "taught" not in (alone.folder / "manifest.json").read_text(encoding="utf-8")
    assert read_manifest(taught.folder) == taught.manifest


def test_bare_pictures_of_a_group_or_a_block_that_is_judged_on_are_left_out(make: Build, tmp_path: Path) -> None:
    write_half_labelled(tmp_path / "set", 10, 10)
    split = SplitSettings(by="fraction", validation=0.5, group=r"(film\d)_")
    grouped = make(PascalVoc(path="set", unlabelled="taught", split=split), out="grouped")
    [judged] = {name[7:12] for name in grouped.names("validation")}
    assert all(judged not in name for name in grouped.names("train")) and grouped.manifest.taught == 5
    left_out = grouped.report["left out"]
    assert len(left_out) == 5 and missing_in(next(iter(left_out.values())), "data.unlabelled: taught") == []
    blocks = SplitSettings(by="blocks", validation=0.6, group=r"(film\d)_")
    cut = make(PascalVoc(path="set", unlabelled="taught", split=blocks), out="cut")
    assert cut.manifest.taught == 0 and not {*cut.names("validation")} & {f"images/film0_{n:03d}.png" for n in (10, 18)}


def test_lists_and_folders_say_nothing_of_bare_pictures_and_a_copy_of_a_judged_one_is_left_out(
    make: Build, tmp_path: Path
) -> None:
    write_half_labelled(tmp_path / "set", 6, 4)
    write(tmp_path / "set/images/copy.png", encoded(0, "PNG"))
    write(tmp_path / "set/val.txt", "film0_000\n")
    split = SplitSettings(validation_list="val.txt")
    built = make(PascalVoc(path="set", unlabelled="taught", split=split))
    assert built.names("validation") == ["images/film0_000.png"] and built.manifest.taught == 4
    assert "images/copy.png" not in built.names("train")


@pytest.mark.parametrize("taught", [-1, 99, True, "2"])
def test_a_manifest_with_a_senseless_number_of_taught_examples_is_damaged(
    taught: object, make: Build, tmp_path: Path
) -> None:
    write_half_labelled(tmp_path / "set", 6, 4)
    path = make(PascalVoc(path="set", unlabelled="taught")).folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"taught": taught}), encoding="utf-8")
    with pytest.raises(DataError, match=r"manifest\.json"):
        read_manifest(path.parent)
