"""What ends a terminal or a service -> the same as Ctrl-C, so that a command ends what it has started."""

import signal


def end_as_by_ctrl_c() -> None:
    """SIGTERM and SIGHUP; Windows has not both, and what nohup ignores stays ignored."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
