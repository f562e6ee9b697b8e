"""Work on other machines, moved there by Ray core or Slurm, and copies of work in flight that all of them reach."""
