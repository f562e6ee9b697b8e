"""`bakeoff web`: this workspace as pages in a browser, for whoever has the token in the printed address."""

import webbrowser
from contextlib import suppress
from dataclasses import dataclass

from bakeoff.app.cli.command_options import Command, flag, option
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.machine import bind_port, raise_file_limit
from bakeoff.foundation.progress import print_line

HOST = "127.0.0.1"
FIRST_PORT, PORTS = 8080, 20
REMEDY = "choose another with --port, or another --host"


@dataclass(frozen=True)
class WebCommand(Command):
    port: int | None = option(f"port (default: the first free one from {FIRST_PORT})", least=1, most=65535)
    host: str = option(
        f"where it listens, such as 0.0.0.0 for other machines; default: {HOST}, this machine only",
        "ADDRESS",
        default=HOST,
    )
    no_token: bool = flag("let everybody who can log in to this machine use the page, without the printed address")
    open: bool = flag("also open it in a browser")

    def run(self) -> None:
        """Answer until Ctrl-C."""
        from bakeoff.app.web.app import make_server
        from bakeoff.app.web.security import ServerAddress, is_own_machine, read_token, write_entry

        is_own = is_own_machine(self.host)
        if self.no_token and not is_own:
            raise ConfigError(f"--no-token: must go with an address of this machine alone, got --host {self.host}")
        raise_file_limit()
        place = bind_port(self.host, self.port, range(FIRST_PORT, FIRST_PORT + PORTS), REMEDY)
        door = ServerAddress(self.host, place.getsockname()[1], None if self.no_token else read_token())
        print_line(f"bakeoff web: {door.address}  (Ctrl-C ends it)")
        if not is_own:
            print_line(
                "  whoever has this address may do all that the page does; it is not encrypted, so use a network you "
                "trust"
            )
        if self.open:
            webbrowser.open(write_entry(door) if door.token else door.address)
        with suppress(KeyboardInterrupt):  # the way to end it; errands go on
            make_server(door).run(sockets=[place])
