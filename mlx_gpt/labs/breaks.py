"""The breaks: every mistake that the labs know, with what it is in both languages."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlx_gpt.device import mx

from mlx_gpt.config import ModelConfig, nearest
from mlx_gpt.errors import UserError
from mlx_gpt.kernels import cross_entropy, gelu_tanh
from mlx_gpt.labs.mutants import (
    Deaf,
    Drops,
    Forgetful,
    Parts,
    Twice,
    always_pre,
    configured,
    cut_wrong,
    edited,
    first_alone,
    first_input,
    from_upper_left,
    frozen,
    layernorm,
    masked_by,
    norm_of_the_first,
    open_chunk,
    read_by_constant,
    rotated,
    scaled_by,
    shared_by_name,
    tapped,
    ten_times,
    transposed,
    turned,
    unshifted,
    with_loss,
    without_bias,
)
from mlx_gpt.language import say

LAYERNORM = {"norm": "layernorm"}
ROPE = {"position": "rope"}
CAUSAL = {"causal": True}


@dataclass(frozen=True)
class Break:
    """A mistake: what it is, and the settings without which it cannot be made."""

    parts: Parts
    en: str
    es: str
    needs: Mapping[str, object] = field(default_factory=dict)

    @property
    def explanation(self) -> str:
        """What is wrong, in the language of the reader."""
        return say(self.en, self.es)

    def fits(self, config: ModelConfig) -> bool:
        """Whether a model with these settings can have this mistake."""
        return all(getattr(config, name) == value for name, value in self.needs.items())


BREAKS: dict[str, Break] = {
    "mask_none": Break(
        edited(first_input, "masked"),
        "there is no causal mask: every token sees the future",
        "no hay máscara causal: cada token ve el futuro",
        CAUSAL,
    ),
    "mask_inverted": Break(
        masked_by(lambda query, key: key >= query),
        "the mask is upside down: a token sees itself and the future only",
        "la máscara está al revés: un token solo se ve a sí mismo y al futuro",
        CAUSAL,
    ),
    "mask_off1": Break(
        masked_by(lambda query, key: key <= query + 1),
        "the mask is off by one: a token sees the next one, the answer",
        "la máscara falla por uno: un token ve el siguiente, la respuesta",
        CAUSAL,
    ),
    "mask_strict": Break(
        masked_by(lambda query, key: (key < query) | ((key == 0) & (query == 0))),
        "a token does not see itself, only those before it",
        "un token no se ve a sí mismo, solo a los anteriores",
        CAUSAL,
    ),
    "mask_upper_left": Break(
        edited(from_upper_left, "masked"),
        "with a cache the mask begins at the first key instead of ending at the last",
        "con caché, la máscara empieza en la primera clave en vez de acabar en la última",
        CAUSAL,
    ),
    "mask_none_chunk": Break(
        edited(open_chunk, "masked"),
        "there is no mask where several tokens follow a cache",
        "no hay máscara cuando varios tokens siguen a una caché",
        CAUSAL,
    ),
    "rope_missing": Break(
        edited(first_input, "q_rot", "k_rot"),
        "RoPE turns nothing: the model does not know the order of the tokens",
        "RoPE no gira nada: el modelo no conoce el orden de los tokens",
        ROPE,
    ),
    "rope_q_only": Break(
        edited(first_input, "k_rot"),
        "RoPE turns the queries but not the keys: scores depend on absolute places",
        "RoPE gira las consultas pero no las claves: cuentan los lugares absolutos",
        ROPE,
    ),
    "rope_on_v": Break(
        edited(lambda at: turned(at.x, at), "v"),
        "RoPE turns the values too",
        "RoPE gira también los valores",
        ROPE,
    ),
    "rope_offset0": Break(
        rotated(offset=0),
        "with a cache RoPE begins again at position 0",
        "con caché, RoPE vuelve a empezar en la posición 0",
        ROPE,
    ),
    "rope_base": Break(
        rotated(base=1000.0),
        "RoPE has base 1000 in place of the configured one",
        "RoPE tiene base 1000 en lugar de la configurada",
        ROPE,
    ),
    "rope_traditional": Break(
        rotated(traditional=True),
        "RoPE turns the pairs (2j, 2j+1) instead of (j, j + d_head/2)",
        "RoPE gira los pares (2j, 2j+1) en vez de (j, j + d_head/2)",
        ROPE,
    ),
    "rope_batchbug": Break(
        edited(first_alone, "q_rot", "k_rot"),
        "with one new token RoPE returns zeros for all sequences but the first (mlx #3494)",
        "con un solo token nuevo, RoPE da ceros en todas las secuencias menos la primera "
        "(mlx #3494)",
        ROPE,
    ),
    "scale_d": Break(
        scaled_by(lambda d_head: 1 / d_head),
        "scores are divided by d_head, not by its root",
        "las puntuaciones se dividen por d_head, no por su raíz",
    ),
    "scale_none": Break(
        scaled_by(lambda _: 1.0),
        "scores are not divided by √d_head",
        "las puntuaciones no se dividen por √d_head",
    ),
    "swap_qk": Break(
        edited(transposed, "scores"),
        "queries and keys have changed places",
        "consultas y claves han cambiado de lugar",
    ),
    "split_no_transpose": Break(
        edited(cut_wrong, "q", "k", "v"),
        "heads are cut by reshape alone, so that a head mixes tokens",
        "las cabezas se cortan solo con reshape, y una cabeza mezcla tokens",
    ),
    "merge_no_transpose": Break(
        edited(cut_wrong, "merged"),
        "heads are joined by reshape alone, so that tokens get mixed",
        "las cabezas se juntan solo con reshape, y los tokens se mezclan",
    ),
    "softmax_axis": Break(
        edited(lambda at: mx.softmax(at.inputs[0], axis=-2), "weights"),
        "softmax runs over the queries instead of the keys",
        "softmax va sobre las consultas en vez de sobre las claves",
    ),
    "no_ln_f": Break(
        edited(first_input, "final_norm"),
        "there is no final norm before the head",
        "falta la norma final antes de la cabeza",
        {"final_norm": True},
    ),
    "ln_time_axis": Break(
        layernorm(axis=-2),
        "norms take mean and variance over the tokens, not over d_model",
        "las normas toman media y varianza sobre los tokens, no sobre d_model",
        LAYERNORM,
    ),
    "ln_batch_axis": Break(
        layernorm(axis=0),
        "norms take mean and variance over the batch, as BatchNorm does",
        "las normas toman media y varianza sobre el lote, como BatchNorm",
        LAYERNORM,
    ),
    "ln_unbiased": Break(
        layernorm(less=1),
        "norms divide the squares by d - 1",
        "las normas dividen los cuadrados por d - 1",
        LAYERNORM,
    ),
    "eps1e-3": Break(
        layernorm(eps=1e-3),
        "norms add 1e-3 to the variance",
        "las normas suman 1e-3 a la varianza",
        LAYERNORM | {"norm_eps": 1e-5},
    ),
    "rmsnorm": Break(
        layernorm(center=False),
        "norms do not subtract the mean, and have no bias",
        "las normas no restan la media ni tienen sesgo",
        LAYERNORM,
    ),
    "ln1_reused": Break(
        edited(norm_of_the_first, "norm2"),
        "the second norm of a block uses gain and bias of the first",
        "la segunda norma de un bloque usa la ganancia y el sesgo de la primera",
        LAYERNORM,
    ),
    "post_ln": Break(
        configured(norm_order="post"),
        "norms come after the sublayers",
        "las normas van después de las subcapas",
        {"norm_order": "pre", "parallel_residual": False},
    ),
    "post_is_pre": Break(
        Parts(make=always_pre),
        "norms come before the sublayers even where Post-LN is asked for",
        "las normas van antes de las subcapas aunque se pida Post-LN",
        {"norm_order": "pre"},
    ),
    "gelu_tanh": Break(
        edited(lambda at: gelu_tanh(at.inputs[0]), "act"),
        "GELU has its tanh form where the exact one is asked for",
        "GELU tiene la forma tanh donde se pide la exacta",
        {"activation": "gelu"},
    ),
    "no_resid_attn": Break(
        edited(lambda at: at.inputs[1], "resid_attn"),
        "attention overwrites the stream instead of adding to it",
        "la atención sobrescribe la corriente en vez de sumarse a ella",
    ),
    "no_resid_ffn": Break(
        edited(lambda at: at.inputs[1], "resid_ffn"),
        "the feed-forward network overwrites the stream instead of adding to it",
        "la red feed-forward sobrescribe la corriente en vez de sumarse a ella",
    ),
    "untied": Break(
        Parts(make=shared_by_name),
        "the head is given the embedding's array, which in MLX ties nothing",
        "a la cabeza se le da el array del embedding, lo que en MLX no ata nada",
        {"tied_head": True},
    ),
    "missing_bias": Break(
        Parts(make=without_bias),
        "the output projection of attention has no bias",
        "la proyección de salida de la atención no tiene sesgo",
        {"attn_bias": True},
    ),
    "head_stopgrad": Break(
        edited(read_by_constant, "logits"),
        "no gradient reaches the head's matrix from the logits",
        "ningún gradiente llega de los logits a la matriz de la cabeza",
    ),
    "ffn_stopgrad": Break(
        edited(lambda at: mx.stop_gradient(at.x), "down"),
        "no gradient reaches the feed-forward network",
        "ningún gradiente llega a la red feed-forward",
    ),
    "init_unscaled": Break(
        configured(residual_init=False),
        "the writers into the stream start without the factor 1/√(2·n_layers)",
        "las capas que escriben en la corriente empiezan sin el factor 1/√(2·n_layers)",
        {"residual_init": True},
    ),
    "init_0.2": Break(
        Parts(make=ten_times),
        "weights start ten times too large",
        "los pesos empiezan diez veces más grandes",
    ),
    "double_softmax": Break(
        with_loss(lambda logits, targets: cross_entropy(mx.softmax(logits), targets).mean()),
        "the loss takes softmax of what is already a softmax",
        "la pérdida aplica softmax a lo que ya es un softmax",
    ),
    "loss_sum": Break(
        with_loss(lambda logits, targets: cross_entropy(logits, targets).sum()),
        "the loss is a sum, not a mean",
        "la pérdida es una suma, no una media",
    ),
    "targets_unshifted": Break(
        Parts(batch=unshifted),
        "targets are the inputs, so the model learns to copy",
        "los objetivos son las entradas: el modelo aprende a copiar",
        {"tied_head": True},  # a head of its own does not yet know the embeddings it could copy
    ),
    "weights_frozen": Break(
        Parts(learner=frozen),
        "the compiled step was not told that weights change: it computes with the first for ever",
        "al paso compilado no se le dijo que los pesos cambian: calcula siempre con los primeros",
    ),
    "second_forward": Break(
        Parts(make=Twice),
        "the trace comes from a second forward pass, which forgot the positions",
        "la traza viene de una segunda pasada, que olvidó las posiciones",
    ),
    "tap_copies": Break(
        tapped(Deaf),
        "the tap shows copies: what it gives back does not go on",
        "el tap enseña copias: lo que devuelve no sigue adelante",
    ),
    "row_forgotten": Break(
        tapped(Forgetful),
        "the trace has no row of the merged heads",
        "a la traza le falta la fila de las cabezas unidas",
    ),
    "trace_dropout": Break(
        Parts(make=Drops),
        "tracing switches dropout on and takes numbers from the global random state",
        "trazar activa el dropout y toma números del estado aleatorio global",
    ),
}


def find_break(name: str) -> Break:
    """The break of that name."""
    if name not in BREAKS:
        raise UserError(
            f"no break {name}{nearest(name, BREAKS)}; mlx-gpt check --list explains all of them"
        )
    return BREAKS[name]


# What can be broken by a setting, and so trained; docs/breaks.md shows what each does.
SETTINGS: dict[str, tuple[str, str]] = {
    "model.causal=false": (
        "no causal mask: the loss falls to nothing, and the samples repeat one token",
        "sin máscara causal: la pérdida cae a nada, y las muestras repiten un token",
    ),
    "model.final_norm=false": (
        "no norm before the head: logits are only as large as the stream, and it learns slowly",
        "sin norma ante la cabeza: los logits son tan pequeños como la corriente, y aprende lento",
    ),
    "model.residual_init=false": (
        "writers into the stream start too large, the more so the more layers there are",
        "las capas que escriben en la corriente empiezan demasiado grandes, más con más capas",
    ),
    "model.norm_order=post": (
        "Post-LN, the original transformer: it needs the warm-up, the more so the deeper it is",
        "Post-LN, el transformer original: le hace falta el calentamiento, más cuanto más hondo",
    ),
    "model.position=none": (
        "no positions: order is known through the mask alone, and learning is slow",
        "sin posiciones: el orden solo se conoce por la máscara, y aprende lento",
    ),
    "model.tied_head=false": (
        "a head of its own: no break but a variant, with V·d more parameters",
        "una cabeza propia: no es un error sino una variante, con V·d parámetros más",
    ),
}
