"""model.onnx -> model.hef for Hailo's chips, by Hailo's Dataflow Compiler: `python compile.py`.

Run it in the environment of the compiler, which Hailo gives to those who register: https://hailo.ai/developer-zone.
Release 3.x is for Hailo-8 and Hailo-8L. Beside this file lie plan.json, calibration.npy and, in the folder above,
model.onnx. It was never run where it was written, for nobody else may ship the compiler.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PLAN, CALIBRATION, NMS, HEF = "plan.json", "calibration.npy", "nms.json", "model.hef"


def find_layer(layers: Mapping[str, Mapping[str, Any]], node: str) -> str:
    """Return the compiler's name of the layer that a node of model.onnx became."""
    for name, layer in layers.items():
        if node in layer.get("original_names", ()):
            return str(layer["input"][0]) if layer["type"] == "output_layer" else name
    sys.exit(f"compile.py: the compiler has no layer for {node}; compare its parser's names with {PLAN}")


def write_script(plan: Mapping[str, Any], layers: Mapping[str, Mapping[str, Any]], count: int, nms: Path) -> str:
    """Return the model script, and write what it names: the settings of Hailo's own suppression, where it fits."""
    lines = [f"normalization1 = normalization({[plan['mean']] * 3}, {[plan['deviation']] * 3})"]
    if settings := plan["nms"]:
        decoders = []
        for row in settings["bbox_decoders"]:
            found = {key: find_layer(layers, row[key]) for key in row if key.endswith("_layer")}
            decoders.append(row | found)
            lines += [f"change_output_activation({found[key]}, sigmoid)" for key in found if key != "reg_layer"]
        nms.write_text(json.dumps({**settings, "bbox_decoders": decoders}, indent=1) + "\n", encoding="utf-8")
        lines.append(f'nms_postprocess("{nms}", meta_arch={plan["meta_arch"]}, engine=cpu)')
    lines.append(f"model_optimization_config(calibration, batch_size=8, calibset_size={count})")
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    import numpy as np
    from hailo_sdk_client import ClientRunner  # type: ignore[import-not-found]

    folder = Path(__file__).resolve().parent
    plan = json.loads((folder / PLAN).read_text(encoding="utf-8"))
    runner = ClientRunner(hw_arch=plan["chip"])
    given = plan["input"]["name"]
    runner.translate_onnx_model(
        str(folder.parent / plan["onnx"]), "network",
        start_node_names=[given], end_node_names=plan["end_nodes"], net_input_shapes={given: plan["input"]["shape"]},
    )  # fmt: skip
    images = np.load(folder / CALIBRATION)
    runner.load_model_script(write_script(plan, runner.get_hn_dict()["layers"], len(images), folder / NMS))
    runner.optimize(images)
    (folder / HEF).write_bytes(runner.compile())
    print(f"{folder / HEF} is for {plan['chip']}")


if __name__ == "__main__":
    main()
