"""The step table: what every row of a trace is, in axes, an equation, a cost and plain words.

Axes: B sequences, T new tokens, S keys (old and new), P positions with a known next token,
V vocabulary. A FLOP count takes a multiply-add as 2 and the whole square T·S of attention, of
which a causal model needs half.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlx_gpt.config import ModelConfig
from mlx_gpt.language import say

Dims = Mapping[str, int]


@dataclass(frozen=True)
class Kind:
    """One kind of row: the part it belongs to, its axes, equation, FLOPs and explanation."""

    part: str
    axes: str
    equation: str
    flops: str
    en: str
    es: str
    move: bool = False  # numbers change their place, not their value: a replay must be exact

    @property
    def explanation(self) -> str:
        """What happens in this row, in the language of the reader."""
        return say(self.en, self.es)


@dataclass(frozen=True)
class Step:
    """A kind of row at its place in a model: its inputs are rows, `ids` or `targets`."""

    name: str
    kind: str
    layer: int | None
    equation: str
    inputs: tuple[str, ...]
    params: tuple[str, ...] = ()

    @property
    def entry(self) -> Kind:
        """The table entry."""
        return TABLE[self.kind]


def product(formula: str, dims: Dims) -> int:
    """The value of a product of sizes, as in 2·B·T·d_model."""
    factors = formula.split("·")
    return math.prod(int(factor) if factor.isdigit() else dims[factor] for factor in factors)


def shape(axes: str, dims: Dims) -> tuple[int, ...]:
    """The sizes of axes, as in B T d_model."""
    return tuple(product(axis, dims) for axis in axes.split())


def sizes(config: ModelConfig, *, B: int, T: int, start: int = 0, P: int = 0) -> dict[str, int]:
    """The size of every axis, for T tokens that come after `start` others."""
    names = ("d_model", "n_layers", "n_heads", "n_kv_heads", "d_head", "d_rope", "d_ff")
    widths = {name: int(getattr(config, name)) for name in names}
    return {"B": B, "T": T, "S": start + T, "P": P, "V": config.vocab_size, **widths}


LAYERNORM = "γ ⊙ (x − μ) / √(σ² + ε) + β"
NORMS = {"layernorm": LAYERNORM, "rmsnorm": "γ ⊙ x / √(mean(x²) + ε)"}
ACTIVATIONS = {
    "gelu": "x · ½(1 + erf(x / √2))",
    "gelu_tanh": "x · ½(1 + tanh(√(2/π)(x + 0.044715 x³)))",
    "relu": "max(x, 0)",
    "swiglu": "gate / (1 + e^(−gate))",
}
ROTATION = "(x, y) → (x cos tθ − y sin tθ, x sin tθ + y cos tθ), θⱼ = base^(−2j/d_rope)"

TABLE: dict[str, Kind] = {
    "tok": Kind(
        "embedding",
        "B T d_model",
        "E[id]",
        "0",
        "Each token id picks its own row of the embedding matrix: a list of d_model numbers "
        "that the model has learned for that token.",
        "Cada id de token elige su fila de la matriz de embeddings: una lista de d_model números "
        "que el modelo ha aprendido para ese token.",
        move=True,
    ),
    "pos": Kind(
        "embedding",
        "T d_model",
        "P[t]",
        "0",
        "Each place in the text picks its own learned row, so that the model can tell first "
        "from second.",
        "Cada lugar del texto elige su propia fila aprendida, para que el modelo distinga el "
        "primero del segundo.",
        move=True,
    ),
    "embed": Kind(
        "embedding",
        "B T d_model",
        "tok + pos",
        "B·T·d_model",
        "What the token is and where it stands are added: this is where the residual stream "
        "begins.",
        "Se suman qué es el token y dónde está: aquí empieza la corriente residual (residual "
        "stream).",
    ),
    "norm1": Kind(
        "attention",
        "B T d_model",
        LAYERNORM,
        "8·B·T·d_model",
        "Each token's numbers are brought to the same scale, each token alone, so that the next "
        "layer works with sizes it knows.",
        "Los números de cada token se llevan a la misma escala, cada token por separado, para que "
        "la capa siguiente trabaje con tamaños conocidos.",
    ),
    "q_proj": Kind(
        "attention",
        "B T d_model",
        "x W_qᵀ + b",
        "2·B·T·d_model·d_model",
        "Every token computes its queries: what it looks for in the other tokens.",
        "Cada token calcula sus consultas (queries): lo que busca en los demás tokens.",
    ),
    "q": Kind(
        "attention",
        "B n_heads T d_head",
        "q[b,h,t,j] = q_proj[b,t,h·d_head+j]",
        "0",
        "The long query is cut into one short query per head; no number changes.",
        "La consulta larga se corta en una corta por cabeza; ningún número cambia.",
        move=True,
    ),
    "k_proj": Kind(
        "attention",
        "B T n_kv_heads·d_head",
        "x W_kᵀ + b",
        "2·B·T·d_model·n_kv_heads·d_head",
        "Every token computes its keys: the label by which queries find it.",
        "Cada token calcula sus claves (keys): la etiqueta por la que las consultas lo encuentran.",
    ),
    "k": Kind(
        "attention",
        "B n_kv_heads T d_head",
        "k[b,h,t,j] = k_proj[b,t,h·d_head+j]",
        "0",
        "The long key is cut into one short key per head; no number changes.",
        "La clave larga se corta en una corta por cabeza; ningún número cambia.",
        move=True,
    ),
    "v_proj": Kind(
        "attention",
        "B T n_kv_heads·d_head",
        "x W_vᵀ + b",
        "2·B·T·d_model·n_kv_heads·d_head",
        "Every token computes its values: what it hands over to those that look at it.",
        "Cada token calcula sus valores (values): lo que entrega a quienes lo miran.",
    ),
    "v": Kind(
        "attention",
        "B n_kv_heads T d_head",
        "v[b,h,t,j] = v_proj[b,t,h·d_head+j]",
        "0",
        "The long value is cut into one short value per head; no number changes.",
        "El valor largo se corta en uno corto por cabeza; ningún número cambia.",
        move=True,
    ),
    "q_rot": Kind(
        "attention",
        "B n_heads T d_head",
        ROTATION,
        "3·B·n_heads·T·d_rope",
        "RoPE turns each query by an angle that grows with its position; lengths stay, and what "
        "two tokens have to do with each other then depends on their distance.",
        "RoPE gira cada consulta un ángulo que crece con su posición; las longitudes quedan igual, "
        "y la relación entre dos tokens depende así de su distancia.",
    ),
    "k_rot": Kind(
        "attention",
        "B n_kv_heads T d_head",
        ROTATION,
        "3·B·n_kv_heads·T·d_rope",
        "RoPE turns each key in the same way as the queries.",
        "RoPE gira cada clave de la misma manera que las consultas.",
    ),
    "keys": Kind(
        "attention",
        "B n_kv_heads S d_head",
        "[cache ; k]",
        "0",
        "The keys of earlier tokens come from the cache, those of the new ones are appended.",
        "Las claves de los tokens anteriores vienen de la caché; las de los nuevos se añaden.",
        move=True,
    ),
    "values": Kind(
        "attention",
        "B n_kv_heads S d_head",
        "[cache ; v]",
        "0",
        "The values of earlier tokens come from the cache, those of the new ones are appended.",
        "Los valores de los tokens anteriores vienen de la caché; los de los nuevos se añaden.",
        move=True,
    ),
    "scores": Kind(
        "attention",
        "B n_heads T S",
        "q kᵀ / √d_head",
        "2·B·n_heads·T·S·d_head",
        "Every query is compared with every key: a large score means that this token wants to "
        "look at that one. The root keeps the scores from growing with the size of a head.",
        "Cada consulta se compara con cada clave: una puntuación grande significa que este token "
        "quiere mirar a aquel. La raíz evita que crezcan con el tamaño de la cabeza.",
    ),
    "masked": Kind(
        "attention",
        "B n_heads T S",
        "s (key ≤ query), −∞ (key > query)",
        "0",
        "The causal mask: no token may look at one that comes after it, so those scores become −∞.",
        "La máscara causal: ningún token puede mirar a uno posterior, así que esas puntuaciones "
        "pasan a ser −∞.",
        move=True,
    ),
    "weights": Kind(
        "attention",
        "B n_heads T S",
        "eˢ / Σ_keys eˢ",
        "5·B·n_heads·T·S",
        "Softmax turns the scores of each query into shares that sum to 1: how much of each "
        "token it takes.",
        "Softmax convierte las puntuaciones de cada consulta en partes que suman 1: cuánto toma "
        "de cada token.",
    ),
    "context": Kind(
        "attention",
        "B n_heads T d_head",
        "weights · v",
        "2·B·n_heads·T·S·d_head",
        "Each head mixes the values of the tokens it looks at, in those shares. Here, and only "
        "here, information moves between tokens.",
        "Cada cabeza mezcla los valores de los tokens que mira, en esas partes. Aquí, y solo "
        "aquí, la información pasa de un token a otro.",
    ),
    "merged": Kind(
        "attention",
        "B T d_model",
        "merged[b,t,h·d_head+j] = context[b,h,t,j]",
        "0",
        "The results of all heads are put side by side again; no number changes.",
        "Los resultados de todas las cabezas se ponen otra vez uno al lado del otro; ningún "
        "número cambia.",
        move=True,
    ),
    "attn_out": Kind(
        "attention",
        "B T d_model",
        "x W_oᵀ + b",
        "2·B·T·d_model·d_model",
        "The output projection mixes the heads and writes what attention found in the terms of "
        "the residual stream.",
        "La proyección de salida mezcla las cabezas y escribe lo hallado por la atención en los "
        "términos de la corriente residual.",
    ),
    "resid_attn": Kind(
        "attention",
        "B T d_model",
        "x + attn_out",
        "B·T·d_model",
        "What attention found is added to the stream; nothing that was there is overwritten.",
        "Lo hallado por la atención se suma a la corriente; nada de lo que había se borra.",
    ),
    "norm2": Kind(
        "feed-forward",
        "B T d_model",
        LAYERNORM,
        "8·B·T·d_model",
        "The second norm of the block: again each token is brought to the same scale.",
        "La segunda norma del bloque: otra vez cada token se lleva a la misma escala.",
    ),
    "up": Kind(
        "feed-forward",
        "B T d_ff",
        "x W_upᵀ + b",
        "2·B·T·d_model·d_ff",
        "Each token, alone, is spread over d_ff features: questions that the network asks of it.",
        "Cada token, por separado, se reparte en d_ff rasgos: preguntas que la red le hace.",
    ),
    "gate": Kind(
        "feed-forward",
        "B T d_ff",
        "x W_gateᵀ + b",
        "2·B·T·d_model·d_ff",
        "A second set of features, which will decide how much of the first passes.",
        "Un segundo juego de rasgos, que decidirá cuánto pasa del primero.",
    ),
    "act": Kind(
        "feed-forward",
        "B T d_ff",
        ACTIVATIONS["gelu"],
        "8·B·T·d_ff",
        "The non-linearity lets large features pass and holds back negative ones; without it, "
        "all layers would be one matrix.",
        "La no linealidad deja pasar los rasgos grandes y frena los negativos; sin ella, todas "
        "las capas serían una sola matriz.",
    ),
    "gated": Kind(
        "feed-forward",
        "B T d_ff",
        "act ⊙ up",
        "B·T·d_ff",
        "Each feature is multiplied by its gate: open, half open or shut.",
        "Cada rasgo se multiplica por su compuerta: abierta, a medias o cerrada.",
    ),
    "down": Kind(
        "feed-forward",
        "B T d_model",
        "x W_downᵀ + b",
        "2·B·T·d_model·d_ff",
        "The features are gathered into d_model numbers: what the network has to say about this "
        "token.",
        "Los rasgos se reúnen en d_model números: lo que la red tiene que decir de este token.",
    ),
    "resid_ffn": Kind(
        "feed-forward",
        "B T d_model",
        "x + down",
        "B·T·d_model",
        "It is added to the stream, which goes on to the next block.",
        "Se suma a la corriente, que sigue hacia el bloque siguiente.",
    ),
    "final_norm": Kind(
        "head",
        "B T d_model",
        LAYERNORM,
        "8·B·T·d_model",
        "A last norm, so that the logits do not depend on how large the stream has grown.",
        "Una última norma, para que los logits no dependan de cuánto ha crecido la corriente.",
    ),
    "logits": Kind(
        "head",
        "B T V",
        "x Eᵀ",
        "2·B·T·d_model·V",
        "Each position is compared with every token of the vocabulary: the larger the logit, the "
        "likelier that token comes next.",
        "Cada posición se compara con todos los tokens del vocabulario: cuanto mayor el logit, más "
        "probable es que ese token venga después.",
    ),
    "nll": Kind(
        "loss",
        "B P",
        "log Σ e^logits − logits[target]",
        "5·B·P·V",
        "The surprise at the token that really came: −log of the probability the model gave it, "
        "in nats.",
        "La sorpresa ante el token que de verdad vino: −log de la probabilidad que el modelo le "
        "daba, en nats.",
    ),
    "loss": Kind(
        "loss",
        "",
        "mean(nll)",
        "B·P",
        "The mean surprise over all positions: the one number that training makes smaller.",
        "La sorpresa media de todas las posiciones: el único número que el entrenamiento reduce.",
    ),
    "last": Kind(
        "sampling",
        "B V",
        "logits[:, T−1]",
        "0",
        "To continue the text, only the logits of the last position are needed.",
        "Para continuar el texto solo hacen falta los logits de la última posición.",
        move=True,
    ),
    "known": Kind(
        "sampling",
        "B V",
        "ℓ (id < known), −∞ (id ≥ known)",
        "0",
        "The model may have room for more tokens than the tokenizer has; those are forbidden.",
        "El modelo puede tener sitio para más tokens que el tokenizador; esos se prohíben.",
        move=True,
    ),
    "penalised": Kind(
        "sampling",
        "B V",
        "ℓ / penalty (ℓ > 0), ℓ · penalty (ℓ ≤ 0); id ∈ ids",
        "B·V",
        "Tokens that the text already holds are made less likely.",
        "Los tokens que el texto ya contiene se vuelven menos probables.",
    ),
    "temperature": Kind(
        "sampling",
        "B V",
        "(ℓ − max ℓ) / temperature",
        "2·B·V",
        "The temperature stretches the differences (below 1: more certain) or shrinks them "
        "(above 1: more daring).",
        "La temperatura estira las diferencias (menos de 1: más seguro) o las encoge (más de 1: "
        "más atrevido).",
    ),
    "filtered": Kind(
        "sampling",
        "B V",
        "ℓ (top-k, top-p, min-p), −∞",
        "0",
        "Tokens that top-k, top-p and min-p do not allow are forbidden; at temperature 0 all but "
        "the likeliest are.",
        "Se prohíben los tokens que top-k, top-p y min-p no permiten; con temperatura 0, todos "
        "menos el más probable.",
        move=True,
    ),
    "probs": Kind(
        "sampling",
        "B V",
        "e^ℓ / Σ e^ℓ",
        "5·B·V",
        "Softmax makes probabilities of what is left; they sum to 1.",
        "Softmax convierte en probabilidades lo que queda; suman 1.",
    ),
    "token": Kind(
        "sampling",
        "B",
        "token ~ probs",
        "0",
        "One token is drawn by these probabilities: the next token of the text.",
        "Se sortea un token con estas probabilidades: el siguiente del texto.",
        move=True,
    ),
}


def layout(
    config: ModelConfig,
    *,
    cached: bool = False,
    loss: bool = False,
    sampling: Sequence[str] = (),
) -> tuple[Step, ...]:
    """Every row of a forward pass, in order; with a cache, a loss and rows of sampling if asked."""
    steps = embedding(config)
    for layer in range(config.n_layers):
        steps += block(config, layer, steps[-1].name, cached=cached)
    if config.final_norm:
        steps.append(norm(config, "final_norm", "final_norm", None, steps[-1].name))
    head = "embedding.weight" if config.tied_head else "head.weight"
    equation = "x Eᵀ" if config.tied_head else "x W_headᵀ"
    steps.append(Step("logits", "logits", None, equation, (steps[-1].name,), (head,)))
    if loss:
        steps += [plain("nll", "logits", "targets"), plain("loss", "nll")]
    before = "logits"
    for kind in sampling:
        steps.append(plain(kind, before, *(["ids"] if kind == "penalised" else [])))
        before = kind
    return tuple(steps)


def plain(kind: str, *inputs: str) -> Step:
    """A row outside the blocks without parameters."""
    return Step(kind, kind, None, TABLE[kind].equation, inputs)


def embedding(config: ModelConfig) -> list[Step]:
    """The rows before the first block; the last of them is the stream."""
    tok = Step("tok", "tok", None, TABLE["tok"].equation, ("ids",), ("embedding.weight",))
    if config.position != "learned":
        return [tok]
    pos = Step("pos", "pos", None, TABLE["pos"].equation, (), ("positions.weight",))
    return [tok, pos, plain("embed", "tok", "pos")]


def block(config: ModelConfig, layer: int, stream: str, *, cached: bool) -> list[Step]:
    """The rows of one block, whose input is the row `stream`; the last of them is its output."""
    at = f"blocks.{layer}"
    pre = config.norm_order == "pre"
    norm1 = norm(config, f"{at}.norm1", "norm1", layer, stream if pre else f"{at}.resid_attn")
    heads = attention(config, layer, norm1.name if pre else stream, cached=cached)
    after = at_layer("resid_attn", layer, stream, f"{at}.attn_out")
    seen = stream if config.parallel_residual else after.name
    norm2 = norm(config, f"{at}.norm2", "norm2", layer, seen if pre else f"{at}.resid_ffn")
    ffn = feed_forward(config, layer, norm2.name if pre else norm1.name)
    end = at_layer("resid_ffn", layer, after.name if pre else norm1.name, f"{at}.down")
    if pre:
        return [norm1, *heads, after, norm2, *ffn, end]
    return [*heads, after, norm1, *ffn, end, norm2]


def at_layer(kind: str, layer: int, *inputs: str) -> Step:
    """A row of a block without parameters."""
    return Step(f"blocks.{layer}.{kind}", kind, layer, TABLE[kind].equation, inputs)


def norm(config: ModelConfig, name: str, kind: str, layer: int | None, stream: str) -> Step:
    """A LayerNorm or RMSNorm."""
    parts = ("weight", "bias") if config.norm == "layernorm" else ("weight",)
    params = tuple(f"{name}.{part}" for part in parts)
    return Step(name, kind, layer, NORMS[config.norm], (stream,), params)


def linear(kind: str, layer: int, source: str, module: str, *, bias: bool) -> Step:
    """A projection, with or without a bias."""
    equation = TABLE[kind].equation if bias else TABLE[kind].equation.removesuffix(" + b")
    parts = ("weight", "bias") if bias else ("weight",)
    params = tuple(f"blocks.{layer}.{module}.{part}" for part in parts)
    return Step(f"blocks.{layer}.{kind}", kind, layer, equation, (source,), params)


def attention(config: ModelConfig, layer: int, source: str, *, cached: bool) -> list[Step]:
    """The rows of attention that read the row `source`."""
    at = f"blocks.{layer}"
    steps = []
    for each in "qkv":
        module = f"attention.{each}_proj"
        steps += [
            linear(f"{each}_proj", layer, source, module, bias=config.attn_bias),
            at_layer(each, layer, f"{at}.{each}_proj"),
        ]
    q, k, v = (f"{at}.{each}" for each in "qkv")
    if config.position == "rope":
        steps += [at_layer("q_rot", layer, q), at_layer("k_rot", layer, k)]
        q, k = f"{at}.q_rot", f"{at}.k_rot"
    if cached:
        steps += [at_layer("keys", layer, k), at_layer("values", layer, v)]
        k, v = f"{at}.keys", f"{at}.values"
    steps.append(at_layer("scores", layer, q, k))
    if config.causal:
        steps.append(at_layer("masked", layer, f"{at}.scores"))
    return [
        *steps,
        at_layer("weights", layer, steps[-1].name),
        at_layer("context", layer, f"{at}.weights", v),
        at_layer("merged", layer, f"{at}.context"),
        linear("attn_out", layer, f"{at}.merged", "attention.out_proj", bias=config.attn_bias),
    ]


def feed_forward(config: ModelConfig, layer: int, source: str) -> list[Step]:
    """The rows of the feed-forward network that read the row `source`."""
    at, bias = f"blocks.{layer}", config.ffn_bias
    steps = [linear("up", layer, source, "feed_forward.up_proj", bias=bias)]
    if config.activation == "swiglu":
        steps.append(linear("gate", layer, source, "feed_forward.gate_proj", bias=bias))
    act = Step(f"{at}.act", "act", layer, ACTIVATIONS[config.activation], (steps[-1].name,))
    steps.append(act)
    if config.activation == "swiglu":
        steps.append(at_layer("gated", layer, act.name, f"{at}.up"))
    down = linear("down", layer, steps[-1].name, "feed_forward.down_proj", bias=bias)
    return [*steps, down]
