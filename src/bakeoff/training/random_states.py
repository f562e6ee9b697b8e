"""Random states that belong to no layer: Keras', from which a layer draws that was given no seed, Python's and NumPy's.

TensorFlow's old random operations (`tf.random.uniform`) keep theirs where nobody can read it; no layer here uses them.
"""

import random
from collections.abc import Mapping

import keras
import numpy as np
from keras.src.random.seed_generator import global_seed_generator

PYTHON, PYTHON_NORMAL, NUMPY, NUMPY_NORMAL = "python", "python_normal", "numpy", "numpy_normal"


def of_keras() -> keras.Variable:
    """Made now if it was not yet: made while a step is traced, its seed would depend on when that is."""
    return global_seed_generator().state


def outside_keras() -> dict[str, np.ndarray]:
    """Of each generator its words, and the normal number that it has in hand if any (else NaN)."""
    _, words, normal = random.getstate()
    _, keys, place, has_normal, other_normal = np.random.get_state()
    return {
        PYTHON: np.array(words, np.uint32),
        PYTHON_NORMAL: np.array(np.nan if normal is None else normal),
        NUMPY: np.array([*keys, place], np.uint32),
        NUMPY_NORMAL: np.array(other_normal if has_normal else np.nan),
    }


def restore_outside_keras(states: Mapping[str, np.ndarray]) -> None:
    normal, other_normal = float(states[PYTHON_NORMAL]), float(states[NUMPY_NORMAL])
    random.setstate((3, tuple(states[PYTHON].tolist()), None if np.isnan(normal) else normal))
    *keys, place = states[NUMPY].tolist()
    in_hand = (0, 0.0) if np.isnan(other_normal) else (1, other_normal)
    np.random.set_state(("MT19937", np.array(keys, np.uint32), place, *in_hand))
