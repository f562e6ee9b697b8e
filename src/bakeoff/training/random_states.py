"""Random states that belong to no layer: Keras', from which a layer draws that was given no seed, Python's and NumPy's.

TensorFlow's old random operations (`tf.random.uniform`) keep theirs where nobody can read it; no layer here uses them.
"""

import random
from collections.abc import Mapping

import keras
import numpy as np
from keras.src.random.seed_generator import global_seed_generator

PYTHON, NUMPY, IN_HAND = "python", "numpy", "in_hand"


def of_keras() -> keras.Variable:
    """Made now if it was not yet: made while a step is traced, its seed would depend on when that is."""
    return global_seed_generator().state


def outside_keras() -> dict[str, np.ndarray]:
    """The words of each generator, last of them whether it has a normal number in hand; and these numbers."""
    _, words, normal = random.getstate()
    _, keys, place, has_normal, other_normal = np.random.get_state()
    return {
        PYTHON: np.array([*words, normal is not None], np.uint32),
        NUMPY: np.array([*keys, place, has_normal], np.uint32),
        IN_HAND: np.array([normal or 0.0, other_normal]),
    }


def restore_outside_keras(states: Mapping[str, np.ndarray]) -> None:
    *words, has_normal = states[PYTHON].tolist()
    *keys, place, has_other = states[NUMPY].tolist()
    normal, other = states[IN_HAND].tolist()
    random.setstate((3, tuple(words), normal if has_normal else None))
    np.random.set_state(("MT19937", np.array(keys, np.uint32), place, has_other, other))
