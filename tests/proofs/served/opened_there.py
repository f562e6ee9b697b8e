"""Opens a registered checkpoint where bakeoff is not installed. Prints what it answers about pictures, as JSON.

python opened_there.py STORE MODEL PICTURE…       by mlflow.keras and mlflow.pyfunc
python opened_there.py ADDRESS PICTURE…           by a server of `mlflow models serve`
"""

import base64
import importlib.util
import json
import sys
import urllib.request
from pathlib import Path


def main() -> None:
    assert importlib.util.find_spec("bakeoff") is None, "this environment has bakeoff"
    if sys.argv[1].startswith("http"):
        address, *pictures = sys.argv[1:]
        rows = [[base64.b64encode(Path(picture).read_bytes()).decode()] for picture in pictures]
        content = json.dumps({"dataframe_split": {"data": rows}}).encode()
        request = urllib.request.Request(f"{address}/invocations", content, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            print(json.dumps({"rows": json.load(answer)["predictions"]}))
        return
    import mlflow

    store, model, *pictures = sys.argv[1:]
    mlflow.set_tracking_uri(store)
    network = mlflow.keras.load_model(model)
    rows = mlflow.pyfunc.load_model(model).predict([Path(picture).read_bytes() for picture in pictures])
    layers = {type(layer).__module__.partition(".")[0] for layer in network.layers}
    version = mlflow.MlflowClient().get_model_version(*model.removeprefix("models:/").split("/"))
    print(json.dumps({"rows": rows.to_dict("records"), "layers": sorted(layers), "run": version.run_id}))


if __name__ == "__main__":
    main()
