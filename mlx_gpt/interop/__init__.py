"""Other people's files: the names and layouts of other model families, their tokenizers, GGUF."""
