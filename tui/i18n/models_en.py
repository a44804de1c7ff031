"""The words of the pages that ask a model, in English, by key."""

EN = {
    "worker.ended": (
        "The process that holds the model has ended: {how}. It starts again with the next question."
    ),
    "worker.code": "code {code}",
    "inside.waiting": (
        "{name} has no checkpoint yet: press {press[app.train]}, then {press[train.save]} to "
        "save one now, or wait for the first."
    ),
    "inside.ended": (
        "{name} ended before its first checkpoint, so there is no model of it. Press "
        "{press[app.train]}, then {press[train.resume]} to train it from its start."
    ),
    "inside.diverged": (
        "{name} diverged before its first checkpoint, so there is no model of it. Press "
        "{press[app.train]}, then {press[train.resume]} to train it from its start with a "
        "lower learning rate."
    ),
    "inside.gone": "The folder of {name} is gone. Press {press[app.runs]} to choose another run.",
    "inside.loading": "The model is being loaded.",
    "trainer.gone": "The trainer of {name} has ended.",
    "recorded.missing": "The recording {path} is missing or damaged; install mlx-gpt again.",
    "recorded.absent": "This is a recording, and this was not recorded.",
    "recorded.unknown": (
        "This is a recording. It answers to: {prompts}. For prompts of your own train a model: "
        "press {press[app.runs]}, then {press[runs.built_in]}."
    ),
    "sample.placeholder": "a prompt; {press[line.take]} samples, {press[prompt.leave]} leaves",
    "sample.start": (
        "Press {press[sample.prompt]} to write a prompt, or {press[sample.generate]} to begin "
        "a text from nothing."
    ),
    "sample.empty": (
        "No model to talk to yet.\n"
        "\n"
        "  {press[app.runs]:<3} the runs: press {press[runs.built_in]} there to train a first "
        "model\n"
        "  {press[app.new]:<3} a new run of your own\n"
        "\n"
        "mlx-gpt tui MODEL opens a model by its name or folder."
    ),
    "sample.no_model": (
        "There is no model to talk to: press {press[app.runs]}, then {press[runs.built_in]} to "
        "train one."
    ),
    "sample.seed": "seed",
    "sample.of": "{place} ({press[sample.other]}: next)",
    "sample.count": "{count} tokens",
    "sample.running": "▌ {press[sample.stop]} stops",
    "sample.living": "{name} in training",
    "sample.at_step": "{name}, step {step}",
    "sample.off": "off",
    "sample.no_token": "Here stand the rivals of the token under the cursor.",
    "sample.surprise": "p {p} · {nats} nats",
    "sample.rivals": "{left} can come",
    "sample.now": "now",
    "sample.rep_note": "rep acts on the next text: these odds came without logits",
    "sample.note_living": (
        "{name} is in training: the command takes its newest checkpoint ({press[app.train]}, "
        "then {press[train.save]} saves one now)."
    ),
    "sample.note_tokens": (
        "The tokens that were chosen may not be those of this text: the command may go another way."
    ),
    "sample.note_last": "Of the samples that the command gives, the last is this one.",
    "finish.length": "limit reached",
    "finish.recorded": "end of recording",
    "finish.end": "end of text",
    "finish.failed": "failed",
    "finish.stopped": "stopped",
    "help.sample": (
        "The model continues a prompt. Each token has the colour of its probability; put the "
        "cursor on one with {press[sample.back]}/{press[sample.forward]} to see what else "
        "could have come, choose a rival with "
        "{press[sample.likelier]}/{press[sample.unlikelier]}, and go on from it with "
        "{press[sample.branch]}. The dials re-shape the bars at once: no new computation is "
        "needed for that. {press[sample.generate]} samples anew, {press[sample.again]} again "
        "with the same seed. A run in training answers itself, between two steps."
    ),
    "help.prompt": (
        "The text to be continued. {press[prompt.older]}/{press[prompt.newer]} bring back "
        "prompts of the past."
    ),
    "help.tokens": (
        "Tokens by their probability, as the model gave it before any filter: green is expected, "
        "yellow and red are surprises. Underlined: chosen by you. A click puts the cursor on one; "
        "rivals and dials can be clicked too."
    ),
    "help.rivals": (
        "p is what the model thinks; now is what the dials T, top-k, top-p, min-p and rep leave of "
        "it; × marks what may not come. ▶ stands before the token that came. ≈: rivals beyond "
        "those stored are taken as equally likely."
    ),
    "help.dials": (
        "T temperature · top-k the k likeliest · top-p the likeliest that sum to p · min-p a share "
        "of the likeliest · rep makes used tokens less likely · n most tokens · × samples "
        "side by side."
    ),
    "key.prompt.older": "older",
    "tip.prompt.older": "The prompt before",
    "key.prompt.newer": "newer",
    "tip.prompt.newer": "The prompt after",
    "key.prompt.leave": "leave",
    "tip.prompt.leave": "Back to the page",
    "key.sample.prompt": "prompt",
    "tip.sample.prompt": "Write a prompt",
    "key.sample.generate": "new text",
    "tip.sample.generate": "Sample with a new seed",
    "key.sample.again": "again",
    "tip.sample.again": "Sample with the same seed",
    "key.sample.stop": "stop",
    "tip.sample.stop": "Stop after this token",
    "key.sample.back": "token",
    "tip.sample.back": "The token before",
    "key.sample.forward": "token",
    "tip.sample.forward": "The next token",
    "key.sample.likelier": "rival",
    "tip.sample.likelier": "A likelier rival",
    "key.sample.unlikelier": "rival",
    "tip.sample.unlikelier": "A less likely rival",
    "key.sample.branch": "branch",
    "tip.sample.branch": "Put the rival in the token's place and go on from there",
    "key.sample.undo": "undo",
    "tip.sample.undo": "The samples before",
    "key.sample.dial": "dial",
    "tip.sample.dial": "Take the next dial in hand",
    "key.sample.dial_back": "dial",
    "tip.sample.dial_back": "Take the dial before in hand",
    "key.sample.more": "turn",
    "tip.sample.more": "Turn the dial up",
    "key.sample.less": "turn",
    "tip.sample.less": "Turn the dial down",
    "key.sample.other": "next text",
    "tip.sample.other": "The next of several samples",
    "key.sample.reset": "reset",
    "tip.sample.reset": "The dials as they were at first",
    "key.sample.first": "first",
    "tip.sample.first": "The first token",
    "key.sample.last": "last",
    "tip.sample.last": "The last token",
    "key.sample.trace": "trace",
    "tip.sample.trace": "Step through the model with the text up to the cursor",
    "trace.prompt": "a prompt; {press[line.take]} traces it, {press[prompt.leave]} leaves",
    "trace.empty": (
        "No model to look into yet.\n"
        "\n"
        "  {press[app.runs]:<3} the runs: press {press[runs.built_in]} there to train a first "
        "model\n"
        "  {press[app.new]:<3} a new run of your own\n"
        "\n"
        "mlx-gpt tui MODEL opens a model by its name or folder."
    ),
    "trace.wait": "The model is being loaded and traced.",
    "trace.busy": "being computed",
    "trace.from": "from",
    "trace.params": "weights",
    "trace.cost": "cost",
    "trace.axes": "axes",
    "trace.shape": "shape",
    "trace.numbers": "{count} numbers, {size}, {dtype}",
    "trace.mean": "mean",
    "trace.zeros": "zeros",
    "trace.norm": "norm",
    "trace.odd": "special",
    "trace.spread": "spread",
    "trace.float64": "float64",
    "trace.proof": "off by {rel}, at most {tol}",
    "trace.gap": (
        "Δ differs from the pass before by {gap} of its largest number (@: first position)"
    ),
    "trace.rows": "rows",
    "trace.ends": "hands on",
    "trace.memory": "memory",
    "trace.bad": "{name} is the first row that is not what its equation says.",
    "trace.cut": "first {count} tokens cut: context full",
    "trace.first": "first differs: {name}",
    "trace.parts": "from token {at} on: ‘{old}’ → ‘{new}’",
    "trace.same": "No row differs from the pass before.",
    "trace.living": "in training; {press[trace.reload]} takes the weights of now",
    "trace.stale": "{press[trace.reload]} loads a newer checkpoint",
    "trace.note_sound": "The command traces the model as it is, without {changes}.",
    "trace.note_living": (
        "It reads the weights of this moment, which are kept until {press[trace.reload]} or "
        "the end of the training."
    ),
    "view.row": "row",
    "view.values": "values",
    "view.attention": "attention",
    "view.lens": "logit lens",
    "view.cone": "light cone",
    "view.account": "logit account",
    "view.next": "next token",
    "view.rope": "RoPE",
    "view.gradients": "gradients",
    "view.source": "our code",
    "view.labs": "labs",
    "part.embedding": "embedding",
    "part.block": "block {layer}",
    "part.attention": "attention",
    "part.feed-forward": "feed-forward",
    "part.head": "head",
    "part.loss": "loss",
    "part.sampling": "choice of a token",
    "group.embedding": "Ids become vectors: the residual stream begins.",
    "group.block": (
        "One layer: attention moves information between tokens, the feed-forward network "
        "works on each alone. Both add to the stream."
    ),
    "group.attention": (
        "Every token asks (q), every token answers (k) and hands something over (v)."
    ),
    "group.feed-forward": "Each token alone: spread wide, bent, gathered again.",
    "group.head": "The stream is read out: a score for every token of the vocabulary.",
    "group.loss": "How surprised the model is by each token that really came.",
    "group.sampling": "From the last position's scores to the next token.",
    "lens.what": (
        "What the model would say if it stopped there, at position {position} ‘{token}’; |x| "
        "is the length of the stream's vector."
    ),
    "lens.after": "block {layer}",
    "cone.what": (
        "Another token in place of ‘{token}’ (position {position}): how much each position of "
        "each row changes. {press[trace.less]} and {press[trace.more]} move it."
    ),
    "account.what": (
        "The logit of ‘{token}’ at position {position}, as the sum of what every part writes "
        "for it:"
    ),
    "account.total": "sum",
    "account.logit": "logit",
    "account.error": "difference {error} of the largest",
    "attention.place": "block {layer}, head {head} of {heads}",
    "attention.note": (
        "Each row sums to 1: what that token looks at. {press[page.next]}, then arrows: read a "
        "cell."
    ),
    "attention.cell": "‘{a}’ ({at}) looks at ‘{b}’ ({of}): {weight}",
    "labs.none": (
        "{press[trace.break]} chooses a mistake; the labs then say which of them notice it."
    ),
    "labs.choose": "Which mistake shall the model have? ({press[trace.restore]} takes it back)",
    "labs.running": "{done} labs have looked …",
    "labs.caught": "Noticed by: {labs}",
    "labs.at_most": "{what}: {found}, allowed up to {high}",
    "labs.at_least": "{what}: {found}, expected at least {low}",
    "labs.between": "{what}: {found}, expected from {low} to {high}",
    "source.none": "Our source does not name this row.",
    "rope.none": (
        "RoPE turns queries and keys: stand on q_rot or k_rot of a block. A model without "
        "RoPE has neither."
    ),
    "rope.what": (
        "Dimensions {pair} and {other} turn together; {press[trace.less]} and "
        "{press[trace.more]} take the next pair."
    ),
    "rope.speed": "angle = position · {speed} radians; slow pairs tell far places apart",
    "next.what": "The likeliest next tokens, before any filter:",
    "next.changed": "The likeliest next tokens: grey the model as it is, then with the change:",
    "gradients.what": "How long the gradient of this text's loss ({loss}) is:",
    "gradients.note": (
        "Inside the block of the cursor: each weight, and the gradient as a share of it."
    ),
    "quiz.ask": "to be guessed",
    "quiz.line": "shape of {name}: names or numbers, as in B T d_model",
    "quiz.next": "{press[answer.check]}: next row",
    "quiz.score": "{right} of {asked} right",
    "quiz.right": "Right: {answer}.",
    "quiz.count": "It has {count} axes, not {given}: {answer}.",
    "quiz.axis": "Axis {number} is {expected}, not {given}:",
    "axis.B": "sequences",
    "axis.T": "new tokens",
    "axis.S": "keys: all tokens so far",
    "axis.P": "positions whose next token is known",
    "axis.V": "tokens of the vocabulary",
    "axis.d_model": "width of the stream",
    "axis.n_heads": "heads",
    "axis.n_kv_heads": "heads of keys and values",
    "axis.d_head": "width of a head",
    "axis.d_ff": "features of the feed-forward network",
    "help.tree": (
        "The forward pass in the order it runs. {press[trace.step]} steps to the next line, "
        "{press[trace.into]} goes into a group, {press[trace.out]} out of it, "
        "{press[trace.block]} to the next block. ✓ the row is what its equation says, proved "
        "in float64; ✗ it is not; Δ it differs from the pass before: by which share of its "
        "largest number, and @ from which token on. With the causal mask no token before the "
        "changed one differs."
    ),
    "help.row": (
        "What the row is: its equation, in words, its axes and sizes, cost, statistics, and "
        "how far it is from float64 arithmetic."
    ),
    "help.answer": (
        "The shape of the row, its axes as names or numbers: B T d_model, or 1 16 96. "
        "{press[answer.check]} compares it; {press[answer.next]} and {press[answer.back]} go "
        "to other rows, {press[answer.leave]} ends."
    ),
    "help.view": (
        "The chosen view; {press[trace.view]} goes to the next one. In a table of numbers "
        "{press[page.next]} and the arrow keys read a single cell, {press[trace.wide]} takes "
        "the whole width. The labs are checks of small models that are given the mistake: ✗ "
        "names what noticed it, with the figure measured and the one allowed; ✓ noticed "
        "nothing, as the mistake does not show there; – cannot be done with this model. NaN: "
        "the figure is no number."
    ),
    "key.menu.pick": "choose",
    "tip.menu.pick": "This one",
    "key.menu.up": "up",
    "tip.menu.up": "The one above",
    "key.menu.down": "down",
    "tip.menu.down": "The one below",
    "key.menu.page_up": "page up",
    "tip.menu.page_up": "A page up",
    "key.menu.page_down": "page down",
    "tip.menu.page_down": "A page down",
    "key.menu.first": "first",
    "tip.menu.first": "The first",
    "key.menu.last": "last",
    "tip.menu.last": "The last",
    "key.cell.left": "cell",
    "tip.cell.left": "The cell to the left",
    "key.cell.right": "cell",
    "tip.cell.right": "The cell to the right",
    "key.cell.up": "cell",
    "tip.cell.up": "The cell above",
    "key.cell.down": "cell",
    "tip.cell.down": "The cell below",
    "key.scroll.up": "scroll",
    "tip.scroll.up": "Scroll the text up",
    "key.scroll.down": "scroll",
    "tip.scroll.down": "Scroll the text down",
    "key.answer.check": "check",
    "tip.answer.check": "Compare the answer; an empty line goes on",
    "key.answer.next": "next row",
    "tip.answer.next": "The next row",
    "key.answer.back": "row before",
    "tip.answer.back": "The row before",
    "key.answer.leave": "end quiz",
    "tip.answer.leave": "Show the shapes again",
    "key.trace.step": "step",
    "tip.trace.step": "The next line",
    "key.trace.back": "step",
    "tip.trace.back": "The line before",
    "key.trace.into": "into",
    "tip.trace.into": "Into the group; on a row, to its numbers",
    "key.trace.out": "out",
    "tip.trace.out": "Out of the group",
    "key.trace.block": "block",
    "tip.trace.block": "The next part of the model",
    "key.trace.block_back": "block",
    "tip.trace.block_back": "The part of the model before",
    "key.trace.view": "view",
    "tip.trace.view": (
        "The next view: values, attention, lens, cone, account, next token, RoPE, gradients, "
        "our code, labs"
    ),
    "key.trace.view_back": "view",
    "tip.trace.view_back": "The view before",
    "key.trace.less": "move",
    "tip.trace.less": "Head, index or position before",
    "key.trace.more": "move",
    "tip.trace.more": "Next head, index or position",
    "key.trace.edit": "prompt",
    "tip.trace.edit": "Another prompt; shows the first row that differs",
    "key.trace.break": "break",
    "tip.trace.break": "Choose a mistake and see which labs notice",
    "key.trace.zero": "zero",
    "tip.trace.zero": "Set the row, part or head to zero and trace again",
    "key.trace.restore": "restore",
    "tip.trace.restore": "The model as it is",
    "key.trace.quiz": "quiz",
    "tip.trace.quiz": "Guess the shapes",
    "key.trace.pair": "axes",
    "tip.trace.pair": "Other axes as the table",
    "key.trace.hold": "index",
    "tip.trace.hold": "Another axis to move along",
    "key.trace.marks": "marks",
    "tip.trace.marks": "Numbers, blocks, half blocks or signs",
    "key.trace.wide": "wide",
    "tip.trace.wide": "The whole width for the view",
    "key.trace.values": "values",
    "tip.trace.values": "The numbers of the row",
    "key.trace.attention": "attention",
    "tip.trace.attention": "Who looks at whom",
    "key.trace.lens": "lens",
    "tip.trace.lens": "What the model would say after each block",
    "key.trace.cone": "cone",
    "tip.trace.cone": "Where a changed token is felt",
    "key.trace.account": "account",
    "tip.trace.account": "What a logit is made of",
    "key.trace.source": "code",
    "tip.trace.source": "The function of ours that makes this row",
    "key.trace.next": "next token",
    "tip.trace.next": "What comes next; beside it, without the change",
    "key.trace.rope": "RoPE",
    "tip.trace.rope": "On q_rot or k_rot: how a pair of dimensions turns",
    "key.trace.gradients": "gradients",
    "tip.trace.gradients": "The gradient of the loss, part by part",
    "key.trace.row": "row",
    "tip.trace.row": "What the row is",
    "key.trace.left": "table",
    "tip.trace.left": "The table to the left",
    "key.trace.right": "table",
    "tip.trace.right": "The table to the right",
    "key.trace.upward": "table",
    "tip.trace.upward": "The table upwards",
    "key.trace.downward": "table",
    "tip.trace.downward": "The table downwards",
    "key.trace.reload": "reload",
    "tip.trace.reload": "Load the newest checkpoint",
    "key.trace.leave": "leave",
    "tip.trace.leave": "Out of the quiz, or back to the row",
}
