"""Hydra's words with several values -> points, each of them a DVC experiment. The only room that runs any."""
