"""Work on other machines, moved there by Ray core or Slurm. Nothing here is loaded by a command that works locally."""
