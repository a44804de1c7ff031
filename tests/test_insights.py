"""The light cone and the statement of account of a logit."""

from mlx_gpt.device import mx

import numpy as np
import pytest
from test_model import SMALL, every_variant, loud, random_tokens, variant

from mlx_gpt.errors import UserError
from mlx_gpt.insights import account, light_cone
from mlx_gpt.model import GPT
from mlx_gpt.steps import layout

T = 7
TOKENS = random_tokens(1, T)


@every_variant
def test_a_changed_token_reaches_itself_then_the_later_ones(changes: dict) -> None:
    config = variant(changes)
    reach = {row.name: np.array(row.changes) > 0 for row in light_cone(loud(config), TOKENS, 3)}
    assert [*reach] == [step.name for step in layout(config)]
    assert reach["tok"].tolist() == [i == 3 for i in range(T)]
    assert reach["blocks.0.k"].tolist() == [i == 3 for i in range(T)]
    expected = [i >= 3 or not config.causal for i in range(T)]
    assert reach["blocks.0.context"].tolist() == expected
    assert reach["logits"].tolist() == expected
    for layer in range(config.n_layers):
        assert np.array_equal(reach[f"blocks.{layer}.up"], reach[f"blocks.{layer}.down"])


def test_a_position_may_be_counted_from_the_end_and_the_token_chosen() -> None:
    model = loud(SMALL)
    assert light_cone(model, TOKENS, -1) == light_cone(model, TOKENS, T - 1)
    same = light_cone(model, TOKENS, 2, token=int(TOKENS[0, 2]))
    assert all(max(row.changes) == 0 for row in same)


@pytest.mark.parametrize("position", [7, -8])
def test_a_position_outside_the_prompt_is_refused(position: int) -> None:
    with pytest.raises(UserError, match="outside the 7 tokens"):
        light_cone(GPT(SMALL), TOKENS, position)
    with pytest.raises(UserError, match="outside the 7 tokens"):
        account(GPT(SMALL), TOKENS, position=position)


def test_a_token_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(UserError, match="token id 29"):
        light_cone(GPT(SMALL), TOKENS, 0, token=29)
    with pytest.raises(UserError, match="token id 29"):
        account(GPT(SMALL), TOKENS, token=29)


@every_variant
def test_the_entries_sum_to_the_logit(changes: dict) -> None:
    config = variant(changes)
    model = loud(config)
    if config.norm_order == "post":
        with pytest.raises(UserError, match="no sum of writes"):
            account(model, TOKENS)
        return
    logits = np.array(model(mx.array(TOKENS)))[0]
    for position, token in ((-1, None), (2, 11)):
        found = account(model, TOKENS, token=token, position=position)
        assert found.logit == logits[position, found.token]
        assert found.error < 1e-5
        assert found.total == pytest.approx(found.logit, abs=1e-4)
    names = [entry.name for entry in account(model, TOKENS).entries]
    assert sum("head" in name for name in names) == config.n_layers * config.n_heads
    assert account(model, TOKENS).token == logits[-1].argmax()


def test_a_head_without_output_weights_adds_nothing() -> None:
    model = loud(SMALL)
    out = model.blocks[1].attention.out_proj
    kept = np.ones(SMALL.d_model)
    kept[10:20] = 0  # the columns that head 1 of 3 is multiplied by
    out.weight = out.weight * mx.array(kept, mx.float32)
    found = {entry.name: entry.amount for entry in account(model, TOKENS).entries}
    assert found["blocks.1.head 1"] == 0
    assert abs(found["blocks.1.head 0"]) > 1e-5
    assert abs(found["blocks.0.head 1"]) > 1e-5
