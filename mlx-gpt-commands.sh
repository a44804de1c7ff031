mlx-gpt train /tmp/brk/n/tmpl9urv675/-rf/config.toml --out /tmp/brk/n/tmpl9urv675
