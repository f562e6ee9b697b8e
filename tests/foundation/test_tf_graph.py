"""Parts that graphs share."""

import tensorflow as tf

from bakeoff.foundation.tf_graph import as_written, compile_graph, share_graph


def test_a_shared_part_is_made_once_for_all_graphs_and_not_at_all_outside_of_them() -> None:
    calls: list[bool] = []  # whether each was outside of a graph

    @share_graph
    def double(number: tf.Tensor) -> tf.Tensor:
        calls.append(tf.executing_eagerly())
        return 2 * number

    assert double(tf.constant(3, tf.int64)).numpy() == 6
    assert calls == [True]
    numbers = tf.data.Dataset.range(3).map(as_written(lambda number: double(number) + double(number + 1)))
    assert [one.numpy() for one in numbers] == [2, 6, 10]
    twice = compile_graph(lambda number: double(double(number)))
    assert twice(tf.constant(5, tf.int64)).numpy() == 20
    assert calls == [True, False]
