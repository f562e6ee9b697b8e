"""D-FINE's or DEIMv2's own code with random weights: its answers, its pairs, its losses, and fifty steps of training.

    python set_there.py checkout out settings

`checkout` is a clone of github.com/Peterande/D-FINE or github.com/Intellindust-AI-Lab/DEIMv2, `settings` is JSON.
Nothing of this project is imported here.
"""

import copy
import importlib
import json
import sys
import types
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

checkout, out, settings = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
is_v2 = (checkout / "engine").is_dir()
root = "engine" if is_v2 else "src"
detector, backbone = (f"{root}.deim", f"{root}.backbone") if is_v2 else ("src.zoo.dfine", "src.nn.backbone")
folders = {root, detector, backbone, f"{root}.misc", *([] if is_v2 else ["src.zoo", "src.nn"])}
for name in sorted(folders):  # without `__init__`, which asks for everything
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(checkout / name.replace(".", "/"))]


def shim(name: str, **has: object) -> None:
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(has)


def area(boxes: torch.Tensor) -> torch.Tensor:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


shim(f"{root}.core", register=lambda *_, **__: lambda kind: kind)
shim(f"{root}.misc.dist_utils", get_world_size=lambda: 1, is_dist_available_and_initialized=lambda: False)
shim("torchvision")
shim("torchvision.ops")
shim("torchvision.ops.boxes", box_area=area)


def load(module: str, name: str) -> object:
    return getattr(importlib.import_module(module), name)


CLASSES, IMAGES, BOXES, STEPS, LATER = 5, 3, 4, 50, 20
NOISE = ("takes", "classes", "signs", "parts")
side = settings["side"]
draw = np.random.default_rng(5)
torch.manual_seed(5)
see = load(f"{backbone}.hgnetv2", "HGNetv2")(
    pretrained=False, freeze_at=-1, freeze_norm=False, use_lab=True, **settings["backbone"]
)
kinds = {"hybrid": ("hybrid_encoder", "HybridEncoder"), "lite": ("lite_encoder", "LiteEncoder")}
module, name = kinds[settings["encoder_kind"]]
encoder = load(f"{detector}.{module}", name)(**settings["encoder"])
module, name = ("deim_decoder", "DEIMTransformer") if is_v2 else ("dfine_decoder", "DFINETransformer")
decoder = load(f"{detector}.{module}", name)(num_classes=CLASSES, **settings["decoder"])
matcher = load(f"{detector}.matcher", "HungarianMatcher")(
    weight_dict={"cost_class": 2, "cost_bbox": 5, "cost_giou": 2}, use_focal_loss=True, alpha=0.25, gamma=2.0
)
module, name = ("deim_criterion", "DEIMCriterion") if is_v2 else ("dfine_criterion", "DFINECriterion")
weights = {"loss_vfl": 1, "loss_mal": 1, "loss_bbox": 5, "loss_giou": 2, "loss_fgl": 0.15, "loss_ddf": 1.5}
criterion = load(f"{detector}.{module}", name)(
    matcher, weights, alpha=0.75, num_classes=CLASSES, reg_max=32, **settings["criterion"]
)


class Whole(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone, self.encoder, self.decoder = see, encoder, decoder

    def forward(self, x: torch.Tensor, targets: list | None = None) -> dict:
        return self.decoder(self.encoder(self.backbone(x)), targets)


network = Whole()
for parameter in network.parameters():
    if not parameter.abs().max():
        torch.nn.init.normal_(parameter, 0, 0.05)
for layer in network.modules():
    if isinstance(layer, torch.nn.BatchNorm2d):
        torch.nn.init.uniform_(layer.weight, 0.5, 1.5)
        torch.nn.init.normal_(layer.bias, 0, 0.2)
        torch.nn.init.normal_(layer.running_mean, 0, 0.2)
        torch.nn.init.uniform_(layer.running_var, 0.5, 1.5)

pixels = draw.integers(0, 256, (IMAGES, side, side, 3)).astype(np.float32)  # red, green, blue
middles, sizes = draw.uniform(0.2, 0.8, (IMAGES, BOXES, 2)), draw.uniform(0.05, 0.4, (IMAGES, BOXES, 2))
labels = np.concatenate([draw.integers(0, CLASSES, (IMAGES, BOXES, 1)), middles, sizes], axis=2)
labels[1, 2:] = 0  # two boxes
labels[2] = 0  # none
images = torch.tensor(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))) / 255
real = [one[one.sum(axis=1) > 0] for one in labels]
targets = [
    {"labels": torch.tensor(one[:, 0].astype(np.int64)), "boxes": torch.tensor(one[:, 1:].astype(np.float32))}
    for one in real
]
torch.save({"model": network.state_dict()}, out / "random.pth")
found = {"pixels": pixels, "labels": labels}

drawn: list[dict] = []
given = {"rand": torch.rand_like, "randint": torch.randint_like}


def rand_like(like: torch.Tensor, **options: object) -> torch.Tensor:
    numbers = given["rand"](like, **options)
    if numbers.dim() == 2:
        drawn.append({"takes": numbers.numpy().copy()})
    else:
        drawn[-1]["parts"] = numbers.numpy().copy()
    return numbers


def randint_like(like: torch.Tensor, low: int, high: int, **options: object) -> torch.Tensor:
    numbers = given["randint"](like, low, high, **options)
    key = "classes" if numbers.dim() == 2 else "signs"
    drawn[-1][key] = (numbers.numpy().astype(np.float32) + 0.5) / (high - low)
    return numbers


torch.rand_like, torch.randint_like = rand_like, randint_like
late = copy.copy(matcher)  # with the cost of a pair in the last epochs, which DEIMv2 alone has
late.change_matcher, late.iou_order_alpha, late.matcher_change_epoch = True, 4.0, 0
pairs: list[np.ndarray] = []
unions: list[np.ndarray] = []


def rows(indices: list) -> np.ndarray:
    number = settings["decoder"]["num_queries"]
    table = np.full((len(indices), number), -1)
    for image, (queries, boxes) in enumerate(indices):
        table[image, queries.numpy()] = boxes.numpy()
    return table


match, unite = matcher.forward, criterion._get_go_indices


def noted_match(*values: object, **options: object) -> dict:
    answer = match(*values, **options)
    pairs.append(rows(answer["indices"]))
    return answer


def noted_union(*values: object) -> list:
    answer = unite(*values)
    unions.append(rows(answer))
    return answer


matcher.forward, criterion._get_go_indices = noted_match, noted_union
with torch.no_grad():
    network.eval()
    answer = network(images)
    found |= {"logits": answer["pred_logits"].numpy(), "boxes": answer["pred_boxes"].numpy()}
    network.train()
    outputs = network(images, targets)
    found["late"] = rows(late(outputs, targets)["indices"])
    losses = {name: float(value) for name, value in criterion(outputs, targets).items()}
found |= {"pairs": np.array(pairs), "union": unions[0]}
of_classes = [value for name, value in losses.items() if "vfl" in name or "mal" in name]
found |= {"of_classes": sum(of_classes), "of_boxes": sum(losses.values()) - sum(of_classes)}
(out / "losses.json").write_text(json.dumps(losses), encoding="utf-8")


def train(optimizer: torch.optim.Optimizer, steps: int, kept: str = "") -> list[float]:
    values = []
    for step in range(steps):
        if kept:
            keep(f"{kept}_{step}")
        optimizer.zero_grad()
        loss = sum(criterion(network(images, targets), targets).values())
        loss.backward()
        optimizer.step()
        values.append(float(loss.detach()))
    return values


def keep(name: str) -> None:
    save_file(
        {key: value.contiguous().clone() for key, value in network.state_dict().items()}, out / f"{name}.safetensors"
    )


def go_on(name: str, rate: float, kept: str = "") -> None:
    """Note the losses of the next steps, and what denoising draws in them."""
    found[name] = np.array(train(torch.optim.SGD(trainable, rate), LATER, kept))
    for key in NOISE:
        found[f"{name}_{key}"] = np.array([one[key] for one in drawn[-LATER:]])


network.load_state_dict(torch.load(out / "random.pth")["model"])
trainable = [parameter for parameter in network.parameters() if parameter.requires_grad]
train(torch.optim.AdamW(trainable, 1e-4), STEPS)
torch.save({"model": network.state_dict()}, out / "trained.pth")
keep("trained")
for key in NOISE:
    found[f"first_{key}"] = np.array([drawn[0][key]])
go_on("later", 1e-5)
if settings["encoder_kind"] == "lite":  # small enough to keep the weights of each step
    for name, share in (("fast", 0.0), ("shaken", 1e-7)):
        network.load_state_dict(torch.load(out / "trained.pth")["model"])
        torch.manual_seed(6)
        for parameter in trainable:
            noise = draw.standard_normal(tuple(parameter.shape)).astype(np.float32)
            parameter.data.mul_(1 + share * torch.tensor(noise))
        go_on(name, 1e-4, name if not share else "")
np.savez(out / "numbers.npz", **found)
