"""`python -m bakeoff.cli` is the bakeoff command."""

from bakeoff.cli import main

if __name__ == "__main__":
    main()
