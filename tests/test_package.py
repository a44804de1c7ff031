"""The wheel: what is in it, and that it works where nothing else of ours is."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
DATA = {"mlx_gpt/trace.schema.json", "tui/app.tcss", "tui/models.tcss"}
DEMO = ("answers.json.gz", "config.toml", "data.json")
DEMO += ("events.jsonl", "metrics.jsonl", "samples.jsonl")


def run(*words: str | Path, cwd: Path) -> str:
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # Through the source archive, so that the archive is shown to be whole as well.
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_two_packages_their_data_and_the_presets(wheel: Path):
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    sources = [path for package in ("mlx_gpt", "tui") for path in (ROOT / package).rglob("*.py")]
    wanted = {str(path.relative_to(ROOT)) for path in sources}
    models = ROOT / "models"
    given = [*models.glob("*.toml"), *(models / "small").iterdir()]
    wanted |= {f"mlx_gpt/{path.relative_to(ROOT)}" for path in given}
    assert held == wanted | DATA | {f"tui/demo/{name}" for name in DEMO}


def test_the_installed_wheel_works_on_its_own(wheel: Path, tmp_path: Path):
    run(sys.executable, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    binaries = tmp_path / "env" / "bin"
    run(binaries / "pip", "install", "-q", f"{wheel}[cpu]", cwd=tmp_path)
    assert run(binaries / "mlx-gpt", "--version", cwd=tmp_path).startswith("mlx-gpt ")
    assert "103680" in run(binaries / "mlx-gpt", "params", "mini", "--json", cwd=tmp_path)
    assert " tui" in run(binaries / "mlx-gpt", "completion", "bash", cwd=tmp_path)
    assert '"fast": true' in run(binaries / "mlx-gpt", "info", "--json", cwd=tmp_path)
