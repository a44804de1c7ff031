"""One module per command: EXAMPLE, add_arguments(parser), run(args) -> exit code."""
