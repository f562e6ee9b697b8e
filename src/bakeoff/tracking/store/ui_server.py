"""MLflow's server for the workspace's own store, whose first page is an address that was chosen.

MLflow's own first page is about traces and prompts. All its pages are one file, index.html, and a script that looks at
the address. So this server puts a few lines before that script. They choose the address where none was asked for, and
set what MLflow's switches set in a browser: training instead of prompts, and no assistant that opens by itself. The
list of files that runs are compared by gets a width.
"""

import json
import os
from pathlib import Path

HOST = "127.0.0.1"
FIRST_ADDRESS = "X-Bakeoff-First"  # a header of the first page, which holds the address that it leads to
ENVIRONMENT = {  # of MLflow: no log of successes, no process for jobs, no telemetry
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "PYTHONWARNINGS": "ignore",
}
SWITCHES = {  # as MLflow 3.17's pages name them in the browser's store: key, "_v" and a version
    "mlflow.workflowType_v1": "machine_learning",
    "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": True,
    "_mlflow_model_registry_promo_modal_dismissed_v1": True,
}
LIST_OF_FILES = "1ua6b7f"  # MLflow 3.17's name for the style around the files of runs that are compared
STYLE = f"<style>.css-{LIST_OF_FILES} > :first-child {{ min-width: 10rem }}</style>"  # it is 0 wide below 1,900 pixels
SCRIPT = """<script>
for (const [key, value] of Object.entries(%s)) if (localStorage.getItem(key) === null) localStorage.setItem(key, value);
if (["", "#", "#/"].includes(location.hash)) location.replace(%s);
</script>"""


def read_first_address(port: int, *, seconds: float) -> str | None:
    """Return the address that the server at a port leads to; None if none of these answers there."""
    from http.client import HTTPConnection

    page = HTTPConnection(HOST, port, timeout=seconds)
    try:
        page.request("HEAD", "/")
        return page.getresponse().getheader(FIRST_ADDRESS)
    except OSError:  # nobody listens yet
        return None
    finally:
        page.close()


def lead_to(address: str, page: str) -> str:
    """Return MLflow's page with the lines that lead to an address such as `#/experiments/1/runs`."""
    script = SCRIPT % (json.dumps({key: json.dumps(value) for key, value in SWITCHES.items()}), json.dumps(address))
    return page.replace("<head>", f"<head>{STYLE}{script}", 1)


def serve(port: int, address: str) -> None:
    """Serve on this machine only, until the process is ended."""
    import uvicorn  # before MLflow's server, which guards itself if it finds this one
    from flask import Response
    from mlflow.server import app, constants

    from bakeoff.tracking.store.target import artifacts_uri, local_uri

    os.environ |= {
        constants.BACKEND_STORE_URI_ENV_VAR: local_uri(),
        constants.ARTIFACT_ROOT_ENV_VAR: artifacts_uri(),
        constants.ARTIFACTS_DESTINATION_ENV_VAR: artifacts_uri(),
        constants.SERVE_ARTIFACTS_ENV_VAR: "true",
    }
    page = lead_to(address, (Path(str(app.static_folder)) / "index.html").read_text(encoding="utf-8"))
    app.view_functions["serve"] = lambda: Response(page, mimetype="text/html", headers={FIRST_ADDRESS: address})
    from mlflow.server.fastapi_app import app as whole

    uvicorn.run(whole, host=HOST, port=port, log_level="warning")
