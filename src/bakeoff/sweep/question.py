"""A sweep in a file -> Hydra's words, as one would write them on the command line.

# conf/sweep/rates.yaml
lr: [cosine, exponential]        these values
lr.peak: 0.002,0.005             or Hydra's own words
seed: range(0,3)
~lr.floor:                       taken away
"""

from pathlib import Path
from typing import Any

from bakeoff.errors import ConfigError
from bakeoff.run.yaml_file import read_mapping
from bakeoff.sweep.parameters import as_words


def words_in(file: Path) -> list[str]:
    if not file.is_file():
        raise ConfigError(f"--from: no such file, got {file.as_posix()}; sweeps are kept in conf/sweep/<name>.yaml")
    words = [_word(file, key, value) for key, value in read_mapping(file).items()]
    if not words:
        raise ConfigError(f"{file.as_posix()}: must say what varies, such as `lr: [cosine, exponential]`, got nothing")
    return words


def _word(file: Path, key: Any, value: Any) -> str:
    where = f"{file.as_posix()}: {key}"
    if isinstance(key, str) and key.startswith("~"):
        if value is not None:
            raise ConfigError(f"{where}: takes a value away, so nothing may stand behind it, got {value!r}")
        return key
    if isinstance(value, dict) or value == []:
        raise ConfigError(f"{where}: must be values or Hydra's words, got {value!r}; write lr.peak: 0.1,0.2")
    if isinstance(value, list):
        return f"{key}={','.join(map(as_words, value))}"
    return f"{key}={value if isinstance(value, str) else as_words(value)}"
