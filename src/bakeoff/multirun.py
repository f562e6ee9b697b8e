"""`python -m bakeoff.multirun` is a Hydra application on the workspace's conf/."""

from bakeoff.app.cli.multirun import main

if __name__ == "__main__":
    main()
