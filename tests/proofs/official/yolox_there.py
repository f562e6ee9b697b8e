"""YOLOX's own code with random weights: its answers, its assignment, its losses, and fifty steps of its training.

    python yolox_there.py checkout out width depth depthwise activation

`checkout` is a clone of github.com/Megvii-BaseDetection/YOLOX. Nothing of this project is imported here.
"""

import sys
import types
from pathlib import Path

import numpy as np
import torch

checkout, out, width, depth, depthwise, activation = sys.argv[1:]
sys.path.insert(0, checkout)
sys.modules.setdefault("torchvision", types.ModuleType("torchvision"))  # asked for by what is not called here
utils = types.ModuleType("yolox.utils")
package = types.ModuleType("yolox")
package.__path__ = [str(Path(checkout) / "yolox")]  # without `__init__`, which asks for everything
sys.modules |= {"yolox": package, "yolox.utils": utils}
source = (Path(checkout) / "yolox/utils/boxes.py").read_text(encoding="utf-8")
exec(compile(source, "boxes.py", "exec"), utils.__dict__)
utils.meshgrid = lambda tensors: torch.meshgrid(*tensors, indexing="ij")
utils.visualize_assign = None

from yolox.models.yolo_head import YOLOXHead
from yolox.models.yolo_pafpn import YOLOPAFPN
from yolox.models.yolox import YOLOX

CLASSES, SIDE, IMAGES, BOXES, STEPS = 5, 128, 3, 6, 50
draw = np.random.default_rng(5)
torch.manual_seed(5)
own = {"depthwise": depthwise == "yes", "act": activation}
network = YOLOX(YOLOPAFPN(float(depth), float(width), **own), YOLOXHead(CLASSES, float(width), **own))
for layer in network.modules():
    if isinstance(layer, torch.nn.BatchNorm2d):
        layer.eps, layer.momentum = 1e-3, 0.03
        torch.nn.init.uniform_(layer.weight, 0.5, 1.5)
        torch.nn.init.normal_(layer.bias, 0, 0.2)
        torch.nn.init.normal_(layer.running_mean, 0, 0.2)
        torch.nn.init.uniform_(layer.running_var, 0.5, 1.5)
network.head.initialize_biases(1e-2)

pixels = draw.integers(0, 256, (IMAGES, SIDE, SIDE, 3)).astype(np.float32)  # red, green, blue
middles, sizes = draw.uniform(0.2, 0.8, (IMAGES, BOXES, 2)), draw.uniform(0.05, 0.5, (IMAGES, BOXES, 2))
labels = np.concatenate([draw.integers(0, CLASSES, (IMAGES, BOXES, 1)), middles * SIDE, sizes * SIDE], axis=2)
labels[1, 2:] = 0  # two boxes
labels[2] = 0  # none
images = torch.tensor(np.ascontiguousarray(pixels[..., ::-1].transpose(0, 3, 1, 2)))
targets = torch.tensor(labels.astype(np.float32))

torch.save({"model": network.state_dict(), "start_epoch": 0}, Path(out) / "random.pth")
found = {"pixels": pixels, "labels": labels}


assigned = []
original = network.head.get_assignments


def noted(*given, **named):
    answer = original(*given, **named)
    mask = answer[1].clone()
    rows = np.full(len(mask), -1)
    rows[mask.numpy()] = answer[3].numpy()
    shares = np.zeros(len(mask), np.float32)
    shares[mask.numpy()] = answer[2].detach().numpy()
    assigned.append((rows, shares))
    return answer


network.head.get_assignments = noted
with torch.no_grad():
    network.eval()
    network.head.decode_in_inference = True
    found["answers"] = network(images).numpy()  # centre, size, object, classes
    network.head.training = True  # of itself alone: norms keep their statistics
    whole, boxes, objects, classes, *_ = network.head(network.backbone(images), targets, images)
    seen = len(assigned)
    network.head.use_l1 = True
    _, again, _, _, coordinates, *_ = network.head(network.backbone(images), targets, images)
    network.head.use_l1 = False
    assert again == boxes
    del assigned[seen:]
found["with coordinates"] = float(boxes + coordinates)
found |= {"whole": float(whole), "boxes": float(boxes), "classes": float(objects + classes)}
found |= {"rows": np.array([rows for rows, _ in assigned]), "shares": np.array([shares for _, shares in assigned])}

network.train()
optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9, nesterov=True)
for _ in range(STEPS):
    optimizer.zero_grad()
    network(images, targets)["total_loss"].backward()
    optimizer.step()
torch.save({"model": network.state_dict(), "optimizer": None, "start_epoch": 1}, Path(out) / "trained.pth")
later = []
optimizer = torch.optim.SGD(network.parameters(), lr=1e-4)
for _ in range(20):
    optimizer.zero_grad()
    loss = network(images, targets)["total_loss"]
    loss.backward()
    optimizer.step()
    later.append(float(loss))
found["later"] = np.array(later)
np.savez(Path(out) / "numbers.npz", **found)
