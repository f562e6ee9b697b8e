"""The decoder: the best cells of the maps become queries, and each layer moves the four sides of their boxes.

Sides are distributions over distances, to which each layer adds (fine-grained distribution refinement). Shown the
targets, it answers for every layer, and for the queries that denoise, which stand in front of the others:

{"boxes", "classes": of the last layer, "layers.boxes": (layers, batch, n, 4), "layers.classes", "layers.corners":
 (layers, batch, n, 4 * bins) logits of left, up, right, down, "references": (batch, n, 4) the boxes that distances
 count from, "first.boxes", "first.classes": before the first distances, "encoder.boxes", "encoder.classes": cells}
"""

import keras
import numpy as np
import tensorflow as tf

from bakeoff.learning.networks.set_detector import BINS, HEADS, SetDetector
from bakeoff.learning.networks.sets.attention import Attention, PointAttention, dense, layer_norm
from bakeoff.learning.networks.sets.denoising import Noise, disturb, draw, groups_of, logit

FULL = "float32"  # whatever the other layers compute in: places need it
PRIOR = -float(np.log(99.0))  # every class starts from a score of 0.01
REACH = 0.5  # half a distribution reaches so far to each side, in widths or heights of the box
SCALE = 4.0  # of distances
BORDER = 0.01  # cells nearer to the border of the image are no queries
FINEST_SIDE = 0.05  # of the boxes that queries of the finest map start from; twice that on the next
OUTSIDE = 1e4  # the logit of a share that is 1
MOST = 10.0
BEST, QUALITY = 4, 64  # bins that say how sure a side is, channels of what judges by them


def distances() -> np.ndarray:
    """Return how far each bin is away: fine around 0, coarse at the ends."""
    half = (BINS - 1) // 2
    step = (REACH * SCALE + 1) ** (1 / (half - 1))
    right = [step**number - 1 for number in range(1, half)] + [2 * REACH * SCALE]
    return np.array([*(-one for one in reversed(right)), 0.0, *right], np.float32)


class RootNorm(keras.layers.Layer):
    def build(self, shape: tuple[int | None, ...]) -> None:
        self.scale = self.add_weight(name="scale", shape=(shape[-1],), initializer="ones")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), axis=-1, keepdims=True) + 1e-6) * self.scale


class Perceptron(keras.layers.Layer):
    """Dense layers with an activation between them."""

    def __init__(
        self, sizes: tuple[int, ...], activation: str, *, name: str, start: str | None, last: str | None
    ) -> None:
        """`sizes`: of the input, of what is inside, of the output. `start`, `last`: of kernels, as in `dense`."""
        super().__init__(name=name, dtype=FULL)
        self._sizes, self._activation = sizes, keras.activations.get(activation)
        starts = [start] * (len(sizes) - 2) + [last]
        self._dense = [
            dense(size, f"{name}.layers.{number}", start=one, dtype=FULL)
            for number, (size, one) in enumerate(zip(sizes[1:], starts, strict=True))
        ]

    def build(self, shape: object = None) -> None:
        for layer, size in zip(self._dense, self._sizes[:-1], strict=True):
            layer.build((None, None, size))

    def call(self, x: tf.Tensor) -> tf.Tensor:
        for layer in self._dense[:-1]:
            x = self._activation(layer(x))
        return self._dense[-1](x)


class DecoderLayer(keras.layers.Layer):
    """Queries look at each other, then at the maps, then each at itself."""

    def __init__(self, detector: SetDetector, number: int) -> None:
        name, channels = f"decoder.decoder.layers.{number}", detector.channels
        super().__init__(name=name, dtype=FULL)
        self._detector, self._is_v2, self._gates = detector, detector.version == "deim_v2", has_gates(detector)

        def norm(what: str) -> keras.Layer:
            return RootNorm(name=f"{name}.{what}", dtype=FULL) if self._is_v2 else layer_norm(f"{name}.{what}", FULL)

        sizes = [detector.input_size // stride for stride in detector.strides]
        self._self = Attention(channels, HEADS, name=f"{name}.self_attn", dtype=FULL)
        self._cross = PointAttention(channels, HEADS, sizes, detector.points, name=f"{name}.cross_attn", dtype=FULL)
        self._norm1, self._norm3 = norm("norm1"), norm("norm3")
        self._norm2 = norm("gateway.norm" if self._gates else "norm2")
        if self._gates:
            self._gate = dense(2 * channels, f"{name}.gateway.gate", start="zeros", dtype=FULL)
        inner = detector.feedforward // 2 * 2
        first, second = ("swish_ffn.w12", "swish_ffn.w3") if self._is_v2 else ("linear1", "linear2")
        self._first = dense(inner, f"{name}.{first}", start="glorot_uniform", dtype=FULL)
        self._second = dense(channels, f"{name}.{second}", start="glorot_uniform", dtype=FULL)

    def build(self, shape: object = None) -> None:
        shape, channels = (None, None, self._detector.channels), self._detector.channels
        for layer in (self._self, self._cross, self._norm1, self._norm2, self._norm3, self._first):
            layer.build(shape)
        if self._gates:
            self._gate.build((None, None, 2 * channels))
        inner = self._detector.feedforward // 2 * 2
        self._second.build((None, None, inner // 2 if self._is_v2 else inner))

    def call(
        self, x: tf.Tensor, places: tf.Tensor, boxes: tf.Tensor, memory: tf.Tensor, hidden: tf.Tensor | None = None
    ) -> tf.Tensor:
        x = self._norm1(x + self._self(x, places=places, hidden=hidden))
        seen = self._cross(x + places, boxes, memory)
        if self._gates:
            kept, added = tf.split(tf.sigmoid(self._gate(tf.concat([x, seen], axis=-1))), 2, axis=-1)
            x = self._norm2(kept * x + added * seen)
        else:
            x = self._norm2(x + seen)
        inside = self._first(x)
        if self._is_v2:
            gate, inside = tf.split(inside, 2, axis=-1)
            inside = tf.nn.silu(gate) * inside
        else:
            inside = tf.nn.relu(inside)
        return self._norm3(x + self._second(inside))


def has_gates(detector: SetDetector) -> bool:
    return detector.version == "d_fine" or detector.encoder == "hybrid"  # the smallest have none


def shares_boxes(detector: SetDetector) -> bool:
    """Tell whether all layers have the same layers for sides, as the smallest do."""
    return not has_gates(detector)


class Decoder(keras.layers.Layer):
    def __init__(self, detector: SetDetector, num_classes: int) -> None:
        super().__init__(name="decoder", dtype=FULL)
        self._detector, self._num_classes = detector, num_classes
        self._is_v2 = detector.version == "deim_v2"
        channels, sides = detector.channels, 4 * BINS
        activation = "silu" if self._is_v2 else "relu"

        def perceptron(name: str, *sizes: int, start: str | None = None, last: str | None = "zeros") -> Perceptron:
            return Perceptron(sizes, activation, name=name, start=start, last=last)

        def scores(name: str) -> keras.Layer:
            return dense(num_classes, f"decoder.{name}", bias=PRIOR, dtype=FULL)

        inside = (channels, channels) if self._is_v2 else (2 * channels,)
        glorot = "glorot_uniform"
        self._place = perceptron("decoder.query_pos_head", 4, *inside, channels, start=glorot, last=glorot)
        self._encoder_scores = scores("enc_score_head")
        self._encoder_boxes = perceptron("decoder.enc_bbox_head", channels, channels, channels, 4)
        self._first_boxes = perceptron("decoder.pre_bbox_head", channels, channels, channels, 4)
        numbers = range(detector.layers)
        self._stack = [DecoderLayer(detector, number) for number in numbers]
        self._scores = [scores(f"dec_score_head.{number}") for number in numbers]
        of_sides = numbers[:1] if shares_boxes(detector) else numbers
        self._sides = [
            perceptron(f"decoder.dec_bbox_head.{number}", channels, channels, channels, sides) for number in of_sides
        ]
        self._quality = [
            perceptron(f"decoder.decoder.lqe_layers.{number}.reg_conf", 4 * (BEST + 1), QUALITY, 1)
            for number in numbers
        ]
        if not self._is_v2:
            self._project = dense(channels, "decoder.enc_output.proj", start=glorot, dtype=FULL)
            self._norm = layer_norm("decoder.enc_output.norm", FULL)
        if detector.denoising.queries:
            self._seeds = keras.random.SeedGenerator()
            self._classes = keras.layers.Dense(
                channels, use_bias=False, name="decoder.denoising_class_embed", dtype=FULL,
                kernel_initializer=keras.initializers.RandomNormal(stddev=1.0),
            )  # fmt: skip
        self._start, self._is_cell = _cells(detector)
        self._distances = distances()

    @property
    def inner_numbers(self) -> int:
        """About how many numbers of one example wait for gradients."""
        detector, queries = self._detector, self._detector.queries + 2 * self._detector.denoising.queries
        seen = 2 * 4 * sum(detector.points) * detector.channels  # of four cells around each point, as it is and weighed
        row = 16 * detector.channels + 2 * detector.feedforward + 12 * 4 * BINS + seen
        among = 3 * HEADS * queries**2
        return 3 * len(self._start) * detector.channels + detector.layers * (queries * row + among)

    def build(self, shapes: object) -> None:
        channels = self._detector.channels
        rows = (None, None, channels)
        alike = [self._encoder_scores, *self._scores, *self._stack, *self._sides]
        alike += [self._place, self._encoder_boxes, self._first_boxes, *self._quality]
        for layer in alike + ([] if self._is_v2 else [self._project, self._norm]):
            layer.build(rows)
        if self._detector.denoising.queries:
            self._classes.build((None, None, self._num_classes + 1))

    def call(
        self, maps: list[tf.Tensor], targets: dict[str, tf.Tensor] | None = None, noise: Noise | None = None
    ) -> dict[str, tf.Tensor]:
        """`targets`: boxes as x, y, width, height, and classes; `noise`: what is drawn if it is not given."""
        memory = tf.concat([tf.reshape(x, [tf.shape(x)[0], -1, self._detector.channels]) for x in maps], axis=1)
        memory = tf.ensure_shape(memory, [None, len(self._start), None])
        content, start, cells = self._choose(memory)
        hidden = None
        if targets is not None and self._detector.denoising.queries:
            groups = groups_of(targets["classes"], self._detector.denoising.queries)
            noise = noise or draw(groups, self._seeds)
            classes, boxes = disturb(
                groups, targets["boxes"], targets["classes"], noise, self._detector.denoising, self._num_classes
            )
            content = tf.concat([self._embed(classes), content], axis=1)
            start = tf.concat([logit(boxes), start], axis=1)
            hidden = groups.hidden(self._detector.queries)
        return self._refine(content, start, memory, hidden, cells if targets is not None else None)

    def _choose(self, memory: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, dict[str, tf.Tensor]]:
        """Return the cells whose classes score best, as queries and the logits of their boxes; and their answers."""
        memory *= self._is_cell
        seen = memory if self._is_v2 else self._norm(self._project(memory))
        scores = self._encoder_scores(seen)
        best = tf.math.top_k(tf.reduce_max(scores, axis=-1), self._detector.queries).indices
        content = tf.gather(seen, best, batch_dims=1)
        logits = self._encoder_boxes(content) + tf.gather(tf.constant(self._start), best)
        answers = {"encoder.boxes": tf.sigmoid(logits), "encoder.classes": tf.gather(scores, best, batch_dims=1)}
        return tf.stop_gradient(content), tf.stop_gradient(logits), answers

    def _embed(self, classes: tf.Tensor) -> tf.Tensor:
        """Padding is 0, and teaches nothing."""
        return self._classes(tf.one_hot(tf.where(classes < self._num_classes, classes, -1), self._num_classes + 1))

    def _refine(
        self,
        x: tf.Tensor,
        start: tf.Tensor,
        memory: tf.Tensor,
        hidden: tf.Tensor | None,
        answers: dict[str, tf.Tensor] | None,
    ) -> dict[str, tf.Tensor]:
        """Return the last layer's answers, or added to `answers`, those of all layers."""
        boxes, corners, before = tf.sigmoid(start), 0.0, 0.0
        layers: dict[str, list[tf.Tensor]] = {"boxes": [], "classes": [], "corners": []}
        places = self._places(boxes)
        for number, layer in enumerate(self._stack):
            if number and not self._is_v2:
                places = self._places(boxes)
            x = layer(x, places, boxes, memory, hidden=hidden)
            if number == 0:
                first = tf.sigmoid(self._first_boxes(x) + logit(boxes))
                references, of_first = tf.stop_gradient(first), self._scores[0](x)
            corners += self._sides[number % len(self._sides)](x + before)
            moved = self._move(references, corners)
            if answers is not None or number == len(self._stack) - 1:
                layers["boxes"].append(moved)
                layers["classes"].append(self._judge(number, x, corners))
                layers["corners"].append(corners)
            boxes, before = tf.stop_gradient(moved), tf.stop_gradient(x)
        last = {key: layers[key][-1][:, -self._detector.queries :] for key in ("boxes", "classes")}
        if answers is None:
            return last
        every = {f"layers.{key}": tf.stack(one) for key, one in layers.items()}
        beside = {"references": references, "first.boxes": first, "first.classes": of_first}
        return last | every | answers | beside

    def _places(self, boxes: tf.Tensor) -> tf.Tensor:
        return tf.clip_by_value(self._place(boxes), -MOST, MOST)

    def _judge(self, number: int, x: tf.Tensor, corners: tf.Tensor) -> tf.Tensor:
        """Return logits of classes, plus what the sharpest bins of the sides say of the box."""
        shares = tf.nn.softmax(tf.reshape(corners, [tf.shape(x)[0], -1, 4, BINS]))
        best = tf.math.top_k(shares, BEST).values
        known = tf.concat([best, tf.reduce_mean(best, axis=-1, keepdims=True)], axis=-1)
        known = tf.reshape(known, [tf.shape(x)[0], -1, 4 * (BEST + 1)])
        return self._scores[number](x) + self._quality[number](known)

    def _move(self, boxes: tf.Tensor, corners: tf.Tensor) -> tf.Tensor:
        """Return boxes whose sides are moved by the means of their distributions."""
        shares = tf.nn.softmax(tf.reshape(corners, [tf.shape(boxes)[0], -1, 4, BINS]))
        away = tf.reduce_sum(shares * self._distances, axis=-1) + SCALE / 2
        unit = boxes[..., 2:] / SCALE
        low, high = boxes[..., :2] - away[..., :2] * unit, boxes[..., :2] + away[..., 2:] * unit
        return tf.concat([(low + high) / 2, high - low], axis=-1)


def _cells(detector: SetDetector) -> tuple[np.ndarray, np.ndarray]:
    """Return the logits of the boxes that cells start from (cells, 4), and which of them are queries (cells, 1)."""
    boxes = []
    for level, stride in enumerate(detector.strides):
        side = detector.input_size // stride
        y, x = (place.reshape(-1) for place in (np.mgrid[:side, :side].astype(np.float32) + 0.5) / side)
        sides = np.full_like(x, FINEST_SIDE * 2**level)
        boxes.append(np.stack([x, y, sides, sides], axis=1))
    whole = np.concatenate(boxes)
    is_cell = np.asarray(np.all((whole > BORDER) & (whole < 1 - BORDER), axis=1, keepdims=True))
    logits: np.ndarray = np.where(is_cell, np.log(whole / (1 - whole)), OUTSIDE)
    return logits.astype(np.float32), is_cell.astype(np.float32)
