"""`bakeoff budget`: the minutes of conf/team.yaml, and what is left of them."""

import argparse
from typing import Any

from bakeoff.app.cli.terminal import print_columns
from bakeoff.foundation.progress import print_line

HEAD = ("", "minutes", "spent", "reserved", "left")


def add_to(commands: Any) -> None:
    budget = commands.add_parser("budget")
    budget.set_defaults(run=show_budget)


def show_budget(arguments: argparse.Namespace) -> None:
    from bakeoff.experiments.sweep.team_quota import FILE, count_minutes, format_minutes, load_team

    team = load_team()
    if team is None:
        print_line(
            f"{FILE.as_posix()}: no such file, so minutes are not counted; `minutes: 600` in it gives the team 600"
        )
        return
    accounts = count_minutes(team)
    rows = [(one.owner, one.minutes, one.spent, one.reserved, one.left) for one in accounts]
    print_columns([HEAD, *((owner, *map(format_minutes, numbers)) for owner, *numbers in rows)])
