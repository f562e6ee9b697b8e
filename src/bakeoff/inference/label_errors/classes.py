"""Classes of images and clips that are probably wrong, by confident learning (Northcutt et al., arXiv:1911.00068).

A class has a threshold: the mean of the scores that its own examples get for it. An example is suspected if another
class is predicted with a score of that class's threshold or more. Suspects are ranked by the margin: the score of the
predicted class, less the score of the label.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from bakeoff.inference.label_errors.suspect import (
    FEWEST_EXAMPLES,
    Agreement,
    LabelErrorFindings,
    Row,
    Suspect,
    lower_end,
    make_findings,
)

FEWEST_OF_CLASS = 5  # examples that a class's threshold is the mean of
WRONG_CLASS, MISSING_LABEL, SUPERFLUOUS_LABEL = "wrong class", "missing label", "superfluous label"


def find_wrong_classes(rows: Sequence[Row]) -> LabelErrorFindings | str:
    """Return the suspects, or the reason why the predictions allow no statement."""
    counts = Counter(row["truth"] for row in rows)
    [(_, most)] = counts.most_common(1) or [("", 0)]
    if len(counts) < 2:
        return f"one class only, {next(iter(counts), 'none')!r}"
    right = sum(row["truth"] == row["prediction"] for row in rows)
    quality = f"accuracy {right / len(rows):.3f}"
    if lower_end(right, len(rows)) <= most / len(rows):
        return f"{quality} is no more than guessing explains: {most / len(rows):.3f} have the same label"
    thresholds = {
        label: float(np.mean([row["true_score"] for row in rows if row["truth"] == label]))
        for label, count in counts.items()
        if count >= FEWEST_OF_CLASS
    }
    agreement = Agreement(
        np.array([row["score"] for row in rows]), np.array([row["truth"] == row["prediction"] for row in rows])
    )
    if agreement.least is None:
        return f"{quality}: from no score on do the predictions agree with 80 % of the labels, by more than chance"
    suspects, doubts = [], {}
    for row in rows:
        given, score, own_score = row["prediction"], row["score"], row["true_score"]
        is_other = given != row["truth"]
        doubts[row["file"]] = (1 - own_score + (score if is_other else 0)) / 2
        if is_other and given in thresholds and score >= thresholds[given] and agreement.is_sure(score):
            why = f"the models give {given} {score:.2f} and {row['truth']} {own_score:.2f}"
            suspects.append(Suspect(row["file"], WRONG_CLASS, doubts[row["file"]], row["truth"], given, why))
    few = sorted(label for label, count in counts.items() if count < FEWEST_OF_CLASS)
    silences = (f"no example is suspected to be {', '.join(few)}: fewer than {FEWEST_OF_CLASS} each",) if few else ()
    return make_findings(suspects, doubts, f"{quality}; {agreement.describe()}", silences)


def find_wrong_labels(rows: Sequence[Row], classes: Sequence[str]) -> LabelErrorFindings | str:
    """Return the suspects among examples with any number of labels. Each class is judged by itself."""
    has = np.array([[label in row["truth"] for label in classes] for row in rows])
    scores = np.array([row["scores"] for row in rows], np.float64).reshape(has.shape)
    files = [row["file"] for row in rows]
    margins = np.where(has, 1 - scores, scores)  # how far the network contradicts each label
    doubts = dict(zip(files, margins.max(axis=1, initial=0).tolist(), strict=True))
    suspects, silences = [], []
    for column, label in enumerate(classes):
        has_label, given = has[:, column], scores[:, column]
        present, agrees = given >= 0.5, (given >= 0.5) == has_label
        fewer, most = sorted((has_label.sum(), (~has_label).sum()))
        if fewer < FEWEST_OF_CLASS or lower_end(agrees.sum(), len(rows)) <= most / len(rows):
            silences.append(label)
            continue
        for side, kind in ((present, MISSING_LABEL), (~present, SUPERFLUOUS_LABEL)):
            sure = np.where(present, given, 1 - given)
            agreement = Agreement(sure[side], agrees[side])
            threshold = float(np.mean(given[has_label] if kind == MISSING_LABEL else 1 - given[~has_label]))
            for row in np.flatnonzero(side & ~agrees & (sure >= threshold)).tolist():
                if agreement.is_sure(float(sure[row])):
                    labels = list(rows[row]["truth"])
                    corrected = [*labels, label] if kind == MISSING_LABEL else [one for one in labels if one != label]
                    why = f"the models give {label} {given[row]:.2f}"
                    margin = float(margins[row, column])
                    suspects.append(
                        Suspect(files[row], kind, margin, _join_labels(labels), _join_labels(corrected), why)
                    )
    if len(silences) == len(classes):
        return "of no class do the predictions agree with the labels by more than guessing explains"
    remarks = (f"nothing is said of {', '.join(silences)}: too few, or no better than guessing",) if silences else ()
    right = float(np.mean((scores >= 0.5) == has))
    return make_findings(suspects, doubts, f"{right:.3f} of all labels as given", remarks)


def find_shortage(rows: Sequence[Row], what: str) -> str | None:
    """Return why the rows are too few for a statement; None if they are enough."""
    return f"{len(rows)} {what}, at least {FEWEST_EXAMPLES} are needed" if len(rows) < FEWEST_EXAMPLES else None


def _join_labels(labels: Sequence[str]) -> str:
    return ", ".join(labels) or "nothing"
