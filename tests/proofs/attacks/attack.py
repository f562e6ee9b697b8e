"""Attack the readers of what comes from outside, with a new seed each time.

    python tests/proofs/attacks/attack.py [--seed N] [--count N] [--number N] [KIND ...]

runs the named campaigns, or all of them. A good attempt ends with an answer or with a refusal in lines that a user can
read, in 10 seconds of its own and 1 GB. All else is a fall: it is printed with the command that repeats it, and the
exit code is 1. --number runs one attempt of a campaign, and prints how it ended in full.
"""

import argparse
import secrets
import signal
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proofs.attacks.campaign import Verdict
from proofs.attacks.watched import Ended, Limits, run_attempts

CAMPAIGNS = {  # kind: the module that has its CAMPAIGN
    "configurations": "proofs.attacks.configurations",
    "requests": "proofs.attacks.page_requests",
    "data_folders": "proofs.attacks.data_folders",
    "images": "proofs.attacks.images",
    "zips": "proofs.attacks.zips",
    "weights_files": "proofs.attacks.weights_files",
    "built_records": "proofs.attacks.built_records",
    "models": "proofs.attacks.models",
    "damages": "proofs.attacks.damages",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(CAMPAIGNS)}; all if none is named")
    parser.add_argument("--seed", type=int, help="a new one unless given")
    parser.add_argument("--count", type=int, help="attempts of each kind; as many as a full campaign has unless given")
    parser.add_argument("--number", type=int, help="run this attempt only")
    arguments = parser.parse_args()
    if unknown := [kind for kind in arguments.kinds if kind not in CAMPAIGNS]:
        parser.error(f"no such kind {unknown[0]!r}; one of: {', '.join(CAMPAIGNS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends the watched processes, too
    seed = secrets.randbelow(10**6) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    falls = 0
    for kind in arguments.kinds or CAMPAIGNS:
        only = arguments.number
        count = arguments.count or import_module(CAMPAIGNS[kind]).CAMPAIGN.count
        falls += attack(kind, seed, range(count) if only is None else [only], in_full=only is not None)
    return int(falls > 0)


def attack(kind: str, seed: int, numbers: range | list[int], *, in_full: bool) -> int:
    """Run one campaign, print a line of counts and each fall; return how many fell."""
    fell: list[Ended] = []
    counts: Counter[Verdict] = Counter()
    for ended in run_attempts(CAMPAIGNS[kind], seed, numbers, Limits()):
        counts[ended.end.verdict] += 1
        if ended.end.verdict.is_fall:
            fell.append(ended)
        if ended.end.verdict.is_fall or in_full:
            print_end(kind, seed, ended, in_full=in_full)
    verdicts = " · ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    print(f"{kind} · seed {seed} · {len(numbers)} attempts · {verdicts}", flush=True)
    return len(fell)


def print_end(kind: str, seed: int, ended: Ended, *, in_full: bool) -> None:
    text = ended.end.text.strip()
    text = text if in_full else text[-300:].splitlines()[-1] if text else ""
    print(f"  {ended.end.verdict}: {ended.description[:200]!a}\n    {text}", flush=True)
    print(f"    python tests/proofs/attacks/attack.py --seed {seed} --number {ended.number} {kind}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
