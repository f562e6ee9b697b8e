"""A logged model -> the next version of a registered model."""

import json

from mlflow import MlflowClient
from mlflow.entities import LoggedModel
from mlflow.exceptions import MlflowException

CONTENT = "bakeoff.files"  # a version's tag: the digest of the model's files
VERSIONS = "mlflow.modelVersions"


def register(client: MlflowClient, model: LoggedModel, name: str, digest: str) -> str:
    """Return the version that the model is under a name. It is made unless one has the same content already."""
    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    for version in client.search_model_versions(f"name = '{name}' AND run_id = '{model.source_run_id}'"):
        if version.tags.get(CONTENT) == digest:
            return str(version.version)
    made = client.create_model_version(
        name, model.artifact_location, model.source_run_id, {CONTENT: digest}, model_id=model.model_id,
        await_creation_for=0,
    )  # fmt: skip
    _tag(client, model, name, str(made.version))
    return str(made.version)


def is_registered(model: LoggedModel) -> bool:
    """Return whether a version of a registered model is this one."""
    return bool(json.loads(model.tags.get(VERSIONS) or "[]"))


def _tag(client: MlflowClient, model: LoggedModel, name: str, version: str) -> None:
    """Write a tag by which MLflow's page of the model shows it; a server does so itself, a database does not."""
    known = json.loads(client.get_logged_model(model.model_id).tags.get(VERSIONS, "[]"))
    if (name, version) not in [(one["name"], str(one["version"])) for one in known]:
        tags = {VERSIONS: json.dumps([*known, {"name": name, "version": version}])}
        client.set_logged_model_tags(model.model_id, tags)
