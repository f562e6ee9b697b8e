"""The parts of a set detector by other routes: all permutations, loops over points, distances that lead back."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.networks.heads.set_head import SetHead
from bakeoff.learning.networks.heads.set_losses import Asked, true_sides
from bakeoff.learning.networks.heads.set_matching import Answers, Truth, choose_pairs, match
from bakeoff.learning.networks.set_detector import BINS, Denoising, SetLoss, SetMatching
from bakeoff.learning.networks.sets.attention import PointAttention
from bakeoff.learning.networks.sets.decoder import SCALE, distances
from bakeoff.learning.networks.sets.denoising import Noise, disturb, groups_of
from support.small_sets import SMALL

DRAW = np.random.default_rng(2)
# Together with other layers, a query that as many chose for two boxes finds the first one: there the order counts.
EACH_LAYER = replace(SMALL, denoising=Denoising(queries=0), loss=SetLoss(pairs="layer"))


def test_the_pairs_are_those_of_the_cheapest_permutation() -> None:
    costs, counts = DRAW.normal(size=(2, 3, 6, 4)).astype(np.float32), np.array([4, 2, 0])
    rows, _ = choose_pairs(costs, counts)
    for layer, image in np.ndindex(2, 3):
        chosen = rows[layer, image]
        count = counts[image]
        assert sorted(chosen[chosen >= 0]) == list(range(count))
        cost = sum(costs[layer, image, query, box] for query, box in enumerate(chosen) if box >= 0)
        every = itertools.permutations(range(6), int(count))
        cheapest = min(sum(costs[layer, image, query, box] for box, query in enumerate(one)) for one in every)
        assert cost == pytest.approx(cheapest)


def test_together_a_query_finds_the_box_of_most_layers_and_of_as_many_the_first() -> None:
    costs = np.ones((3, 1, 3, 2), np.float32)
    for layer, (first, second) in enumerate([(0, 1), (0, 2), (2, 0)]):  # queries of the two boxes
        costs[layer, 0, first, 0] = costs[layer, 0, second, 1] = 0
    _, union = choose_pairs(costs, np.array([2]))
    assert union.tolist() == [[0, 1, 0]]  # query 2 is named once for each


def test_numbers_that_are_none_cost_one() -> None:
    costs = np.array([[[[np.nan], [0.5], [2.0]]]], np.float32)
    assert choose_pairs(costs, np.array([1]))[0].tolist() == [[[-1, 0, -1]]]


@pytest.mark.parametrize(("power", "finder"), [(0.0, 2), (1.0, 0), (2.0, 1), (4.0, 1)])
def test_with_a_power_of_the_overlap_the_best_product_with_the_score_finds_the_box(power: float, finder: int) -> None:
    """0.9 * 0.5 ** 1 > 0.3 * 1 ** 1, but 0.9 * 0.5 ** 2 is less; without a power the surest wins, wherever it is."""
    boxes = tf.constant([[[0.5, 0.5, 0.4, 0.2], [0.5, 0.5, 0.4, 0.4], [0.1, 0.1, 0.1, 0.1]]])
    scores = np.array([[[0.9], [0.3], [0.99]]])
    layer = Answers(boxes, tf.constant(np.log(scores / (1 - scores)), tf.float32))
    truth = Truth(boxes[:, 1:2], tf.constant([[1]], tf.int64))
    rows, _ = match([layer], truth, SetMatching(overlap_power=power))
    assert rows.numpy().argmax() == finder


def test_bins_are_fine_in_the_middle_and_symmetric() -> None:
    values = distances()
    assert len(values) == BINS and values[BINS // 2] == 0
    np.testing.assert_allclose(values, -values[::-1])
    steps = np.diff(values[BINS // 2 :])
    assert (np.diff(steps) > 0).all() and values[-1] == 4 and values[-2] == pytest.approx(2)


def test_the_true_distribution_leads_back_to_the_true_box() -> None:
    references = np.concatenate([DRAW.uniform(0.4, 0.6, (1, 9, 2)), DRAW.uniform(0.2, 0.4, (1, 9, 2))], axis=2)
    boxes = references * DRAW.uniform(0.8, 1.2, references.shape)
    asked = Asked(tf.ones([1, 9], tf.bool), tf.constant(boxes, tf.float32), tf.zeros([1, 9], tf.int32))
    sides = true_sides(tf.constant(references, tf.float32), asked).numpy()
    np.testing.assert_allclose(sides.sum(axis=-1), 1, rtol=1e-6)
    assert ((sides > 0).sum(axis=-1) <= 2).all()
    away = (sides * distances()).sum(axis=-1) + SCALE / 2
    low = references[..., :2] - away[..., :2] * references[..., 2:] / SCALE
    high = references[..., :2] + away[..., 2:] * references[..., 2:] / SCALE
    np.testing.assert_allclose((low + high) / 2, boxes[..., :2], atol=1e-5)
    np.testing.assert_allclose(high - low, boxes[..., 2:], atol=1e-5)


def test_a_side_beyond_the_last_bin_is_asked_of_the_last_bin() -> None:
    references, boxes = tf.constant([[[0.5, 0.5, 0.01, 0.01]]]), tf.constant([[[0.5, 0.5, 0.9, 0.9]]])
    asked = Asked(tf.constant([[True]]), boxes, tf.constant([[0]]))
    assert (true_sides(references, asked).numpy()[..., -1] == 1).all()


def test_points_are_looked_at_between_cells_and_are_zero_outside() -> None:
    """Four cells around each point by hand; two heads, maps of 4 x 4 and 2 x 2 cells."""
    heads, size, sides, points = 2, 3, (4, 2), (2, 1)
    layer = PointAttention(heads * size, heads, sides, points, name="cross_attn", dtype="float32")
    layer.build()
    for weight in layer.weights:
        weight.assign(DRAW.normal(0, 0.7, weight.shape))
    queries, memory = DRAW.normal(size=(1, 5, heads * size)), DRAW.normal(size=(1, 20, heads * size))
    boxes = np.concatenate([DRAW.uniform(0, 1, (1, 5, 2)), DRAW.uniform(0.1, 0.9, (1, 5, 2))], axis=2)
    given = [tf.constant(one, tf.float32) for one in (queries, boxes, memory)]
    kernels = {weight.path.split(".")[-1]: weight.numpy() for weight in layer.weights}
    offsets = (queries @ kernels["sampling_offsets/kernel"] + kernels["sampling_offsets/bias"]).reshape(5, heads, 3, 2)
    shares = (queries @ kernels["attention_weights/kernel"] + kernels["attention_weights/bias"]).reshape(5, heads, 3)
    shares = np.exp(shares) / np.exp(shares).sum(axis=-1, keepdims=True)
    maps = [memory[0, :16].reshape(4, 4, heads, size), memory[0, 16:].reshape(2, 2, heads, size)]
    expected = np.zeros((5, heads, size))
    for query, head, point in np.ndindex(5, heads, 3):
        seen, number = (maps[0], 2) if point < 2 else (maps[1], 1)
        at = boxes[0, query, :2] + offsets[query, head, point] / number * boxes[0, query, 2:] / 2
        x, y = at * len(seen) - 0.5
        for row, column in np.ndindex(len(seen), len(seen)):
            near = max(0.0, 1 - abs(x - column)) * max(0.0, 1 - abs(y - row))
            expected[query, head] += shares[query, head, point] * near * seen[row, column, head]
    np.testing.assert_allclose(layer(*given).numpy().reshape(5, heads, size), expected, atol=1e-5)


def test_groups_do_not_see_each_other_and_the_others_see_no_group() -> None:
    groups = groups_of(tf.constant([[1, 2, 0], [3, 0, 0]]), 8)
    assert (int(groups.number), int(groups.most)) == (4, 2)
    assert groups.find().numpy().tolist() == [[0, 1, -1, -1] * 4, [0, -1, -1, -1] * 4]
    hidden = groups.hidden(3).numpy()
    of_group = np.repeat([0, 1, 2, 3, 9], [4, 4, 4, 4, 3])
    for row, column in np.ndindex(19, 19):
        assert hidden[row, column] == (of_group[column] != 9 and of_group[row] != of_group[column])


def test_without_a_box_there_is_one_of_padding() -> None:
    groups = groups_of(tf.zeros([2, 1], tf.int64), 3)
    assert (int(groups.number), int(groups.most)) == (3, 1) and (groups.find().numpy() == -1).all()


def test_noise_stays_within_half_a_side_for_queries_that_find_a_box_and_beyond_for_the_others() -> None:
    classes = tf.constant([[2]])
    groups, boxes = groups_of(classes, 1), tf.constant([[[0.5, 0.5, 0.2, 0.4]]])
    full = Noise(tf.constant([[0.9, 0.1]]), tf.fill([1, 2], 0.99), tf.zeros([1, 2, 4]), tf.fill([1, 2, 4], 0.5))
    wanted, start = disturb(groups, boxes, classes, full, Denoising(), 5)
    assert wanted.numpy().tolist() == [[1, 4]]
    near = [0.5 - 0.05, 0.5 - 0.1, 0.2, 0.4]  # each side half of half a width or height to the left or up
    np.testing.assert_allclose(start.numpy()[0], [near, [0.5 - 0.15, 0.5 - 0.3, 0.2, 0.4]], atol=1e-6)


def test_truth_of_padding_is_asked_of_nobody() -> None:
    asked = Asked.of(tf.constant([[-1, 0]]), Truth(tf.ones([1, 1, 4]), tf.constant([[3]])))
    assert asked.classes.numpy().tolist() == [[-1, 2]] and float(asked.number) == 1


def answers(queries: int) -> dict[str, tf.Tensor]:
    """What a decoder of two layers might answer for two images and three classes."""
    shapes = {
        "layers.boxes": (2, 2, queries, 4), "first.boxes": (2, queries, 4), "encoder.boxes": (2, queries, 4),
        "references": (2, queries, 4), "layers.classes": (2, 2, queries, 3), "first.classes": (2, queries, 3),
        "encoder.classes": (2, queries, 3), "layers.corners": (2, 2, queries, 4 * BINS),
    }  # fmt: skip
    made = {
        name: tf.constant(DRAW.uniform(0.2, 0.6, shape) if shape[-1] == 4 else DRAW.normal(size=shape), tf.float32)
        for name, shape in shapes.items()
    }
    return made | {"boxes": made["layers.boxes"][-1], "classes": made["layers.classes"][-1]}


def test_losses_do_not_depend_on_the_order_of_boxes_nor_on_padding() -> None:
    head, outputs = SetHead(EACH_LAYER), answers(EACH_LAYER.queries)
    boxes = np.sort(DRAW.uniform(0, 1, (2, 3, 2, 2)), axis=2).reshape(2, 3, 4).astype(np.float32)
    classes = np.array([[1, 2, 3], [3, 1, 1]])
    losses = []
    for order, padding in (([0, 1, 2], 0), ([2, 0, 1], 2)):
        targets = {
            "boxes": tf.constant(np.pad(boxes[:, order], ((0, 0), (0, padding), (0, 0)))),
            "classes": tf.constant(np.pad(classes[:, order], ((0, 0), (0, padding)))),
        }
        parts, count = head.losses(outputs, targets)
        losses.append([float(parts["classes"]), float(parts["boxes"])])
        assert float(count) == 6
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


def test_right_and_sure_answers_cost_next_to_nothing_and_twice_the_same_box_does() -> None:
    boxes = np.array([[[0.1, 0.2, 0.5, 0.6], [0.4, 0.5, 0.9, 0.7]]], np.float32)  # ymin xmin ymax xmax
    targets = {"boxes": tf.constant(boxes), "classes": tf.constant([[1, 3]])}
    found = np.tile(np.array([0.9, 0.9, 0.1, 0.1], np.float32), (1, SMALL.queries, 1))
    found[0, :2] = [[0.4, 0.3, 0.4, 0.4], [0.6, 0.65, 0.2, 0.5]]  # x y width height
    logits = np.full((1, SMALL.queries, 3), -12.0, np.float32)
    logits[0, 0, 0] = logits[0, 1, 2] = 12
    for twice in (False, True):
        if twice:
            found[0, 2], logits[0, 2] = found[0, 0], logits[0, 0]
        parts, _ = SetHead(SMALL).losses({"boxes": tf.constant(found), "classes": tf.constant(logits)}, targets)
        assert float(parts["boxes"]) == pytest.approx(0, abs=1e-5)
        assert (float(parts["classes"]) > 4) == twice
