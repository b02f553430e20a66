"""Fetches the stored samples of the package `berni` and writes them as extended XYZ.

    python berni_samples.py DIRECTORY

berni (D. Coslovich) is under the GNU General Public Licence 3, so its samples are fetched where they
are wanted and not kept with this project; their energies stand in tests/data/berni.json. Needs pip.
"""

import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

VERSION = "0.2.1"
SAMPLES = {
    "lennard_jones": "lennard_jones-13ce47602b259f7802e89e23ffd57f19",
    "bernu_hiwatari_hansen_pastore": "bernu_hiwatari_hansen_pastore-f61d7e58b9656cf9640f6e5754441930",
    "kob_andersen": "kob_andersen-8f4a9fe755e5c1966c10b50c9a53e6bf",
}


def wheel():
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run(command + ["--dest", directory, f"berni=={VERSION}"], check=True)
        (path,) = Path(directory).glob("berni-*.whl")
        return zipfile.ZipFile(io.BytesIO(path.read_bytes()))


def convert(text):
    """Species A first; the digits of the positions stay as they are."""
    lines = text.splitlines()
    edges = next(word for word in lines[1].split() if word.startswith("cell:"))
    lx, ly, lz = edges.removeprefix("cell:").split(",")
    rows = [line.split() for line in lines[2 : 2 + int(lines[0])]]
    names = {"1": "A", "2": "B", "A": "A"}
    rows = sorted(([names[row[0]], *row[1:4]] for row in rows), key=lambda row: row[0])
    header = f'Lattice="{lx} 0 0 0 {ly} 0 0 0 {lz}" Properties=species:S:1:pos:R:3 pbc="T T T"'
    return "\n".join([str(len(rows)), header, *(" ".join(row) for row in rows)]) + "\n"


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    with wheel() as package:
        for name, sample in SAMPLES.items():
            text = package.read(f"berni/samples/{sample}.xyz").decode()
            (directory / f"{name}.xyz").write_text(convert(text))


if __name__ == "__main__":
    main()
