"""The parts of the pages and the words of the field, as the help explains them in English."""

EN = {
    "help.parts": "The parts of this page",
    "help.words": "Words",
    "topic.status": "status lines",
    "topic.chart": "chart",
    "topic.probes": "samples",
    "topic.surprise": "surprise",
    "topic.log": "log",
    "topic.plan": "plan",
    "topic.table": "table",
    "topic.settings": "settings",
    "topic.beside": "samples",
    "topic.maps": "attention",
    "topic.prompt": "prompt line",
    "topic.dials": "dials",
    "topic.tokens": "text",
    "topic.rivals": "rivals",
    "topic.tree": "tree",
    "topic.row": "row",
    "topic.answer": "answer line",
    "topic.view": "view",
    "topic.form": "form",
    "word.loss": "loss",
    "gloss.loss": (
        "mean of −ln p(token that came)\n"
        "How surprised the model is by the next token, on average. Training makes it smaller."
    ),
    "word.validation": "validation loss",
    "gloss.validation": (
        "mean of −ln p(token that came), on text kept aside\n"
        "The loss on text that is never trained on. Where it rises while the training loss "
        "falls, the model learns by heart."
    ),
    "word.nats": "nats",
    "gloss.nats": (
        "−ln p\n"
        "The surprise at a token of probability p: 0 nats for a certain one, 0.69 for a coin "
        "toss, 4.6 for one in a hundred. 1 nat = 1.44 bits."
    ),
    "word.perplexity": "perplexity",
    "gloss.perplexity": (
        "e^loss\nAmong how many equally likely tokens it would be as hard to guess."
    ),
    "word.bits": "bits/char",
    "gloss.bits": (
        "loss / ln 2 / characters per token\n"
        "The loss for each character of the text. Of all these it alone can be compared "
        "between tokenizers."
    ),
    "word.ema": "ema",
    "gloss.ema": (
        "m ← b·m + (1 − b)·x\n"
        "Exponential moving average: a curve smoothed by its past. The nearer b is to 1, the "
        "smoother the curve, and the later it turns."
    ),
    "word.learning_rate": "learning rate",
    "gloss.learning_rate": (
        "w ← w − lr · step\n"
        "How far a step moves the weights. Too high and the loss climbs, too low and nothing "
        "is learnt."
    ),
    "word.grad_norm": "gradient norm",
    "gloss.grad_norm": (
        "|g| = √(sum of all gradients squared)\n"
        "How strongly the loss pulls at all weights together. A norm above train.grad_clip is "
        "cut down to it."
    ),
    "word.step": "step",
    "gloss.step": (
        "tokens = batch_size · grad_accumulation · context_length\n"
        "One update of all weights, by the mean gradient over so many tokens of text."
    ),
    "word.speed": "tokens/s",
    "gloss.speed": (
        "tokens of a step / seconds of a step\n"
        "How much text is learnt from in a second. It falls with a larger model, a hot "
        "machine, or other programs beside it."
    ),
    "word.memory": "memory",
    "gloss.memory": (
        "peak = weights + gradients + moments + activations\n"
        "The peak is the most that was held at once; active is held now, between steps: "
        "weights and moments. The limit is what MLX may take of this machine."
    ),
    "word.moments": "AdamW moments",
    "gloss.moments": (
        "m ← β₁·m + (1 − β₁)·g;  v ← β₂·v + (1 − β₂)·g²\n"
        "Two running means for each weight, of its gradient and of the square. A step goes "
        "by m / √v. Together they take twice the memory of the weights."
    ),
    "word.state": "state",
    "gloss.state": (
        "● running ‖ paused ✓ finished ■ stopped ○ interrupted ✗ diverged\n"
        "Stopped: it was told to, and saved. Interrupted: its process is gone. Diverged: its "
        "loss became no number. {press[train.resume]} goes on with any of these three."
    ),
    "word.guessing": "ln V, unigram, bigram",
    "gloss.guessing": (
        "ln V;  −Σ p(t) ln p(t);  the same given the token before\n"
        "What guessing costs: blindly among V tokens, by how often each comes, by what "
        "follows what. Below the bigram line the model uses more than one token of context."
    ),
    "word.logits": "logits",
    "gloss.logits": (
        "p = softmax(z)\nThe scores z of all tokens before they become probabilities."
    ),
    "word.temperature": "temperature",
    "gloss.temperature": (
        "softmax(z / T)\n"
        "Below 1 the likely becomes likelier, above 1 all tokens come closer; at 0 the "
        "likeliest always comes."
    ),
    "word.top_k": "top-k",
    "gloss.top_k": "rank ≤ k\nOnly the k likeliest tokens may come; off: all.",
    "word.top_p": "top-p",
    "gloss.top_p": (
        "fewest tokens with sum of p ≥ top-p\n"
        "Only the likeliest tokens that together have this probability may come."
    ),
    "word.min_p": "min-p",
    "gloss.min_p": (
        "p ≥ min-p · largest p\nOnly tokens with at least this share of the likeliest may come."
    ),
    "word.repetition_penalty": "repetition penalty",
    "gloss.repetition_penalty": (
        "z / r if z > 0, else z · r\nScores of tokens that were used already become smaller."
    ),
    "word.max_tokens": "most tokens",
    "gloss.max_tokens": (
        "number of new tokens ≤ n\n"
        "The text ends after so many tokens, or before that where the model ends it."
    ),
    "word.samples": "samples side by side",
    "gloss.samples": (
        "chance of sample i = f(seed, i)\n"
        "So many texts from one prompt, each with chances of its own; the same seed gives "
        "them all again."
    ),
    "word.rivals": "rivals",
    "gloss.rivals": (
        "p = softmax(z);  now = p after T, top-k, top-p, min-p, rep\n"
        "What could have come in the place of a token, the likeliest first: as the model "
        "thinks, and as the dials leave it."
    ),
    "word.stream": "residual stream",
    "gloss.stream": (
        "x ← x + part(x)\n"
        "The vector that stands for a token. Every part of the model reads it and adds to it."
    ),
    "word.attention": "attention",
    "gloss.attention": (
        "softmax(q·k / √d_head) · v\n"
        "Each token asks (q), compares with what the others offer (k), and mixes what they "
        "hand over (v). The causal mask leaves it only those before it, and itself."
    ),
    "word.head": "attention head",
    "gloss.head": (
        "d_head = d_model / n_heads\n"
        "Attention looks n_heads times at once: each head has queries, keys and values of "
        "d_head numbers of its own, and looks at something else."
    ),
    "word.rope": "RoPE",
    "gloss.rope": (
        "angle = position · base^(−2j / d)\n"
        "Rotates pair j of q and k with the position, so that q·k depends on how far apart "
        "two tokens are."
    ),
    "word.lens": "logit lens",
    "gloss.lens": (
        "softmax(W · norm(x after block n))\n"
        "Reads the stream out as if the model ended after block n."
    ),
    "word.cone": "light cone",
    "gloss.cone": (
        "|row(prompt) − row(changed prompt)|\n"
        "Where a changed token is felt. With causal attention nothing before it changes."
    ),
    "word.account": "logit account",
    "gloss.account": (
        "z = Σ W · (what each part wrote)\n"
        "A logit is a sum over the stream, so each part has its share of it."
    ),
    "word.gradients": "gradients",
    "gloss.gradients": (
        "g = ∂loss / ∂w\n"
        "By how much the loss would grow if a weight did. Where g is long, this text would "
        "change the weights most."
    ),
    "card.allowed": "allowed: {choices}",
    "card.preset": "the preset has {value}",
    "card.other": "with {value}: {changes}",
}
