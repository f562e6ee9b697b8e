"""A process that loads TensorFlow, takes a few training steps of a small network, and prints what it saw as JSON."""

import json
import time

STEPS = 20
BATCH, SIDE = 32, 64


def main() -> None:
    import keras
    import tensorflow as tf

    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    built = tf.sysconfig.get_build_info()
    gpus, devices, steps = tf.config.list_logical_devices("GPU"), ["CPU"], {}
    for number, gpu in enumerate(tf.config.list_physical_devices("GPU")):
        name = tf.config.experimental.get_device_details(gpu).get("device_name", "unnamed")
        devices.append(f"GPU {number}: {name}")
    for name in ["CPU:0", *(gpu.name.removeprefix("/device:") for gpu in gpus)]:
        with tf.device(name):
            steps[name] = _time_step(keras, tf)
    facts = {"devices": devices, "steps": steps, "cuda": built.get("cuda_version"), "cudnn": built.get("cudnn_version")}
    print(json.dumps(facts))


def _time_step(keras, tf) -> float:  # type: ignore[no-untyped-def]  # modules
    """Return the seconds of a step, on the device of the block around this."""
    network = keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 3)),
            keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
            keras.layers.Conv2D(64, 3, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10),
        ]
    )
    images = tf.random.stateless_uniform((BATCH, SIDE, SIDE, 3), (0, 0))

    @tf.function
    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(network(images, training=True)))
        for variable, gradient in zip(
            network.trainable_variables, tape.gradient(loss, network.trainable_weights), strict=True
        ):
            variable.assign_sub(0.01 * gradient)
        return loss

    step().numpy()  # the first builds the graph
    started = time.monotonic()
    for _ in range(STEPS):
        loss = step()
    loss.numpy()
    return (time.monotonic() - started) / STEPS


if __name__ == "__main__":
    main()
