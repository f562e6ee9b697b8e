"""The line of each command in `bakeoff --help`, in the order in which the help lists them.

They stand here together, so that the help is printed without loading the file of a single command.
"""

LINES = {
    "repro": "`dvc repro` with its own options, --note and --on, after mending what a kill or a loss of power left behind",  # noqa: E501
    "plan": "show what a variant needs and does: steps, parameters, memory, time, stages",
    "config": "show the variant with the origin of every value; with one or two names, the differences",
    "sweep": "run every combination of a few values, each as a DVC experiment",
    "queue": "queue variants and sweeps, first in, first out",
    "budget": "show the minutes of training by conf/team.yaml, and how many are left",
    "curve": "estimate what more data would bring, by training on shares of it",
    "predict": "run a model on images and videos",
    "measure": "time an exported file here or on a robot, and compare its answers",
    "evaluate": "evaluate runs or model files on any split of any data",
    "drift": "tell whether new images differ from those that a run was trained on",
    "status": "show the state of runs: steps, time left, the headline metric",
    "stop": "stop a run after its current step; it is saved and can be resumed",
    "clean": "list old work in .bakeoff, and remove what is finished after you confirm",
    "compare": "show runs side by side: settings that differ, metrics, cost",
    "better": "tell whether run B is better than run A, on the examples that both were evaluated on",
    "reproduce": "run a run again from its commit, and tell whether the result is the same",
    "continue": "resume a run from its newest checkpoint in MLflow",
    "track": "show and send what MLflow does not have yet of the runs of this clone",
    "weights": "list and fetch published weights; make weights here",
    "import": "import a zip or a folder of Roboflow, CVAT, Label Studio, labelImg, … into data/raw/ and conf/data/",
    "frames": "take pictures from a film at a chosen rate, without near duplicates",
    "propose": "write a run's predictions on unlabelled pictures as labels to correct",
    "suspects": "list the examples whose label is probably wrong, as a page and as tables",
    "next": "choose the unlabelled pictures that would teach a run most",
    "import-config": "import a pipeline.config of the TF Object Detection API (an SSD) into conf/",
    "ui": "serve MLflow's pages on this workspace's runs, for this machine only (127.0.0.1)",
    "web": "serve the team's page: data, labels, training and models in a browser",
    "doctor": "show versions, GPUs, driver, free disk, a timed step, and why a GPU is not used",
    "sweep list": "list all sweeps and their progress",
    "sweep show": "the points of a sweep: metric, state, and why one is not done",
    "sweep best": "the best point of a sweep, and into the workspace",
    "sweep prune": "remove what a sweep left and nobody needs",
    "completion": "print the script with which a shell completes arguments",
}
