"""`python -m bakeoff` is the bakeoff command."""

from bakeoff.app.cli import main

if __name__ == "__main__":
    main()
