"""What a training will write, by hand."""

from bakeoff.planning.on_disk import OnDisk
from bakeoff.training.settings import Phase, Train


def test_three_checkpoints_of_weights_and_two_optimizer_numbers_and_two_best_weights() -> None:
    disk = OnDisk.of(Train(batch_size=4, steps=10), parameters=1000)
    assert disk == OnDisk(in_flight=3 * 12_000 + 2 * 4_000, outputs=8_000)


def test_averages_are_in_checkpoints_and_each_phase_keeps_its_best() -> None:
    phases = tuple(Phase(name, steps=5) for name in ("head", "all", "slow"))
    disk = OnDisk.of(Train(batch_size=4, ema_decay=0.9, phases=phases), parameters=1000)
    assert disk == OnDisk(in_flight=3 * 16_000 + 4 * 4_000, outputs=8_000)
