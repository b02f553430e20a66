import signal
import subprocess
import sys
import time

import supercool
from conftest import LIQUID, command


def test_it_is_the_command():
    ended = command("--version")
    assert (ended.returncode, ended.stdout) == (0, f"supercool {supercool.__version__}\n")
    assert supercool.presets().keys() == set(command("init").stdout.split())
    # Behind lines for editors.
    lines = command("init", "wca").stdout.split("\n\n", 1)
    assert lines[0].startswith("#:schema") and lines[1] == supercool.presets()["wca"]


def test_wrong_words_and_files_have_the_exit_codes_of_the_command(tmp_path):
    assert command("rum").returncode == 2
    ended = command("check", "nothing.toml", cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.startswith("Error: ") and "nothing.toml" in ended.stderr


def test_a_signal_stops_it_with_a_checkpoint(tmp_path):
    (tmp_path / "long.toml").write_text(LIQUID.replace("steps = 200", "steps = 100_000_000"))
    words = [sys.executable, "-m", "supercool", "run", "long.toml", "--quiet"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        until(lambda: (tmp_path / "results/long/production.h5").exists())
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=120)
    assert run.returncode == 75, err
    assert "supercool resume" in out and "Traceback" not in err


def until(true, seconds=120):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)
