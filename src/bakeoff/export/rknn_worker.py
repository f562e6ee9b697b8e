"""model.onnx -> model.rknn, and what Rockchip's simulator answers to images: `python rknn_worker.py FOLDER`.

This runs in an environment of its own, for rknn-toolkit2 wants NumPy below 2. It imports nothing of this project.
FOLDER holds request.json: see `rknn_file.py`. What the toolkit prints goes to its standard error.
"""

import json
import os
import sys
from pathlib import Path

ANSWERS = "answers.npz"


def main(folder: Path) -> None:
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    os.dup2(2, 1)  # whatever the toolkit prints
    os.chdir(folder)  # where it leaves notes of its own
    import numpy as np
    from rknn.api import RKNN  # type: ignore[import-not-found]

    def done(what: str, failed: int) -> None:
        if failed:
            sys.exit(f"rknn-toolkit2 cannot {what} (code {failed})")

    rknn = RKNN(verbose=False)
    given = request["input"]
    done("take these settings", rknn.config(
        mean_values=[request["mean"]], std_values=[request["deviation"]], target_platform=request["platform"],
        quantized_algorithm=request["algorithm"], custom_string=request["told"],
    ))  # fmt: skip
    done("read the ONNX file", rknn.load_onnx(
        model=request["onnx"], inputs=[given["name"]], input_size_list=[given["shape"]],
    ))  # fmt: skip
    Path("calibration.txt").write_text("".join(f"{name}\n" for name in request["calibration"]), encoding="utf-8")
    done("convert the network", rknn.build(do_quantization=True, dataset="calibration.txt"))
    done("write the file", rknn.export_rknn(request["out"]))
    done("start the simulator", rknn.init_runtime())
    images = np.load(request["images"])
    answers = [rknn.inference(inputs=[image[None]], data_format=["nhwc"]) for image in images]
    outputs = {
        name: np.concatenate([answer[place] for answer in answers]) for place, name in enumerate(request["outputs"])
    }
    np.savez(ANSWERS, **outputs)  # type: ignore[arg-type]
    rknn.release()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
