"""The lab of two devices: GPU and CPU must compute the same."""

from collections.abc import Callable

from mlx_gpt.device import has_gpu, mx

import numpy as np

from mlx_gpt.labs.subject import (
    Answer,
    Array,
    Measure,
    Rows,
    Skip,
    Subject,
    apart,
    cramped,
    gap,
    in_pieces,
    logits,
    rows,
    whole,
)
from mlx_gpt.model import GPT
from mlx_gpt.tracer import gradients

# L16


def both_devices(subject: Subject) -> Answer:
    """GPU and CPU compute the same, forward and backward, row by row."""
    if not has_gpu():
        return Skip("this machine has no GPU for MLX", "esta máquina no tiene GPU para MLX")
    if skip := cramped(subject):
        return skip
    model, cpu, gpu = subject.model, mx.Device(mx.cpu), mx.Device(mx.gpu)
    return [
        *compare_devices(lambda _: model, subject.tokens(2, 8), cpu, gpu),
        compare_wide_heads(subject, cpu, gpu),
    ]


def compare_wide_heads(subject: Subject, first: mx.Device, second: mx.Device) -> Measure:
    """Logits with d_head = 64, whole and token by token, which is what a GPU's kernel serves."""
    model, tokens = subject.wide, subject.tokens(2, 16, subject.small)

    def on(device: mx.Device) -> Array:
        with mx.stream(device):
            one_by_one = [in_pieces(model, tokens, 1)] if model.config.causal else []
            return np.stack([logits(model, tokens), *one_by_one])

    return Measure(
        "logits, d_head 64, whole and one by one: GPU - CPU",
        "logits, d_head 64, de una vez y de uno en uno: GPU - CPU",
        gap(on(first), on(second)),
        high=2e-5,
    )


def compare_devices(
    model_on: Callable[[mx.Device], GPT], text: Array, first: mx.Device, second: mx.Device
) -> list[Measure]:
    """Every row and its gradient on one device and on another: the worst of them, by name."""
    here, there = (on_device(model_on(device), text, device) for device in (first, second))
    return [
        worst_row(here[0], there[0], 2e-5, "row", "fila"),
        worst_row(here[1], there[1], 2e-4, "gradient of row", "gradiente de la fila"),
    ]


def on_device(model: GPT, text: Array, device: mx.Device) -> tuple[Rows, Rows]:
    """Every row, and the derivative of the loss by it, computed on a device."""
    inputs, targets = text[:, :-1], text[:, 1:]
    with mx.stream(device):
        found = rows(model, inputs)
        by_row = gradients(model, inputs, targets).rows
        return found, {name: whole(x) for name, x in by_row.items()}


def worst_row(a: Rows, b: Rows, tol: float, en: str, es: str) -> Measure:
    """The first row past the tolerance, or else the one that is furthest apart."""
    gaps = {name: apart(a[name], b[name]) / scale(a[name]) for name in a}
    past = [name for name in gaps if not gaps[name] <= tol]
    name = past[0] if past else max(gaps, key=lambda name: gaps[name])
    text = f"{name}: GPU - CPU"
    return Measure(f"{en} {text}", f"{es} {text}", gaps[name], high=tol)


def scale(x: Array) -> float:
    """The largest finite number, or 1 where all are zero."""
    return float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) or 1.0
