"""The terminal app, and the `mlx-gpt` command that starts it."""
