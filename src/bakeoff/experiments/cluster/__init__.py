"""Work on other machines, moved there by Ray core or Slurm."""
