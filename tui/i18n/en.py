"""The words of the app in English, by key."""

EN = {
    "page.runs": "Runs",
    "page.train": "Train",
    "page.sample": "Sample",
    "page.trace": "Trace",
    "page.new": "New run",
    "page.side": "side by side",
    "app.too_small": (
        "The terminal has {width} columns and {height} rows; make it at least 80 by 24."
    ),
    "app.copied": "Copied ({press[app.save]} writes it into a file):",
    "app.saved": "Added to {path}",
    "app.keymap": "Written: {path}. Change keys there, then start the app again.",
    "app.goes_on": "{names}: the training goes on; {again} shows it again",
    "tour.0": (
        "This is a recorded training, played ten times as fast. {press[app.tour]}: the guided "
        "tour of ten stations; {press[app.end_tour]} hides this line."
    ),
    "tour.1": (
        "The curve is the loss: how surprised the model is by the next token. "
        "{press[train.back]} goes back through the evaluations. {press[app.tour]}: next"
    ),
    "tour.2": (
        "Dashed: what guessing costs, blindly (ln V), by frequency (unigram), by pairs "
        "(bigram). Below them it uses more context. {press[app.tour]}: next"
    ),
    "tour.3": (
        "Under the chart the model continues the same prompts at each evaluation; "
        "{press[train.pane]} colours a text by its surprise. {press[app.tour]}: next"
    ),
    "tour.4": (
        "All runs stand here. {press[runs.mark]} marks some, to lay their curves over each "
        "other; {press[runs.built_in]} trains one in minutes. {press[app.tour]}: next"
    ),
    "tour.5": (
        "{press[sample.generate]} lets the model write. Green tokens were expected, yellow and "
        "red ones are surprises. {press[app.tour]}: next"
    ),
    "tour.6": (
        "{press[sample.back]} goes to a token of the text ({press[sample.generate]} writes one); "
        "the bars show its rivals. To go on from one ({press[sample.branch]}) you need a model of "
        "your own. {press[app.tour]}: next"
    ),
    "tour.7": (
        "{press[sample.dial]} takes a dial in hand, {press[sample.more]} turns it: "
        "temperature, top-k … The bars follow without a new computation. {press[app.tour]}: "
        "next"
    ),
    "tour.8": (
        "The same model, operation by operation: {press[trace.step]} steps. "
        "{press[trace.attention]}: who looks at whom; {press[trace.lens]}: what each block "
        "would say. {press[app.tour]}: next"
    ),
    "tour.9": (
        "{press[trace.break]} breaks the model on purpose, and the labs say which of them "
        "notice; {press[trace.restore]} mends it. {press[app.tour]}: next"
    ),
    "tour.10": (
        "Your own run: a preset, your texts, the settings, and what it costs. "
        "{press[new.start]} starts it. {press[app.tour]} ends the tour."
    ),
    "key.app.tour": "tour",
    "tip.app.tour": "Guided tour of the recorded run: the next station",
    "key.app.end_tour": "end tour",
    "tip.app.end_tour": "Leave the guided tour",
    "recorded.prompts": (
        "recorded: {prompts}; {press[prompt.older]}/{press[prompt.newer]} bring them"
    ),
    "app.how_to_quit": "Press {press[app.quit]} to leave; trainings go on.",
    "keyboard.space": "space",
    "keyboard.tab": "tab",
    "keyboard.home": "home",
    "keyboard.end": "end",
    "keyboard.pgup": "pgup",
    "keyboard.pgdn": "pgdn",
    "keyboard.del": "del",
    "keyboard.shift+tab": "shift+tab",
    "ask.yes_or_no": "{press[ask.yes]}: yes    {press[ask.no]}: no",
    "help.keys": "Keys",
    "launch.begun": "The training is being prepared; it appears here when its first step begins.",
    "launch.first": "it starts",
    "launch.twice": "This training is being prepared already.",
    "launch.unseen": "{name} has begun; when you are done here, {press[app.train]} shows it.",
    "battery.draining": (
        "The training runs on battery ({percent} %). Plug the machine in, or let it rest half "
        "of the time ({press[app.train]}, then {press[train.eco]})."
    ),
    "battery.eco": "The training runs on battery ({percent} %). Plug the machine in when you can.",
    "battery.low": (
        "Only {percent} % of the battery is left: plug the machine in now, or save and stop "
        "the training ({press[app.train]}, then {press[train.stop]})."
    ),
    "stage.learning": "learning pieces",
    "stage.reading": "reading",
    "stage.tokenising": "tokenising",
    "palette.open": "Open",
    "palette.search": "Search the commands …",
    "palette.theme": "Theme",
    "palette.theme.tip": "Choose colours",
    "palette.keymap": "Write a keymap file",
    "palette.keymap.tip": "A TOML file in which every key can be changed",
    "palette.screenshot": "Screenshot",
    "palette.screenshot.tip": "Save the screen as SVG",
    "state.running": "running",
    "state.paused": "paused",
    "state.finished": "finished",
    "state.stopped": "stopped",
    "state.interrupted": "interrupted",
    "state.diverged": "diverged",
    "state.gone": "folder gone",
    "column.mark": "",
    "column.name": "name",
    "column.state": "state",
    "column.step": "step",
    "column.loss": "loss",
    "column.val": "val",
    "column.speed": "tok/s",
    "column.age": "age",
    "chart.train": "train",
    "chart.val": "val",
    "chart.mean": "mean",
    "chart.step": "step",
    "chart.more": "+{count} more",
    "chart.bits": "bits/char",
    "chart.set": "set to",
    "chart.peak": "peak",
    "chart.active": "active",
    "chart.limit": "limit",
    "metric.loss": "loss",
    "metric.lr": "learning rate",
    "metric.grad_norm": "gradient norm",
    "metric.tokens_per_second": "tokens/s",
    "metric.memory": "memory",
    "curve.loss": "training loss",
    "curve.val_loss": "validation loss",
    "status.left": "{time} left",
    "status.eco": "eco",
    "status.best": "best saved",
    "status.by_step": "step by step",
    "status.planned": "estimated {size}",
    "status.memory": "mem",
    "runs.filter": "name, state, or a condition: lr>=1e-3  val<2  model.n_layers=4",
    "runs.empty": (
        "No runs in {folder} yet.\n"
        "\n"
        "  {press[runs.built_in]:<3} train the built-in stories now: a few minutes\n"
        "  {press[runs.new]:<3} fill in the form of a new run: your text, your settings\n"
        "  {press[runs.demo]:<3} watch a recorded run: no training, no MLX\n"
        "\n"
        "  {press[app.help]:<3} what all the keys do      {press[app.language]}   español"
    ),
    "runs.nothing": "No run matches “{words}”; {press[runs.clear]} clears the filter.",
    "runs.misfit": (
        "“{word}” compares nothing that a run has with a number, as val<2 does; "
        "{press[runs.clear]} clears the filter."
    ),
    "runs.none": "No run is chosen.",
    "runs.rename": "New name of {name}",
    "runs.rename_alive": "{name} is being trained: rename it when it has ended.",
    "runs.taken": "{name} exists already; give another name",
    "runs.delete": "Delete {name} with its checkpoints for good?\n{path}",
    "runs.delete_alive": (
        "{name} is being trained: stop it first ({press[app.train]}, then {press[train.stop]})."
    ),
    "runs.deleted": "Deleted {name}.",
    "runs.folder_shown": "{path}\nThe path is copied, and {program} is asked to show it.",
    "runs.folder_copied": "{path}\nThe path is copied. There is no {program} to show it.",
    "runs.settings": "settings",
    "runs.differences": "differences",
    "runs.setting": "setting",
    "runs.same": "No setting differs.",
    "side.how": "Mark another run with {press[runs.mark]}: two to four can stand side by side.",
    "side.most": "{most} runs have room side by side: these are the first of the {count}.",
    "side.step": "step {step}",
    "side.older": "step {step}, its last until then",
    "side.silent": "Not asked yet by that step.",
    "side.unasked": "This run is not asked this prompt.",
    "side.no_probe": "No samples yet: they come with each evaluation.",
    "side.no_model": "There is no checkpoint of it, and so no model to look into.",
    "side.place": "block {layer}, head {head}",
    "side.fewer": "It has {layers} × {heads} heads: this is block {layer}, head {head}.",
    "side.note_two": "The command compares two: the first two of these.",
    "resume.alive": "{name} is being trained already.",
    "resume.steps": (
        "{name} has done its {steps} steps. How many shall it have in all? (a new cosine over"
        " all of them)"
    ),
    "resume.number": "{text!r} is no number of steps; give a whole number above 0",
    "train.empty": (
        "No run to show yet.\n"
        "\n"
        "  {press[app.runs]:<3} the runs: press {press[runs.built_in]} there to train a first "
        "one\n"
        "  {press[app.new]:<3} a new run of your own"
    ),
    "train.none": "No run is chosen: press {press[app.runs]}.",
    "train.not_alive": "{name} is not being trained; {press[train.resume]} goes on with it.",
    "train.prompt": "Prompt that the model continues as it is now",
    "pane.probes": "samples",
    "pane.surprise": "surprise",
    "pane.log": "log",
    "pane.plan": "plan",
    "plan.none": "The settings of this run cannot be read.",
    "plan.estimated": "estimated",
    "plan.measured": "measured",
    "plan.time_of": "time, {steps} steps",
    "plan.projected": "≈: the time so far and what is left at the pace of now.",
    "plan.eco": "With eco it rests as long as it works, and its time counts the rests.",
    "plan.peak": "peak memory",
    "plan.resting": "between steps",
    "plan.own_speed": "Pace as of other runs of this size here.",
    "plan.typical_speed": "Pace as of two CPU cores.",
    "plan.dash": (
        "–: not measured by itself. The peak holds all parts; between steps there are weights and "
        "moments."
    ),
    "memory.weights": "weights",
    "memory.gradients": "gradients",
    "memory.moments": "AdamW moments",
    "memory.activations": "activations",
    "probe.place": "step {step} ({at} of {count})",
    "probe.none": (
        "At each evaluation of its own, every {every} steps, the model continues the same "
        "prompts; they appear here."
    ),
    "probe.ask": "{press[train.sample]}: ask now.",
    "probe.saved": "{press[app.sample]}: let what was saved write.",
    "probe.over": "No samples were taken.",
    "probe.no_prompts": "Its settings name no prompts to continue (train.probe_prompts).",
    "probe.measured": (
        "The evaluation asked for at step {step} gave the loss alone; samples and surprise come "
        "with the run's own."
    ),
    "probe.asked": "asked",
    "probe.asked_at": "asked at {step}",
    "surprise.none": (
        "At each evaluation a fixed validation text is coloured here by how unexpected each "
        "token is."
    ),
    "surprise.place": "step {step}, mean {mean} nats",
    "log.none": "No events yet.",
    "event.started": "training from step {step} of {steps}",
    "event.paused": "paused at step {step}",
    "event.resumed": "goes on from step {step}",
    "event.eco": "eco off from step {step}",
    "event.eco.on": "eco on from step {step}: rests as long as it works",
    "event.checkpoint": "saved step {step}",
    "event.checkpoint.best": "saved step {step}, the best so far",
    "event.warning": "warning: {message}",
    "event.error": "error: {message}",
    "event.ack.refused": "refused: {message}",
    "event.ack.pause": "paused at step {step}",
    "event.ack.resume": "goes on from step {step}",
    "event.ack.save": "saved step {step}",
    "event.ack.stop": "stopping at step {step}, and saving it",
    "event.ack.eval": "evaluated at step {step}",
    "event.ack.snapshot": "the weights of step {step} are set apart to be looked at",
    "event.ack.eco": "eco off from step {step}",
    "event.ack.eco.on": "eco on from step {step}: it rests as long as it works",
    "event.ack.sample": "the model of step {step} answers",
    "event.sample_end": "asked at step {step}: {prompt}│{text}",
    "event.finished.done": "all {step} steps are done",
    "event.finished.early": "ended at step {step}: validation no longer improved",
    "event.finished.stopped": "stopped and saved at step {step}",
    "event.finished.replayed": "the replay is stopped at step {step}",
    "event.finished.diverged": "diverged at step {step}; the weights of that step are not kept",
    "advice.gone": "The folder of this run is gone.",
    "advice.stopped": (
        "Stopped and saved at step {step} of {total}; {press[train.resume]} goes on from there."
    ),
    "advice.replay_stopped": (
        "The replay is stopped at step {step} of {total}; {press[train.resume]} plays it again "
        "from the start."
    ),
    "advice.paused": "Paused at step {step} of {total}: it waits for you.",
    "advice.by_step": "Step by step: the replay waits at step {step} of {total}.",
    "advice.asked.pause": "Asked to pause; waiting for the step to end.",
    "advice.asked.resume": "Asked to go on; waiting for the trainer.",
    "advice.asked.save": "Asked to save; waiting for the step to end.",
    "advice.asked.eval": "Asked to evaluate; waiting for the step to end.",
    "advice.asked.sample": "Asked for a sample; waiting for the step to end.",
    "advice.asked.eco.on": "Asked to rest after each step; waiting for the step to end.",
    "advice.asked.eco.off": "Asked to rest no longer; waiting for the step to end.",
    "advice.asked.stop": "Asked to stop; waiting for the step to end, then it is saved.",
    "advice.slowed": (
        "{now} tokens/s, {fall} slower than this run usually is ({usual}): another program or "
        "heat. Close what computes, or let it cool."
    ),
    "advice.preparing": "A training is being prepared: {stage}",
    "advice.diverged": (
        "It diverged at step {step}. {press[train.resume]} goes on from the last good "
        "checkpoint with train.lr={lr}."
    ),
    "advice.diverged_early": (
        "It diverged at step {step}, before the first checkpoint. {press[train.resume]} begins "
        "again with train.lr={lr}."
    ),
    "advice.interrupted": "The trainer is gone at step {step} of {total}; nothing saved is lost.",
    "advice.not_finite": (
        "The loss is no number at step {step}. Stop, then go on with train.lr={lr}."
    ),
    "advice.too_fast": (
        "The loss climbs ({lowest} → {now}): the learning rate is too high. Try train.lr={lr}."
    ),
    "advice.overfitting": (
        "Overfitting: validation was {best} at step {step} and is {now} now. What was saved then "
        "is kept."
    ),
    "advice.starved": (
        "The text ({tokens} tokens) will be seen {epochs} times: more text helps more than "
        "more steps."
    ),
    "advice.plateau": (
        "Plateau: {loss}, hardly better than {steps} steps ago. More steps will change little."
    ),
    "advice.first_loss": "The untrained loss should be about ln V = {expected}: it is {got} ✓",
    "advice.odd_first_loss": (
        "The untrained loss should be about ln V = {expected}, but it is {got}: look at the "
        "initialisation."
    ),
    "advice.finished": (
        "Finished at step {step}; validation loss of the best saved: {best}. Now talk to it."
    ),
    "advice.waiting": "The first steps are being computed.",
    "advice.learning": "Learning: the loss fell by {fall} in the last {steps} steps.",
    "help.runs": (
        "All runs in the folder, living ones first, or sorted by a column: {press[runs.sort]} "
        "takes the next one, {press[runs.reverse]} turns the order round, a click on a head "
        "does both. {press[table.open]} opens a run. Mark several with {press[runs.mark]}: "
        "their curves lie over each other below, each with the letter of its row, and what "
        "differs in their settings stands beside them; {press[runs.compare]} puts two to four "
        "side by side, with what they say and where they look. {press[runs.outliers]} takes in "
        "outliers, as the losses of a run that diverged. {press[runs.clear]} takes the filter "
        "away, pressed again the marks."
    ),
    "help.table": "The table: a run a line. The figures are the newest the run has written.",
    "help.settings": "What the chosen run is; with several, only the settings that differ.",
    "help.side": (
        "Two to four runs, a column each, with the letter of their curve. {press[side.view]} "
        "goes from their samples to their attention, their curves and the settings in which "
        "they differ; a tall terminal shows two of these at once. "
        "{press[side.back]}/{press[side.forward]} move through the steps at which any of the "
        "runs was asked. {press[side.outliers]} takes outliers into the curves, as the losses of "
        "a run that diverged."
    ),
    "help.beside": (
        "What each run made of the same prompt at the same step, with its losses there; where it "
        "was asked earlier, that step is told. Underlined is what the first run does not say, and "
        "in the first what the second does not."
    ),
    "help.maps": (
        "Who looks at whom in the same head of each run, over the same prompt: a row for each "
        "token, a column for each that it looks at. It is that of the best checkpoint, of a "
        "run in training the newest; {press[side.reload]} asks again. Below stands what the "
        "last token looks at most."
    ),
    "help.train": (
        "The run in hand. The large chart shows the loss: a band from the lowest to the "
        "highest step, the smoothed mean over it, validation as dots. The dashed lines are "
        "what guessing costs: blindly (ln V), by how often each token comes (unigram), by what "
        "follows what (bigram). {press[train.back]}/{press[train.forward]} move a cursor "
        "through the evaluations and the samples asked for; what stands below moves along. A "
        "click in a chart puts it there, the wheel looks closer. The title gives the values at "
        "the cursor: in nats, in bits a character of text, and as perplexity."
    ),
    "help.status": (
        "State, progress, time left at the pace of the last minute, eco where it rests after "
        "each step; the newest losses, the best of the run's own evaluations, whose weights are "
        "saved (one asked for keeps nothing), learning rate, gradient norm, and peak memory beside "
        "what was estimated for the run."
    ),
    "help.chart": (
        "Curves over the steps. The title gives the value of each at the cursor, which is the last "
        "known up to that step, or at its end. In a range that outliers do not set, ⋯12 in the "
        "title says that 12 values lie outside. A red ✗ on the axis is a step whose value is no "
        "number."
    ),
    "help.probes": (
        "The same prompts, continued with the same seed at each evaluation. Underlined is "
        "what the evaluation before did not say."
    ),
    "help.surprise": (
        "A fixed text from the validation part. The colour of a token is the probability the "
        "model gave it; see letters, then words, then accents being learnt."
    ),
    "help.log": "What the training has told, in order.",
    "help.plan": (
        "What the run was estimated to need, what it was measured to need, and how many times "
        "the estimate that is. Of the memory only two sums are measured: the peak of a step, "
        "and what stays between steps, which are weights and moments."
    ),
    "help.sample": "Text from the model in hand.",
    "help.trace": "The forward pass, step by step.",
    "help.new": (
        "A new run: choose a preset, change what you like, start. A fault is named beside its"
        " setting."
    ),
    "key.app.help": "help",
    "tip.app.help": "Explain what has the focus, and every key",
    "key.app.card": "explain",
    "tip.app.card": "What is in hand, on a card: its formula and what it means",
    "key.card.back": "other word",
    "tip.card.back": "The card before",
    "key.card.next": "other word",
    "tip.card.next": "The next card",
    "key.card.help": "help",
    "tip.card.help": "Every key and word of the page",
    "key.card.close": "close",
    "tip.card.close": "Back to the page",
    "key.app.copy": "copy cmd",
    "tip.app.copy": "Copy the command line that does what this page shows",
    "key.app.save": "save cmd",
    "tip.app.save": "Write that command line into a file",
    "key.app.language": "español",
    "tip.app.language": "Switch to Spanish, from now on",
    "key.app.theme": "light/dark",
    "tip.app.theme": "Switch between light and dark, from now on",
    "key.app.runs": "runs",
    "tip.app.runs": "All runs",
    "key.app.train": "train",
    "tip.app.train": "The run in hand",
    "key.app.sample": "sample",
    "tip.app.sample": "Talk to the model",
    "key.app.trace": "trace",
    "tip.app.trace": "Step through the model",
    "key.app.new": "new run",
    "tip.app.new": "The form of a new run",
    "key.app.palette": "commands",
    "tip.app.palette": "Search every command by name",
    "key.app.quit": "quit",
    "tip.app.quit": "Leave; trainings go on",
    "key.line.take": "take",
    "tip.line.take": "Take what is typed",
    "key.ask.cancel": "cancel",
    "tip.ask.cancel": "Leave without an answer",
    "key.ask.yes": "yes",
    "tip.ask.yes": "Do it",
    "key.ask.no": "no",
    "tip.ask.no": "Leave it",
    "key.reading.close": "close",
    "tip.reading.close": "Back to the page",
    "key.table.open": "open",
    "tip.table.open": "Watch the run under the cursor",
    "key.table.up": "up",
    "tip.table.up": "The run above",
    "key.table.down": "down",
    "tip.table.down": "The run below",
    "key.table.page_up": "page up",
    "tip.table.page_up": "A page up",
    "key.table.page_down": "page down",
    "tip.table.page_down": "A page down",
    "key.table.top": "top",
    "tip.table.top": "The first run",
    "key.table.bottom": "bottom",
    "tip.table.bottom": "The last run",
    "key.runs.built_in": "built-in run",
    "tip.runs.built_in": "Train the built-in stories: a few minutes",
    "key.runs.demo": "demo",
    "tip.runs.demo": "Replay a recorded run, without MLX",
    "key.runs.mark": "mark",
    "tip.runs.mark": "Compare this run with others",
    "key.runs.compare": "compare",
    "tip.runs.compare": "Two to four runs side by side: samples, attention, curves, settings",
    "key.side.view": "view",
    "tip.side.view": "Samples, attention, curves or settings",
    "key.side.back": "scrub",
    "tip.side.back": "To the step before at which any of them was asked",
    "key.side.forward": "scrub",
    "tip.side.forward": "To the next step at which any of them was asked",
    "key.side.now": "newest",
    "tip.side.now": "To the newest step",
    "key.side.probe": "sample",
    "tip.side.probe": "The next of the prompts that they continue",
    "key.side.probe_back": "sample",
    "tip.side.probe_back": "The prompt before",
    "key.side.block": "block",
    "tip.side.block": "The next block",
    "key.side.block_back": "block",
    "tip.side.block_back": "The block before",
    "key.side.less": "head",
    "tip.side.less": "The head before",
    "key.side.more": "head",
    "tip.side.more": "The next head",
    "key.side.edit": "prompt",
    "tip.side.edit": "Another prompt for all of them to look at",
    "key.side.marks": "marks",
    "tip.side.marks": "Numbers, blocks, half blocks or signs",
    "key.side.curve": "train/val",
    "tip.side.curve": "Training or validation loss",
    "key.side.outliers": "outliers",
    "tip.side.outliers": "A range that outliers do not set; ⋯12 in a title: 12 values outside",
    "key.side.left": "table",
    "tip.side.left": "The tables to the left",
    "key.side.right": "table",
    "tip.side.right": "The tables to the right",
    "key.side.upward": "table",
    "tip.side.upward": "The tables upwards",
    "key.side.downward": "table",
    "tip.side.downward": "The tables downwards",
    "key.side.reload": "ask again",
    "tip.side.reload": "Ask each model once more",
    "key.side.leave": "leave",
    "tip.side.leave": "Back to the table of runs",
    "key.runs.filter": "filter",
    "tip.runs.filter": "Show only runs with these words or conditions",
    "key.runs.sort": "sort",
    "tip.runs.sort": "Sort by the next column; after the last, living runs first again",
    "key.runs.reverse": "reverse",
    "tip.runs.reverse": "Turn the order of the sorted column round",
    "key.runs.view": "view",
    "tip.runs.view": "Curves or settings below",
    "key.runs.curve": "train/val",
    "tip.runs.curve": "Training or validation loss",
    "key.runs.resume": "resume",
    "tip.runs.resume": "Go on with a run that has stopped",
    "key.runs.rename": "rename",
    "tip.runs.rename": "Give the run another name",
    "key.runs.delete": "delete",
    "tip.runs.delete": "Delete the run; asks first",
    "key.runs.folder": "folder",
    "tip.runs.folder": "Copy the path of the run, and show its folder",
    "key.runs.log": "log axis",
    "tip.runs.log": "A logarithmic axis",
    "key.runs.outliers": "outliers",
    "tip.runs.outliers": "A range that outliers do not set; ⋯12 in a title: 12 values outside",
    "key.runs.smoother": "smooth",
    "tip.runs.smoother": "Smooth the curves more",
    "key.runs.rougher": "smooth",
    "tip.runs.rougher": "Smooth the curves less",
    "key.runs.glyphs": "marks",
    "tip.runs.glyphs": "Braille, blocks or ASCII, from now on",
    "key.runs.clear": "no marks",
    "tip.runs.clear": "Take the marks away; a filter goes first",
    "key.runs.unfilter": "no filter",
    "tip.runs.unfilter": "Take the filter away; pressed again, the marks",
    "key.train.pause": "pause",
    "tip.train.pause": "Pause the training, or go on",
    "key.train.go_on": "go on",
    "tip.train.go_on": "Let the paused training go on",
    "key.train.save": "save",
    "tip.train.save": "Save a checkpoint now",
    "key.train.sample": "ask",
    "tip.train.sample": "Let the model continue a prompt now",
    "key.train.stop": "stop",
    "tip.train.stop": "Save and stop; {press[train.resume]} goes on from there",
    "key.train.resume": "resume",
    "tip.train.resume": "Go on with a run that has stopped",
    "key.train.slower": "lower rate",
    "tip.train.slower": "Go on from the last good checkpoint with a lower learning rate",
    "key.train.again": "begin again",
    "tip.train.again": "Begin again from the first step with a lower learning rate",
    "key.train.evaluate": "evaluate",
    "tip.train.evaluate": "Measure the validation loss now; no samples, no checkpoint",
    "key.train.eco": "eco",
    "tip.train.eco": "Rest after each step for as long as it took: less heat, half as fast",
    "key.train.back": "scrub",
    "tip.train.back": "To the evaluation or answer before",
    "key.train.forward": "scrub",
    "tip.train.forward": "To the next evaluation or answer",
    "key.train.chart": "chart",
    "tip.train.chart": "Another metric in the large chart",
    "key.train.pane": "pane",
    "tip.train.pane": "Samples, surprise, log or plan below",
    "key.train.log": "log axis",
    "tip.train.log": "A logarithmic axis",
    "key.train.outliers": "outliers",
    "tip.train.outliers": "A range that outliers do not set; ⋯12 in a title: 12 values outside",
    "key.train.smoother": "smooth",
    "tip.train.smoother": "Smooth the curve more",
    "key.train.rougher": "smooth",
    "tip.train.rougher": "Smooth the curve less",
    "key.train.closer": "zoom",
    "tip.train.closer": "Look closer, around the cursor",
    "key.train.further": "zoom",
    "tip.train.further": "Look from further away",
    "key.train.all": "whole run",
    "tip.train.all": "The whole run, without a cursor",
    "key.train.fine_back": "step",
    "tip.train.fine_back": "To the logged step before",
    "key.train.fine_forward": "step",
    "tip.train.fine_forward": "To the next logged step",
    "key.train.glyphs": "marks",
    "tip.train.glyphs": "Braille, blocks or ASCII, from now on",
    "key.train.now": "newest",
    "tip.train.now": "Take the cursor away: the newest step",
    "key.train.speed": "speed",
    "tip.train.speed": "Replay at 1x, 10x, or step by step",
    "key.train.replay_step": "next",
    "tip.train.replay_step": "Replay up to the next evaluation",
    "key.pane.up": "up",
    "tip.pane.up": "Scroll up",
    "key.pane.down": "down",
    "tip.pane.down": "Scroll down",
    "key.pane.page_up": "page up",
    "tip.pane.page_up": "A page up",
    "key.pane.page_down": "page down",
    "tip.pane.page_down": "A page down",
    "key.pane.top": "top",
    "tip.pane.top": "To the beginning",
    "key.pane.bottom": "bottom",
    "tip.pane.bottom": "To the end",
    "key.page.next": "next part",
    "tip.page.next": "To the next part of the page",
    "key.page.previous": "part before",
    "tip.page.previous": "To the part of the page before",
    "new.run": "run",
    "new.model": "model",
    "new.data": "data",
    "new.train": "train",
    "new.sample": "sample",
    "new.preset": "preset",
    "new.preset.note": (
        "what to begin from; {press[form.last_choice]}/{press[form.next_choice]} choose"
    ),
    "new.name": "name",
    "new.name.note": "the name of the run folder",
    "new.built_in": "built-in stories",
    "new.parameters": "parameters",
    "new.memory": "memory",
    "new.tokens": "tokens",
    "new.time": "time",
    "new.hidden": (
        "All else is as in the preset, and hidden; {press[new.only_changed]} shows it again."
    ),
    "new.no_cost": "Parameters, memory and time are given once no setting is ✗.",
    "new.typical": "{time} on two CPU cores",
    "new.sure": (
        "{parameters} parameters · memory {memory} of {machine} · {time}\n"
        "That is large or long for this machine. Start it?"
    ),
    "help.form": (
        "A setting a line: its value, and what it means. "
        "{press[form.last_choice]}/{press[form.next_choice]} choose among few values, "
        "{press[form.edit]} types one, {press[form.reset]} takes the preset's. A * marks what "
        "differs from the preset, a ✗ what is wrong."
    ),
    "files.none": "{press[files.mark]} marks texts or folders; none: the built-in stories",
    "files.folder": "folder",
    "key.new.start": "start",
    "tip.new.start": "Start the run in the background",
    "key.new.files": "files",
    "tip.new.files": "Choose texts from a tree",
    "key.new.only_changed": "changed/all",
    "tip.new.only_changed": "Only what differs from the preset, or every setting",
    "key.new.clear": "clear",
    "tip.new.clear": "Begin again from the preset",
    "key.new.cancel": "cancel",
    "tip.new.cancel": "Leave the line without its change",
    "key.form.edit": "edit",
    "tip.form.edit": "Type a value",
    "key.form.next_choice": "choose",
    "tip.form.next_choice": "The next of the values there are",
    "key.form.last_choice": "choose",
    "tip.form.last_choice": "The value before",
    "key.form.reset": "preset",
    "tip.form.reset": "Take the value of the preset",
    "key.form.up": "up",
    "tip.form.up": "The setting above",
    "key.form.down": "down",
    "tip.form.down": "The setting below",
    "key.form.page_up": "page up",
    "tip.form.page_up": "Ten settings up",
    "key.form.page_down": "page down",
    "tip.form.page_down": "Ten settings down",
    "key.form.top": "top",
    "tip.form.top": "The first setting",
    "key.form.bottom": "bottom",
    "tip.form.bottom": "The last setting",
    "key.files.open": "open",
    "tip.files.open": "Open or close the folder",
    "key.files.up": "up",
    "tip.files.up": "The entry above",
    "key.files.down": "down",
    "tip.files.down": "The entry below",
    "key.files.mark": "mark",
    "tip.files.mark": "Train on this file or folder",
    "key.files.parent": "parent",
    "tip.files.parent": "The folder above",
    "key.files.done": "done",
    "tip.files.done": "Take what is marked",
    "key.files.none": "none",
    "tip.files.none": "No file: the built-in stories",
    "key.files.cancel": "cancel",
    "tip.files.cancel": "Leave things as they were",
    "key.replay.stop": "end replay",
    "tip.replay.stop": "Stop the replay where it is",
    "key.replay.again": "play again",
    "tip.replay.again": "Play the recorded run again from the start",
    "replay.speed": "Replay at {speed}x; {press[train.speed]} changes it.",
    "replay.stopped": "The replay is stopped at step {step}.",
    "replay.refused": "a recorded run only plays; train one of your own",
    "replay.by_step": (
        "Replay step by step: {press[train.replay_step]} goes on to the next evaluation."
    ),
    "new.of": " of ",
    "key.runs.new": "new run",
    "tip.runs.new": "The form of a new run",
    "reference.unigram": "unigram",
    "reference.bigram": "bigram",
}
