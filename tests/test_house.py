"""How the code is laid out: who may import whom, and what no file may hold."""

import ast
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# A module imports only from those before it.
ORDER: list[str] = [
    "errors",
    "language",
    "power",
    "config",
    "device",
    "tokenizer",
    "story_words",
    "stories",
    "corpus",
    "data",
    "steps",
    "measures",
    "traces",
    "tracefile",
    "replay",
    "tracing",
    "kernels",
    "model",
    "decoding",
    "inventory",
    "interop.fields",
    "interop.layout",
    "interop.gpt2",
    "interop.gpt_neox",
    "interop.llama",
    "interop.starcoder2",
    "interop.families",
    "interop.weights",
    "interop.bpe",
    "interop.pieces",
    "interop.hf_tokenizer",
    "interop.folder",
    "interop.gguf",
    "interop.hub",
    "run",
    "tensorboard",
    "checkpoint",
    "sampling",
    "training",
    "observer",
    "tracer",
    "insights",
    "session",
    "labs.mutants",
    "labs.breaks",
    "labs.subject",
    "labs.forward",
    "labs.attention",
    "labs.learning",
    "labs.devices",
    "labs.table",
    "labs.figures",
    "labs.claims",
    "bench",
    "terminal",
    "commands.params",
    "commands.models",
    "worker",
    "commands.watch",
    "commands.start",
    "commands.trace_table",
    "commands.trace_views",
    "commands.trace_html",
    "commands.sample",
    "commands.trace_subject",
    "commands.trace_diff",
    "commands.runs_export",
    "commands.completion_syntax",
    "commands.completion_bash",
    "commands.completion_zsh",
    "commands.completion_fish",
    "commands",
    "cli",
    "commands.completion",
    "__main__",
]
PURE = ["errors", "language", "power", "config", "run", "terminal", "cli"]
HEAVY = ["mlx", "numpy", "psutil", "sentencepiece", "textual"]


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def imports(path: Path) -> Iterator[str]:
    """The modules that a file imports, in the order of its lines, wherever they stand."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            module = node.module or ""
            for alias in node.names:
                inner = ROOT / module.replace(".", "/") / alias.name
                is_module = inner.with_suffix(".py").exists() or inner.is_dir()
                yield f"{module}.{alias.name}" if is_module else module


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def rank(module: str) -> int:
    """The place of a module of ours in ORDER; the package itself comes before all."""
    name = module.partition(".")[2]
    return ORDER.index(name if name in ORDER else name.partition(".")[0]) if name else -1


def child(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def loaded_by(code: str) -> set[str]:
    done = child("-c", f"{code}\nimport sys; print('\\n'.join(['', 'LOADED', *sys.modules]))")
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.partition("LOADED")[2].split()}


def test_every_module_has_its_place_in_the_order():
    names = {path.stem for path in (ROOT / "mlx_gpt").glob("*.py")} - {"__init__"}
    assert names <= set(ORDER)


@pytest.mark.parametrize("path", sources("mlx_gpt"), ids=name_of)
def test_a_module_imports_only_from_those_before_it(path: Path):
    if path.name == "__init__.py":
        return
    ours = [module for module in imports(path) if within(module, "mlx_gpt")]
    late = [module for module in ours if rank(module) >= rank(name_of(path))]
    assert late == []


@pytest.mark.parametrize("path", sources("mlx_gpt"), ids=name_of)
def test_the_library_knows_nothing_of_the_app(path: Path):
    assert [m for m in imports(path) if within(m, "tui") or within(m, "textual")] == []


@pytest.mark.parametrize("path", sources("tui"), ids=name_of)
def test_the_app_knows_nothing_of_mlx(path: Path):
    assert [m for m in imports(path) if within(m, "mlx") or within(m, "mlx_gpt.device")] == []


@pytest.mark.parametrize("path", sources("mlx_gpt", "benchmarks"), ids=name_of)
def test_mlx_is_imported_after_the_device(path: Path):
    modules = list(imports(path))
    of_mlx = [i for i, module in enumerate(modules) if within(module, "mlx")]
    if name_of(path) != "mlx_gpt.device":
        assert not of_mlx or "mlx_gpt.device" in modules[: of_mlx[0]]


def test_only_the_device_imports_the_core_of_mlx():
    files = sources("mlx_gpt", "tui", "tests", "benchmarks")
    assert [name_of(path) for path in files if "mlx.core" in imports(path)] == ["mlx_gpt.device"]


@pytest.mark.parametrize("module", PURE)
def test_what_reads_runs_and_speaks_needs_only_the_standard_library(module: str):
    assert loaded_by(f"import mlx_gpt.{module}").isdisjoint(HEAVY)


def test_help_loads_neither_mlx_nor_textual_nor_numpy():
    code = "from mlx_gpt.cli import main; main(['--help'])"
    assert loaded_by(code).isdisjoint(HEAVY)


def test_the_command_with_the_app_starts_without_mlx():
    assert loaded_by("import tui.cli").isdisjoint(HEAVY)


def test_the_command_line_works_with_textual_missing():
    code = (
        "import sys; sys.modules['textual'] = None\nfrom mlx_gpt.cli import main; main(['--help'])"
    )
    assert "train" in child("-c", code).stdout


def test_help_takes_less_than_a_fifth_of_a_second_of_cpu():
    def cpu() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        child("-m", "mlx_gpt", "--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(cpu() for _ in range(5)) < 0.2


@pytest.mark.parametrize("path", sources("mlx_gpt", "tui"), ids=name_of)
def test_everything_public_says_what_it_is(path: Path):
    silent = list(undocumented(ast.parse(path.read_text(encoding="utf-8"))))
    assert silent == []


def undocumented(node: ast.Module | ast.ClassDef) -> Iterator[str]:
    if not ast.get_docstring(node):
        yield getattr(node, "name", "module")
    for inner in node.body:
        public = isinstance(inner, ast.FunctionDef | ast.ClassDef) and inner.name[0] != "_"
        if isinstance(inner, ast.ClassDef) and public:
            yield from undocumented(inner)
        elif isinstance(inner, ast.FunctionDef) and public and not ast.get_docstring(inner):
            yield inner.name


def test_no_module_is_a_drawer_for_odds_and_ends():
    drawers = {"utils", "util", "common", "helpers", "misc", "base"}
    assert [p for p in sources("mlx_gpt", "tui", "tests", "benchmarks") if p.stem in drawers] == []


def test_the_public_names_are_sorted_and_can_be_loaded():
    import mlx_gpt

    homes = [name for names in mlx_gpt.HOMES.values() for name in names]
    assert sorted(homes) == sorted(mlx_gpt.__all__)
    assert all(getattr(mlx_gpt, name) is not None for name in mlx_gpt.__all__)
    with pytest.raises(AttributeError, match="no attribute missing"):
        mlx_gpt.__getattr__("missing")


def own_files() -> Iterator[Path]:
    """Every text file of the project, wherever it lies."""
    skipped = {".git", ".venv", "runs", "build", "dist", "__pycache__"}
    for folder, inner, files in os.walk(ROOT):
        inner[:] = [name for name in inner if name not in skipped and "cache" not in name]
        for name in files:
            if Path(name).suffix in {".py", ".md", ".toml", ".tcss", ""}:
                yield Path(folder) / name


def test_no_file_silences_a_checker_or_names_a_package_host():
    words = ["# no" + "qa", "type: " + "ignore", "pyright: " + "ignore"]
    words += ["py" + "pi.org", "python" + "hosted.org"]
    found = [
        (str(path), word)
        for path in own_files()
        for word in words
        if word in path.read_text(encoding="utf-8")
    ]
    assert found == []
