from support.messages import missing_in


def test_the_parts_of_a_message_are_asked_for_in_their_order() -> None:
    message = "params.yaml:3: train.steps: 0: must be at least 1"
    assert missing_in(message, "params.yaml:3", "train.steps", "0") == []
    assert missing_in(message, "train.steps", "params.yaml:3", "0") == ["params.yaml:3"]
    assert missing_in(message, "train.lr", "0", "0") == ["train.lr", "0"]
