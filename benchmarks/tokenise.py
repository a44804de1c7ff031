"""How many megabytes of text a second become tokens, with SentencePiece and as bytes.

python benchmarks/tokenise.py
"""

import statistics
import time
from collections.abc import Callable
from itertools import islice

from mlx_gpt.stories import stories
from mlx_gpt.tokenizer import ByteTokenizer, Tokenizer, train_sentencepiece

ROUNDS = 5
STORIES = 20_000


def rates(tokenizer: Tokenizer, lines: list[str], clock: Callable[[], float]) -> str:
    """Megabytes per second of a clock: least, median and most."""
    size, found = sum(len(line.encode()) for line in lines) / 1e6, []
    for _ in range(ROUNDS):
        began = clock()
        tokenizer.encode_batch(lines)
        found.append(size / (clock() - began))
    return f"{min(found):.1f}-{statistics.median(found):.1f}-{max(found):.1f} MB"


def main() -> None:
    """Tokenise the built-in corpus."""
    lines = list(islice(stories(0), STORIES))
    print(f"{sum(len(line.encode()) for line in lines) / 1e6:.1f} MB in {len(lines)} lines")
    for tokenizer in (train_sentencepiece(lines[:4000], 1024), ByteTokenizer()):
        wall = rates(tokenizer, lines, time.perf_counter)
        cpu = rates(tokenizer, lines, time.process_time)
        print(f"  {tokenizer.name:<14} {wall} per second, {cpu} per second of one core", flush=True)


if __name__ == "__main__":
    main()
