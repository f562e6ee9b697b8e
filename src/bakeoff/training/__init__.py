"""The step loop, its settings, its optimizers, and the history it leaves."""
