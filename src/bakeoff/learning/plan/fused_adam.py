"""Adam that passes each weight once: Keras' takes ten operations for it, and as many passes through memory."""

from collections.abc import Sequence

import keras
import tensorflow as tf


class OnePassAdam(keras.optimizers.Adam):
    """Adam and its decay of weights by Keras' formulas and with Keras' variables."""

    def add_variable_from_reference(
        self, reference_variable: keras.Variable, name: str = "slot", initializer: str = "zeros"
    ) -> keras.Variable:
        """All moments have the same name. TensorFlow makes a variable of a name it knows in half the time."""
        with self._distribution_strategy.extended.colocate_vars_with(reference_variable.value):
            shape, dtype = reference_variable.shape, reference_variable.dtype
            return self.add_variable(shape=shape, initializer=initializer, dtype=dtype, name=name)

    def _backend_update_step(
        self, grads: Sequence[tf.Tensor], trainable_variables: Sequence[keras.Variable], learning_rate: tf.Tensor
    ) -> None:
        if not self._is_on_one_device():
            super()._backend_update_step(grads, trainable_variables, learning_rate)
            return
        step = tf.cast(self.iterations.value + 1, tf.float32)
        powers = {"beta1_power": self.beta_1**step, "beta2_power": self.beta_2**step}
        shared = {"lr": learning_rate, "beta1": self.beta_1, "beta2": self.beta_2, "epsilon": self.epsilon}
        shared = {name: tf.cast(value, tf.float32) for name, value in shared.items()}  # one constant for all weights
        for gradient, variable in zip(grads, trainable_variables, strict=True):
            number = self._get_variable_index(variable)
            tf.raw_ops.ResourceApplyAdam(
                var=variable.value.handle,
                m=self._momentums[number].value.handle,
                v=self._velocities[number].value.handle,
                grad=tf.convert_to_tensor(gradient),
                **powers,
                **shared,
            )

    def _apply_weight_decay(self, variables: Sequence[keras.Variable]) -> None:
        if self.weight_decay is None or not self._is_on_one_device():
            super()._apply_weight_decay(variables)
            return
        kept = 1 - tf.cast(self.learning_rate, tf.float32) * self.weight_decay
        for variable in variables:
            if self._use_weight_decay(variable):
                variable.value.assign(variable.value * kept)

    def _is_on_one_device(self) -> bool:
        return self._distribution_strategy.num_replicas_in_sync == 1
