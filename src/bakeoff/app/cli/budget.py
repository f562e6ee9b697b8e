"""`bakeoff budget`: the minutes of conf/team.yaml, and what is left of them."""

from dataclasses import dataclass

from bakeoff.app.cli.command_options import Command
from bakeoff.app.cli.terminal import print_columns
from bakeoff.foundation.progress import print_line


@dataclass(frozen=True)
class BudgetCommand(Command):
    def run(self) -> None:
        from bakeoff.experiments.sweep.team_quota import FILE, count_minutes, format_minutes, load_team

        team = load_team()
        if team is None:
            file = FILE.as_posix()
            print_line(f"{file}: no such file, so minutes are not counted; `minutes: 600` in it gives the team 600")
            return
        accounts = ((one.owner, one.minutes, one.spent, one.reserved, one.left) for one in count_minutes(team))
        rows = [(owner, *map(format_minutes, numbers)) for owner, *numbers in accounts]
        print_columns([("", "minutes", "spent", "reserved", "left"), *rows])
