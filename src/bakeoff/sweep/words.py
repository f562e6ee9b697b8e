"""A sweep's words: those of its variants, and those of Hydra itself, such as hydra/launcher=joblib."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bakeoff.config.choice import read_words
from bakeoff.errors import ConfigError


@dataclass(frozen=True)
class Words:
    variants: tuple[str, ...]
    hydra: tuple[str, ...]

    @classmethod
    def of(cls, words: Iterable[str]) -> "Words":
        texts = list(words)
        keys = [override.key_or_group for override in read_words(texts)]
        hydra = [text for text, key in zip(texts, keys, strict=True) if _is_hydras(key)]
        return cls(tuple(text for text in texts if text not in hydra), tuple(hydra))


def require_none_of_hydra(words: Sequence[str], where: str) -> None:
    if hydra := Words.of(words).hydra:
        raise ConfigError(f"{where}: must stand without words of Hydra's own, got {' '.join(hydra)}; leave them out")


def _is_hydras(key: str) -> bool:
    return key == "hydra" or key.startswith(("hydra.", "hydra/"))
