"""The claims of the two courses, each with what is measured when one looks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from mlx_gpt.labs import figures
from mlx_gpt.labs.subject import Measure
from mlx_gpt.language import say
from mlx_gpt.tokenizer import Report, silent

Verdict = Literal["right", "wrong", "misleading", "trap", "not checkable"]


@dataclass(frozen=True)
class Claim:
    """What a course says, what is to be said about it, and how it is measured."""

    verdict: Verdict
    en: str
    es: str
    note_en: str = ""
    note_es: str = ""
    run: Callable[[], figures.Figures] | None = None

    @property
    def text(self) -> str:
        """The claim, in the language of the reader."""
        return say(self.en, self.es)

    @property
    def note(self) -> str:
        """What is to be said about it, in the language of the reader."""
        return say(self.note_en, self.note_es)


class Finding(NamedTuple):
    """A claim with its figures."""

    key: str
    claim: Claim
    measures: tuple[Measure, ...]

    @property
    def ok(self) -> bool:
        """Whether the figures bear out the verdict."""
        return all(measure.ok for measure in self.measures)


def right(en: str, es: str, run: Callable[[], figures.Figures]) -> Claim:
    """A claim that is simply true."""
    return Claim("right", en, es, run=run)


# A: the first course (the block). B: the second (the whole GPT). C: traps on the way.
CLAIMS: dict[str, Claim] = {
    "A1": right(
        "z = x + MHA(LN₁ x), y = z + FFN(LN₂ z)",
        "z = x + MHA(LN₁ x), y = z + FFN(LN₂ z)",
        figures.residual_sums,
    ),
    "A2": right(
        "A block takes (T, d) and gives (T, d), however many there are",
        "Un bloque toma (T, d) y da (T, d), sean los que sean",
        figures.widths,
    ),
    "A3": right("Post-LN is LN₁(x + MHA x)", "Post-LN es LN₁(x + MHA x)", figures.post_norm),
    "A4": right(
        "LN = γ(x − μ)/√(σ² + ε) + β over the last axis, σ² divided by d",
        "LN = γ(x − μ)/√(σ² + ε) + β sobre el último eje, con σ² dividida por d",
        figures.layer_norm,
    ),
    "A5": Claim(
        "wrong",
        "All LayerNorms of 2 layers, d = 64: 256 + 128 = 384 parameters",
        "Todas las LayerNorm de 2 capas, d = 64: 256 + 128 = 384 parámetros",
        "A factor of 2 is missing: 2 layers · 2 norms · 2d + 2d = 640.",
        "Falta un factor 2: 2 capas · 2 normas · 2d + 2d = 640.",
        figures.norm_total,
    ),
    "A6": right(
        "2L residual updates, then logits (T, V)",
        "2L sumas residuales, y después logits (T, V)",
        figures.updates,
    ),
    "A7": Claim(
        "misleading",
        "Six tensors flow through the model",
        "Por el modelo fluyen seis tensores",
        "Six kinds; the diagram has 2L + 4 tensors, a full trace many more.",
        "Seis clases; el diagrama tiene 2L + 4 tensores, una traza completa muchos más.",
        figures.tensors,
    ),
    "A8": right(
        "Sublayers only read the stream and add to it",
        "Las subcapas solo leen la corriente y le suman",
        figures.additions,
    ),
    "A9": right(
        "Attention mixes positions, the FFN does not (token 3 of 7 changed)",
        "La atención mezcla posiciones, la FFN no (cambia el token 3 de 7)",
        figures.spread,
    ),
    "A10": right(
        "The mask puts −∞ on the future, before softmax: token 0 sees only itself",
        "La máscara pone −∞ en el futuro, antes de softmax: el token 0 solo se ve a sí mismo",
        figures.mask,
    ),
    "A11": right(
        "RoPE does not make a model causal",
        "RoPE no hace causal al modelo",
        figures.rope_alone,
    ),
    "A12": Claim(
        "misleading",
        "Without the mask inference is fine and training ruined",
        "Sin la máscara la inferencia va bien y el entrenamiento se arruina",
        "True of the last position of one layer only; with two, its logits move.",
        "Solo es cierto en la última posición de una capa; con dos, sus logits se mueven.",
        figures.unmasked,
    ),
    "A13": Claim(
        "misleading",
        "The final LayerNorm is needed, and the lab catches it",
        "La LayerNorm final hace falta, y el lab lo detecta",
        "Scale tells it: the logits grow with the stream. The first loss tells nothing.",
        "Lo dice la escala: los logits crecen con la corriente. La primera pérdida no dice nada.",
        figures.without_final_norm,
    ),
    "A14": Claim(
        "right",
        "Lab 00: trace by hand; build the block",
        "Lab 00: traza a mano; construye el bloque",
        "The name stands for two things; L00 does both.",
        "El nombre vale por dos cosas; L00 hace ambas.",
        figures.by_hand,
    ),
    "A15": right(
        "RMSNorm is a change of one line: no mean, no bias (mini has 5 norms)",
        "RMSNorm es un cambio de una línea: sin media ni sesgo (mini tiene 5 normas)",
        figures.rms,
    ),
    "B1": right(
        "x_L = x₀ + Σ (attention + MLP)", "x_L = x₀ + Σ (atención + MLP)", figures.additions
    ),
    "B2": right(
        "W₁ ∈ R^(4d × d): MLX stores (out, in) too",
        "W₁ ∈ R^(4d × d): también MLX guarda (salida, entrada)",
        figures.up_matrix,
    ),
    "B3": right(
        "Two thirds of a block are in the MLP",
        "Dos tercios de un bloque están en la MLP",
        figures.share,
    ),
    "B4": Claim(
        "misleading",
        "F.gelu is the GELU that GPT-2 uses",
        "F.gelu es la GELU que usa GPT-2",
        "F.gelu is the exact form; GPT-2 computes the tanh form.",
        "F.gelu es la forma exacta; GPT-2 calcula la forma tanh.",
        figures.gelus,
    ),
    "B5": Claim(
        "right",
        "GPT-2: 12Ld² + Vd + T_max·d ≈ 124 M",
        "GPT-2: 12Ld² + Vd + T_max·d ≈ 124 M",
        "The exact count adds biases and norms.",
        "La cuenta exacta añade sesgos y normas.",
        figures.gpt2,
    ),
    "B6": right(
        "The model of the course has 867 072 parameters",
        "El modelo del curso tiene 867 072 parámetros",
        figures.toy,
    ),
    "B7": Claim(
        "misleading",
        "A tied tensor is not counted twice",
        "Un tensor atado no se cuenta dos veces",
        "In torch. In MLX head.weight = emb.weight counts twice and ties nothing (C5).",
        "En torch. En MLX head.weight = emb.weight cuenta dos veces y no ata nada (C5).",
        figures.double_count,
    ),
    "B8": right(
        "1/√(2L) keeps the variance of the stream from growing with depth",
        "1/√(2L) evita que la varianza de la corriente crezca con la profundidad",
        figures.residual_start,
    ),
    "B9": Claim(
        "misleading",
        "Each block adds two contributions",
        "Cada bloque suma dos contribuciones",
        "Unequal ones: at the start the FFN writes much more than attention.",
        "Desiguales: al principio la FFN escribe mucho más que la atención.",
        figures.two_writers,
    ),
    "B10": Claim(
        "misleading",
        "In Post-LN the gradients near the output are large at the start (Xiong 2020)",
        "En Post-LN los gradientes cerca de la salida son grandes al inicio (Xiong 2020)",
        "From Xavier's start, yes; from the course's own 0.02 it cannot be seen.",
        "Con el inicio de Xavier, sí; con el 0.02 del propio curso no se ve.",
        figures.last_gradients,
    ),
    "B11": right(
        "The first loss is about ln 512 = 6.238",
        "La primera pérdida es aproximadamente ln 512 = 6.238",
        figures.first_loss,
    ),
    "B12": right(
        "Every position predicts: 7 tokens, 7 predictions",
        "Cada posición predice: 7 tokens, 7 predicciones",
        figures.predictions,
    ),
    "B13": Claim(
        "right",
        "T may not exceed block_size",
        "T no puede superar block_size",
        "Because of the table of learned positions; RoPE has none.",
        "Por la tabla de posiciones aprendidas; RoPE no tiene ninguna.",
        figures.no_table,
    ),
    "C1": Claim(
        "wrong",
        "LayerNorm total: 384",
        "Total de LayerNorm: 384",
        "See A5: 10·d = 640.",
        "Véase A5: 10·d = 640.",
        figures.norm_total,
    ),
    "C2": Claim(
        "wrong",
        "In Post-LN the variance of the stream grows without bound",
        "En Post-LN la varianza de la corriente crece sin límite",
        "Backwards: Post-LN's is constant, Pre-LN's grows. The reason for Pre-LN is the gradient.",
        "Al revés: la de Post-LN es constante, la de Pre-LN crece. La razón es el gradiente.",
        figures.variances,
    ),
    "C3": Claim(
        "wrong",
        "model(idx, targets=idx) begins at ln 512 = 6.24",
        "model(idx, targets=idx) empieza en ln 512 = 6.24",
        "The token is in the stream already, and the tied head finds it: it learns to copy.",
        "El token ya está en la corriente, y la cabeza atada lo encuentra: aprende a copiar.",
        figures.copying,
    ),
    "C4": Claim(
        "trap",
        "After a LayerNorm the variance is 1",
        "Tras una LayerNorm la varianza es 1",
        "Embeddings start with σ = 0.02, so the first is σ²/(σ² + ε).",
        "Los embeddings empiezan con σ = 0.02; la primera es σ²/(σ² + ε).",
        figures.first_norm,
    ),
    "C5": Claim(
        "trap",
        "head.weight = emb.weight ties the head",
        "head.weight = emb.weight ata la cabeza",
        "Not in MLX: it is counted twice and gone after one step. Use emb.as_linear(x).",
        "En MLX no: se cuenta dos veces y se pierde tras un paso. Usa emb.as_linear(x).",
        figures.double_count,
    ),
    "C6": Claim(
        "trap",
        "Scale the weights that end in proj.weight",
        "Escala los pesos que acaban en proj.weight",
        "With MLX's names q, k and v end so too; name the two writers.",
        "Con los nombres de MLX, q, k y v acaban así también; nombra las dos que escriben.",
        figures.suffixes,
    ),
    "C7": Claim(
        "trap",
        "MLX's own start will do",
        "Basta el inicio propio de MLX",
        "Its embeddings have σ = 1/√d: the first loss is about half a nat too high.",
        "Sus embeddings tienen σ = 1/√d: la primera pérdida es medio nat más alta.",
        figures.mlx_start,
    ),
    "C8": Claim(
        "trap",
        "targets.view(-1) flattens idx[:, 1:]",
        "targets.view(-1) aplana idx[:, 1:]",
        "That slice is not in one piece, and torch's view refuses it; reshape copies.",
        "Ese corte no está en una pieza, y el view de torch lo rechaza; reshape copia.",
        figures.slices,
    ),
    "C9": Claim(
        "not checkable",
        "Every modern transformer, Gemini and Claude too, uses Pre-LN",
        "Todo transformer moderno, también Gemini y Claude, usa Pre-LN",
        "Their code is not public; the second course says “the great majority”.",
        "Su código no es público; el segundo curso dice «la gran mayoría».",
    ),
}


def measured(report: Report = silent) -> Iterator[Finding]:
    """Every claim with its figures, measured now."""
    for done, (key, claim) in enumerate(CLAIMS.items()):
        report(f"{key} {claim.text[:40]}", done, len(CLAIMS))
        yield Finding(key, claim, tuple(claim.run()) if claim.run else ())
    report("", len(CLAIMS), len(CLAIMS))
