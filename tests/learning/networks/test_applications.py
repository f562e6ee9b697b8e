import dataclasses
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import keras
import numpy as np
import pytest

from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.networks.applications import EfficientNetV2B0, MobileNetV2, MobileNetV3
from support.classifier_trials import borrowed, learned, noise, try_a_step
from support.unfilled import answer, draw_values, unfilled

Settings = MobileNetV2 | MobileNetV3 | EfficientNetV2B0
published = keras.applications

SMALL: dict[str, Settings] = {
    "mobilenet_v2": MobileNetV2(input_size=32, width=0.35),
    "mobilenet_v3_small": MobileNetV3(input_size=32, width=0.5),
    "mobilenet_v3_large": MobileNetV3(size="large", input_size=32, width=0.35),
    "efficientnet_v2_b0": EfficientNetV2B0(input_size=32),
}
every_one = pytest.mark.parametrize("settings", SMALL.values(), ids=SMALL)


@pytest.fixture(scope="module", autouse=True)
def forget_networks() -> Iterator[None]:
    yield
    changed.cache_clear()


@cache
def changed(settings: Settings) -> keras.Model:
    """Built once for all tests, which change no weights but the statistics of batch norm."""
    keras.utils.set_random_seed(0)
    return dataclasses.replace(settings, batch_norm_momentum=0.83, dropout=0.75).build(3)


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
    own = {weight.path: tuple(weight.shape) for weight in changed(SMALL[kind]).weights}
    assert {path for path, shape in own.items() if trained.get(path) != shape} == {"logits/kernel", "logits/bias"}


@every_one
def test_every_weight_gets_a_gradient_and_a_step_against_it_brings_the_loss_down(settings: Settings) -> None:
    with borrowed(changed(settings)) as network:
        untouched, promised, gained = try_a_step(settings, network, 3)
    assert untouched == []
    assert 0.5 * promised < gained < 1.5 * promised


@every_one
def test_momentum_reaches_every_batch_norm(settings: Settings) -> None:
    norms = [layer for layer in changed(settings).layers if isinstance(layer, keras.layers.BatchNormalization)]
    assert len(norms) > 30 and {layer.momentum for layer in norms} == {0.83}


@every_one
def test_dropout_acts_on_the_features_in_training_only(settings: Settings) -> None:
    dropout = changed(settings).get_layer("dropout")
    features = np.ones((1, 4000), np.float32)
    np.testing.assert_array_equal(dropout(features, training=False), features)
    assert 0.7 < np.mean(np.asarray(dropout(features, training=True)) == 0) < 0.8


@every_one
def test_names_of_weights_do_not_depend_on_what_was_built_before(settings: Settings) -> None:
    again = unfilled(lambda: settings.build(3))
    first, second = ([weight.path for weight in network.weights] for network in (changed(settings), again))
    assert first == second and len(set(first)) == len(first)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SMALL)
def test_network_learns_eight_images_by_heart(kind: str) -> None:
    labels = [1, 2, 3, 4, 4, 3, 2, 1]
    calm = dataclasses.replace(SMALL[kind], dropout=0.0, batch_norm_momentum=0.5)
    losses, given = learned(calm, noise(calm, 8), labels, steps=20, rate=0.03)
    assert min(losses[-5:]) < 0.1 * losses[0] and given == labels


@pytest.mark.parametrize("kind", [MobileNetV2, MobileNetV3, EfficientNetV2B0])
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"input_size": 31}, r"^input_size:\D+32\D+31$"),
        ({"dropout": 1.0}, r"^dropout:\D+0\D+1\D+1\.0$"),
        ({"batch_norm_momentum": 1.0}, r"^batch_norm_momentum:\D+0\D+1\D+1\.0$"),
        ({"label_smoothing": -0.1}, r"^label_smoothing:\D+0\D+1\D+-0\.1$"),
    ],
)
def test_senseless_settings_are_refused(kind: type, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        kind(**fields)


@pytest.mark.parametrize("kind", [MobileNetV2, MobileNetV3])
@pytest.mark.parametrize("width", [0.0, 4.5])
def test_senseless_width_is_refused(kind: type, width: float) -> None:
    with pytest.raises(OutOfRange, match=rf"^width:\D+0\D+4\D+{width}$"):
        kind(width=width)
