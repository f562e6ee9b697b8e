"""Many runs: sweeps, plans, comparisons, other machines."""
