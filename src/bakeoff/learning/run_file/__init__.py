"""run.yaml -> settings, for every stage after render_config."""
