"""Every command of `bakeoff`, in the order of --help: its line there, and the function that adds it to the parser.

Functions stand here by name, so that a command loads no other one's file: together they take longer than most commands.
Names that begin with a dot are of this folder.
"""

from typing import NamedTuple


class ListedCommand(NamedTuple):
    added_by: str  # file:function
    line: str


COMMANDS = {
    "repro": ListedCommand(
        ".repro:add_to",
        "`dvc repro` with its own options, --note and --on, after mending what a kill or a loss of power left behind",
    ),
    "plan": ListedCommand(
        ".plan_config:add_plan", "show what a variant needs and does: steps, parameters, memory, time, stages"
    ),
    "config": ListedCommand(
        ".plan_config:add_config",
        "show the variant with the origin of every value; with one or two names, the differences",
    ),
    "sweep": ListedCommand(".sweep:add_to", "run every combination of a few values, each as a DVC experiment"),
    "queue": ListedCommand(".queue:add_to", "queue variants and sweeps, first in, first out"),
    "budget": ListedCommand(".budget:add_to", "show the minutes of training by conf/team.yaml, and how many are left"),
    "curve": ListedCommand(".curve:add_to", "estimate what more data would bring, by training on shares of it"),
    "predict": ListedCommand(".predict:add_to", "run a model on images and videos"),
    "measure": ListedCommand(".measure:add_to", "time an exported file here or on a robot, and compare its answers"),
    "evaluate": ListedCommand(".evaluate:add_to", "evaluate runs or model files on any split of any data"),
    "drift": ListedCommand(".drift:add_to", "tell whether new images differ from those that a run was trained on"),
    "status": ListedCommand(".status:add_to", "show the state of runs: steps, time left, the headline metric"),
    "stop": ListedCommand(".stop_clean:add_stop", "stop a run after its current step; it is saved and can be resumed"),
    "clean": ListedCommand(
        ".stop_clean:add_clean", "list old work in .bakeoff, and remove what is finished after you confirm"
    ),
    "compare": ListedCommand(".compare:add_to", "show runs side by side: settings that differ, metrics, cost"),
    "better": ListedCommand(
        ".better:add_to", "tell whether run B is better than run A, on the examples that both were evaluated on"
    ),
    "reproduce": ListedCommand(
        ".reproduce:add_to", "run a run again from its commit, and tell whether the result is the same"
    ),
    "continue": ListedCommand(".continue_run:add_to", "resume a run from its newest checkpoint in MLflow"),
    "track": ListedCommand(".track:add_track", "show and send what MLflow does not have yet of the runs of this clone"),
    "weights": ListedCommand(".weights:add_to", "list and fetch published weights; make weights here"),
    "import": ListedCommand(
        ".import_data:add_to",
        "import a zip or a folder of Roboflow, CVAT, Label Studio, labelImg, … into data/raw/ and conf/data/",
    ),
    "frames": ListedCommand(".frames:add_to", "take pictures from a film at a chosen rate, without near duplicates"),
    "propose": ListedCommand(
        ".propose:add_to", "write a run's predictions on unlabelled pictures as labels to correct"
    ),
    "suspects": ListedCommand(
        ".suspects:add_to", "list the examples whose label is probably wrong, as a page and as tables"
    ),
    "next": ListedCommand(".next_labels:add_to", "choose the unlabelled pictures that would teach a run most"),
    "import-config": ListedCommand(
        "bakeoff.importing.api_config.command:add_to",
        "import a pipeline.config of the TF Object Detection API (an SSD) into conf/",
    ),
    "ui": ListedCommand(
        ".ui:add_to", "serve MLflow's pages on this workspace's runs, for this machine only (127.0.0.1)"
    ),
    "web": ListedCommand(".web:add_to", "serve the team's page: data, labels, training and models in a browser"),
    "doctor": ListedCommand(
        ".doctor:add_to", "show versions, GPUs, driver, free disk, a timed step, and why a GPU is not used"
    ),
    "sweep list": ListedCommand(".sweep_commands:add_to", "list all sweeps and their progress"),
    "sweep show": ListedCommand(
        ".sweep_commands:add_to", "the points of a sweep: metric, state, and why one is not done"
    ),
    "sweep best": ListedCommand(".sweep_commands:add_to", "the best point of a sweep, and into the workspace"),
    "sweep prune": ListedCommand(".sweep_commands:add_to", "remove what a sweep left and nobody needs"),
    "completion": ListedCommand(".completion:add_to", "print the script with which a shell completes arguments"),
}
