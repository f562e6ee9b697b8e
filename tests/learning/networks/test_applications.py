from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

from bakeoff.learning.networks.applications import EfficientNetV2B0, MobileNetV2, MobileNetV3
from support.classifier_trials import noise
from support.unfilled import answer, draw_values, unfilled

Settings = MobileNetV2 | MobileNetV3 | EfficientNetV2B0
published = keras.applications

SMALL: dict[str, Settings] = {
    "mobilenet_v2": MobileNetV2(input_size=32, width=0.35),
    "mobilenet_v3_small": MobileNetV3(input_size=32, width=0.5),
    "mobilenet_v3_large": MobileNetV3(size="large", input_size=32, width=0.35),
    "efficientnet_v2_b0": EfficientNetV2B0(input_size=32),
}


@pytest.mark.parametrize(
    ("settings", "parameters"),
    [
        # The counts that keras.io lists for 1,000 classes, in millions: 3.5, 2.6 (2.9 with another head), 5.4 (5.5
        # counted by Keras), 7.2.
        (MobileNetV2(), 3_538_984),
        (MobileNetV3(), 2_554_968),
        (MobileNetV3(size="large"), 5_507_432),
        (EfficientNetV2B0(), 7_200_312),
    ],
)
def test_full_size_has_the_published_number_of_parameters(settings: Settings, parameters: int) -> None:
    network = unfilled(lambda: settings.build(1000))
    assert network.count_params() == parameters
    assert network.input_shape == (None, 224, 224, 3)
    assert {name: output.shape for name, output in network.output.items()} == {"classes": (None, 1000)}


PUBLISHED: list[tuple[Settings, Callable[..., keras.Model], dict[str, Any]]] = [
    (SMALL["mobilenet_v2"], published.MobileNetV2, {"alpha": 0.35}),
    (MobileNetV2(input_size=64, width=1.4), published.MobileNetV2, {"alpha": 1.4}),
    (SMALL["mobilenet_v3_small"], published.MobileNetV3Small, {"alpha": 0.5}),
    (MobileNetV3(input_size=64, size="large", width=1.25), published.MobileNetV3Large, {"alpha": 1.25}),
    (SMALL["efficientnet_v2_b0"], published.EfficientNetV2B0, {}),
]


@pytest.mark.parametrize(("settings", "make", "options"), PUBLISHED)
def test_network_with_the_weights_of_keras_applications_answers_as_that_does(
    settings: Settings, make: Callable[..., keras.Model], options: dict[str, Any]
) -> None:
    """Weights are found by name, and pixels 0..255 are scaled as the weights expect."""
    size = settings.input_size
    options |= {"weights": None, "classes": 3, "classifier_activation": None, "input_shape": (size, size, 3)}
    own, other = unfilled(lambda: settings.build(3)), unfilled(lambda: make(**options))
    values = draw_values({weight.path: tuple(weight.shape) for weight in other.weights})
    images = noise(settings, 2)
    named = {path.replace("predictions/", "logits/"): value for path, value in values.items()}
    given = {weight.path: named[weight.path].reshape(weight.shape) for weight in own.weights}
    assert set(given) == set(named)
    logits = answer(own, given, images)["classes"]
    module = {published.MobileNetV2: published.mobilenet_v2}.get(make)  # the others scale inside, as ours do
    expected = answer(other, values, module.preprocess_input(images.copy()) if module else images)
    np.testing.assert_allclose(logits, expected, rtol=1e-3, atol=1e-3)
    assert np.isfinite(expected).all() and np.ptp(expected) > 0.01


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("mobilenet_v2", "MobileNetV2"),
        ("mobilenet_v3_small", "MobileNetV3Small"),
        ("mobilenet_v3_large", "MobileNetV3Large"),
        ("efficientnet_v2_b0", "EfficientNetV2B0"),
    ],
)
def test_weights_of_imagenet_fit_every_layer_but_the_logits(
    kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a download: the network that Keras would fill is as it makes it for `weights=None`."""
    asked = []
    make = getattr(keras.applications, name)

    def make_unfilled(**options: Any) -> keras.Model:
        asked.append(options.pop("weights"))
        return make(weights=None, **options)

    monkeypatch.setattr(keras.applications, name, make_unfilled)
    trained = {weight.path: tuple(weight.shape) for weight in unfilled(SMALL[kind].imagenet).weights}
    assert asked == ["imagenet"]
    own = {weight.path: tuple(weight.shape) for weight in unfilled(lambda: SMALL[kind].build(3)).weights}
    assert {path for path, shape in own.items() if trained.get(path) != shape} == {"logits/kernel", "logits/bias"}
