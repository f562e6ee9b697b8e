"""`bakeoff web`: this workspace as pages in a browser, for this machine, or with a token for others."""

import argparse
import ipaddress
import webbrowser
from contextlib import suppress
from typing import Any

from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.progress import print_line

HOST = "127.0.0.1"
FIRST_PORT, PORTS = 8080, 20


def add_to(commands: Any) -> None:
    web = commands.add_parser("web")
    add = web.add_argument
    add("--port", type=int, help=f"port (default: the first free one from {FIRST_PORT})")
    add(
        "--host",
        default=HOST,
        metavar="ADDRESS",
        help="where it listens, such as 0.0.0.0 for other machines, which then need the token of the printed address; "
        f"default: {HOST}, this machine only",
    )
    add("--open", action="store_true", help="also open it in a browser")
    web.set_defaults(run=serve)


def serve(arguments: argparse.Namespace) -> None:
    """Answer until Ctrl-C."""
    if arguments.port is not None and not 1 <= arguments.port <= 65535:
        raise ConfigError(f"--port: must be between 1 and 65535, got {arguments.port}")
    from bakeoff.app.web.app import bind, make_server
    from bakeoff.app.web.safe_paths import own_folder
    from bakeoff.app.web.security import ServerAddress, read_token

    place = bind(arguments.host, arguments.port, range(FIRST_PORT, FIRST_PORT + PORTS))
    token = None if _is_own(arguments.host) else read_token(own_folder("token"))
    door = ServerAddress(arguments.host, place.getsockname()[1], token)
    print_line(f"bakeoff web: {door.address}  (Ctrl-C ends it)")
    if token:
        print_line(
            "  whoever has this address may do all that the page does; it is not encrypted, so use a network you trust"
        )
    if arguments.open:
        webbrowser.open(door.address)
    with suppress(KeyboardInterrupt):  # the way to end it; errands go on
        make_server(door).run(sockets=[place])


def _is_own(host: str) -> bool:
    """Say whether nobody but this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
