"""The table of labs: what each shows, and the breaks that it must notice."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from mlx_gpt.errors import UserError
from mlx_gpt.labs import attention, devices, forward, learning
from mlx_gpt.labs.breaks import Break
from mlx_gpt.labs.subject import Answer, Measure, Skip, Subject, sound
from mlx_gpt.language import say
from mlx_gpt.tokenizer import Report, silent


@dataclass(frozen=True)
class Lab:
    """An experiment: its question, what it shows, and the breaks that it must notice."""

    run: Callable[[Subject], Answer]
    name: str
    nombre: str
    en: str
    es: str
    kills: tuple[str, ...]

    @property
    def title(self) -> str:
        """Its name, in the language of the reader."""
        return say(self.name, self.nombre)

    @property
    def explanation(self) -> str:
        """What it shows, in the language of the reader."""
        return say(self.en, self.es)


MASKS = ("mask_none", "mask_inverted", "mask_off1", "mask_strict")
CHUNKS = ("mask_none_chunk", "mask_upper_left")
HEADS = ("split_no_transpose", "merge_no_transpose", "softmax_axis")
RESIDUALS = ("no_resid_attn", "no_resid_ffn")
LN = ("ln_time_axis", "ln_batch_axis", "ln_unbiased", "rmsnorm", "eps1e-3")

LABS: dict[str, Lab] = {
    "L00": Lab(
        forward.hand_trace,
        "hand trace",
        "traza a mano",
        "Every row of a forward pass equals the same row computed in NumPy float64 from the "
        "equations, and has the shape its axes say. A model of width 2 is small enough for paper.",
        "Cada fila de una pasada es igual a la misma fila calculada en NumPy float64 desde las "
        "ecuaciones, y tiene la forma de sus ejes. Un modelo de ancho 2 cabe en un papel.",
        (
            *MASKS,
            *HEADS,
            *("rope_missing", "rope_q_only", "rope_on_v", "rope_base", "rope_traditional"),
            *("scale_d", "scale_none", "swap_qk", "gelu_tanh", "ln1_reused", "post_ln"),
            *("no_ln_f", "missing_bias", *LN, *RESIDUALS),
        ),
    ),
    "L01": Lab(
        forward.final_norm,
        "final norm",
        "norma final",
        "Logits do not change when the stream grows, because a norm stands before the head; and "
        "the variance after a norm is σ²/(σ² + ε), not quite 1.",
        "Los logits no cambian si crece la corriente, porque hay una norma ante la cabeza; y la "
        "varianza tras una norma es σ²/(σ² + ε), no del todo 1.",
        ("no_ln_f", *LN),
    ),
    "L02": Lab(
        forward.counts,
        "inventory",
        "inventario",
        "The arrays that a model really has add up to the formula and to the courses' totals: "
        "103 680, 867 072, and 124 439 808 for GPT-2.",
        "Los arrays que un modelo tiene de verdad suman lo que dice la fórmula y los totales de "
        "los cursos: 103 680, 867 072 y 124 439 808 para GPT-2.",
        ("untied", "missing_bias"),
    ),
    "L03": Lab(
        attention.causality,
        "causality",
        "causalidad",
        "A changed token changes the logits at its place and after it, and not one bit before; "
        "no weight falls on the future, and no gradient comes from it.",
        "Un token cambiado cambia los logits en su lugar y después, y ni un bit antes; ningún "
        "peso cae sobre el futuro, y ningún gradiente viene de él.",
        (*MASKS, *HEADS, "ln_time_axis"),
    ),
    "L04": Lab(
        learning.overfit,
        "one batch by heart",
        "un lote de memoria",
        "The step that training takes can learn one batch by heart. A weak test: most mistakes "
        "pass it.",
        "El paso del entrenamiento puede aprender un lote de memoria. Una prueba débil: la "
        "mayoría de los errores la pasan.",
        ("init_0.2", "double_softmax", "loss_sum", "weights_frozen"),
    ),
    "L05": Lab(
        learning.finite_differences,
        "gradients",
        "gradientes",
        "The gradient of every parameter equals the slope of the float64 loss, found by moving "
        "the parameter a little.",
        "El gradiente de cada parámetro es igual a la pendiente de la pérdida en float64, hallada "
        "moviendo un poco el parámetro.",
        (
            *MASKS,
            *HEADS,
            *("rope_missing", "rope_q_only", "rope_on_v", "rope_base", "rope_traditional"),
            *("scale_d", "scale_none", "swap_qk", "gelu_tanh", "ln1_reused", "post_ln"),
            *("no_ln_f", "untied", "head_stopgrad", "ffn_stopgrad", "double_softmax", "loss_sum"),
            *(*LN, *RESIDUALS),
        ),
    ),
    "L06": Lab(
        attention.relative_positions,
        "RoPE is relative",
        "RoPE es relativo",
        "A text gives the same logits wherever it stands: RoPE leaves lengths and values alone, "
        "and only the distance of two tokens counts.",
        "Un texto da los mismos logits esté donde esté: RoPE no toca longitudes ni valores, y "
        "solo cuenta la distancia entre dos tokens.",
        ("rope_missing", "rope_q_only", "rope_on_v", "rope_offset0", "split_no_transpose"),
    ),
    "L07": Lab(
        attention.cached,
        "cache = whole",
        "caché = de una vez",
        "Tokens that come one, three or five at a time, with a cache, give the logits that they "
        "give all at once.",
        "Los tokens que llegan de uno en uno, de tres en tres o de cinco en cinco, con caché, dan "
        "los mismos logits que todos a la vez.",
        (
            *("mask_none", "mask_inverted", "mask_off1", *CHUNKS, *HEADS),
            *("ln_time_axis", "rope_offset0", "rope_batchbug"),
        ),
    ),
    "L08": Lab(
        learning.tied,
        "tied head",
        "cabeza atada",
        "The embedding matrix is also the head: its gradient is the sum of both uses, and after "
        "a step both still use one matrix.",
        "La matriz de embeddings es también la cabeza: su gradiente es la suma de ambos usos, y "
        "tras un paso ambos siguen usando una sola matriz.",
        ("untied", "head_stopgrad"),
    ),
    "L09": Lab(
        learning.pre_and_post,
        "Pre-LN and Post-LN",
        "Pre-LN y Post-LN",
        "From Xavier's start the last layer's gradient shrinks with depth in Pre-LN, like 1/√L, "
        "and does not in Post-LN, which is why that needs a warm-up (Xiong 2020).",
        "Con el inicio de Xavier, el gradiente de la última capa encoge con la profundidad en "
        "Pre-LN, como 1/√L, y en Post-LN no; por eso este necesita calentamiento (Xiong 2020).",
        ("post_is_pre", "post_ln"),
    ),
    "L10": Lab(
        learning.residual_growth,
        "residual start",
        "inicio residual",
        "16 layers add as much variance to the stream as 2, since the writers start with "
        "N(0, 0.02/√(2·n_layers)).",
        "16 capas añaden a la corriente tanta varianza como 2, porque las que escriben empiezan "
        "con N(0, 0.02/√(2·n_layers)).",
        ("init_unscaled", *RESIDUALS),
    ),
    "L11": Lab(
        learning.initial_loss,
        "first loss",
        "primera pérdida",
        "On random text an untrained model loses ln V + d·σ²/2 nats a token. A lower loss means "
        "that it sees the answer.",
        "Con texto aleatorio, un modelo sin entrenar pierde ln V + d·σ²/2 nats por token. Una "
        "pérdida menor significa que ve la respuesta.",
        ("init_0.2", "loss_sum", "targets_unshifted"),
    ),
    "L12": Lab(
        attention.order,
        "order",
        "orden",
        "One layer without positions cannot tell which of two earlier tokens came first; with "
        "positions it can. Two layers can even without, through the mask alone.",
        "Una capa sin posiciones no distingue cuál de dos tokens anteriores vino primero; con "
        "posiciones, sí. Dos capas pueden incluso sin ellas, solo por la máscara.",
        (
            *("rope_missing", "mask_inverted", "softmax_axis"),
            *("split_no_transpose", "ln_time_axis"),
        ),
    ),
    "L13": Lab(
        forward.ledger,
        "ledger",
        "libro de cuentas",
        "The stream is the embedding plus everything written to it, and each logit is the sum of "
        "what embedding, heads and networks pay in.",
        "La corriente es el embedding más todo lo que se escribe en ella, y cada logit es la suma "
        "de lo que aportan embedding, cabezas y redes.",
        (
            *("no_ln_f", "post_ln", *RESIDUALS),
            *("ln_time_axis", "ln_batch_axis", "ln_unbiased", "rmsnorm"),
        ),
    ),
    "L14": Lab(
        attention.sequences_apart,
        "sequences apart",
        "secuencias separadas",
        "Three sequences in a batch give what each gives alone.",
        "Tres secuencias en un lote dan lo que da cada una por separado.",
        ("ln_batch_axis",),
    ),
    "L15": Lab(
        forward.faithful_trace,
        "the trace is the model",
        "la traza es el modelo",
        "A traced pass gives the same bits as an untraced one; every row of the table comes once; "
        "moving a row moves the logits; dropout and random numbers stay as they were.",
        "Una pasada trazada da los mismos bits que otra sin trazar; cada fila de la tabla viene "
        "una vez; mover una fila mueve los logits; dropout y azar quedan como estaban.",
        ("second_forward", "tap_copies", "row_forgotten", "trace_dropout"),
    ),
    "L16": Lab(
        devices.both_devices,
        "GPU = CPU",
        "GPU = CPU",
        "The GPU computes what the CPU computes, forward and backward, row by row.",
        "La GPU calcula lo que calcula la CPU, hacia delante y hacia atrás, fila por fila.",
        (),
    ),
}


@dataclass(frozen=True)
class Outcome:
    """What a lab found: its statements, or why it was left out."""

    key: str
    lab: Lab
    measures: tuple[Measure, ...] = ()
    skipped: Skip | None = None
    crash: str = ""  # a broken model on which the lab could not even run

    @property
    def ok(self) -> bool:
        """Whether every statement holds."""
        return not self.crash and all(measure.ok for measure in self.measures)

    @property
    def headline(self) -> Measure | None:
        """The first statement that fails; if none does, the first one."""
        failed = [measure for measure in self.measures if not measure.ok]
        return next(iter([*failed, *self.measures]), None)


def default_subjects(broken: Break | None = None, seed: int = 0) -> list[Subject]:
    """The labs' own small models, with RoPE and with learned positions; a break where it fits."""
    both = [dataclasses.replace(sound(position), seed=seed) for position in ("rope", "learned")]
    if broken is None:
        return both
    return [
        dataclasses.replace(each, parts=broken.parts) for each in both if broken.fits(each.config)
    ]


def examine(key: str, subjects: list[Subject]) -> Outcome:
    """One lab on every subject; a broken model may fail in ways that no lab foresees."""
    lab, measures, skipped = LABS[key], [], None
    for subject in subjects:
        try:
            answer = lab.run(subject)
        except (KeyError, ValueError, UserError) as error:
            if not subject.broken:
                raise
            return Outcome(key, lab, crash=f"{type(error).__name__}: {error}")
        if isinstance(answer, Skip):
            skipped = answer
        else:
            measures += answer
    return Outcome(key, lab, worst(measures), None if measures else skipped)


def worst(measures: Iterable[Measure]) -> tuple[Measure, ...]:
    """Every statement once, as it came out where it came out worst."""
    kept: dict[str, Measure] = {}
    for measure in measures:
        before = kept.setdefault(measure.en, measure)
        if measure.strain > before.strain:
            kept[measure.en] = measure
    return tuple(kept.values())


def check(
    subjects: list[Subject], report: Report = silent, only: Sequence[str] = ()
) -> Iterator[Outcome]:
    """Every lab, or only some, on every subject, one after the other."""
    keys = [key for key in LABS if not only or key in only]
    for done, key in enumerate(keys):
        report(f"{key} {LABS[key].title}", done, len(keys))
        yield examine(key, subjects)
    report("", len(keys), len(keys))


def noticed_by(name: str) -> list[str]:
    """The labs that must notice a break."""
    return [key for key, lab in LABS.items() if name in lab.kills]
