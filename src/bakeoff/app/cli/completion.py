"""`bakeoff completion bash|zsh`: a script by which a shell completes commands, options and paths."""

from dataclasses import dataclass

from bakeoff.app.cli.command_options import Command, argument
from bakeoff.foundation.progress import print_line


@dataclass(frozen=True)
class CompletionCommand(Command):
    epilog = 'example: eval "$(bakeoff completion bash)" in ~/.bashrc'
    needs_workspace = False
    shell: str = argument("the shell", choices=("bash", "zsh"))

    def run(self) -> None:
        import shtab

        from bakeoff.app.cli import make_parser

        print_line(shtab.complete(make_parser(as_typed=True), shell=self.shell))
