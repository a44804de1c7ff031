"""The step table against the inventory and against itself."""

from test_model import every_variant, variant

from mlx_gpt.inventory import forward_flops, inventory
from mlx_gpt.steps import TABLE, layout, product, shape, sizes


@every_variant
def test_the_flops_of_all_rows_are_those_of_the_inventory(changes: dict) -> None:
    config = variant(changes)
    dims = sizes(config, B=2, T=7)
    total = sum(product(step.entry.flops, dims) for step in layout(config))
    assert total == forward_flops(config, 2, 7)


@every_variant
def test_every_parameter_is_used_by_a_row_and_no_other_is(changes: dict) -> None:
    config = variant(changes)
    used = {name for step in layout(config) for name in step.params}
    assert used == {part.name for part in inventory(config).components}


@every_variant
def test_a_row_reads_only_rows_that_came_before(changes: dict) -> None:
    seen = {"ids", "targets"}
    for step in layout(variant(changes), cached=True, loss=True, sampling=("last", "token")):
        assert seen.issuperset(step.inputs), step
        assert step.name not in seen
        seen.add(step.name)


def test_every_entry_is_explained_in_both_languages_on_one_line_of_equation() -> None:
    for kind, entry in TABLE.items():
        assert entry.en.endswith("."), kind
        assert entry.es.endswith("."), kind
        assert entry.en != entry.es
        assert entry.equation
        assert "\n" not in entry.equation
        assert len(entry.en) < 200
        assert len(entry.es) < 220


def test_axes_are_products_of_named_sizes() -> None:
    dims = {"B": 2, "T": 7, "n_kv_heads": 3, "d_head": 10}
    assert shape("B T n_kv_heads·d_head", dims) == (2, 7, 30)
    assert shape("", dims) == ()
    assert product("2·B·T", dims) == 28
