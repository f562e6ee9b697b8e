"""Every command of `bakeoff`, in the order of --help: its line there, and the class that does it.

Classes stand here by name, so that a command loads no other one's file: together they take longer than most commands.
"""

from typing import NamedTuple


class ListedCommand(NamedTuple):
    line: str
    does_it: str = ""  # file:class; a command without it has commands of its own
    alone: str = ""  # the one of its commands that it is without any


COMMANDS = {
    "init": ListedCommand("make a workspace here or in another folder, for your own data", "init:InitCommand"),
    "upgrade": ListedCommand(
        "show what the installed version changes in a workspace, and write it after you confirm",
        "upgrade:UpgradeCommand",
    ),
    "repro": ListedCommand(
        "`dvc repro` with its own options, --note and --on, after mending what a kill or a loss of power left behind",
        "repro:ReproCommand",
    ),
    "plan": ListedCommand(
        "show what a variant needs and does: steps, parameters, memory, time, stages", "plan_config:PlanCommand"
    ),
    "config": ListedCommand(
        "show the variant with the origin of every value; with one or two names, the differences",
        "plan_config:ConfigCommand",
    ),
    "sweep": ListedCommand("run every combination of a few values, each as a DVC experiment", "sweep:SweepCommand"),
    "queue": ListedCommand("queue variants and sweeps, first in, first out; alone it lists them", alone="list"),
    "queue add": ListedCommand("queue a variant, or every combination of a few values", "queue:AddCommand"),
    "queue start": ListedCommand("run what is queued, until the queue is empty", "queue:StartCommand"),
    "queue list": ListedCommand("show the queue", "queue:QueueListCommand"),
    "queue remove": ListedCommand("remove from the queue; jobs that run end as usual", "queue:RemoveCommand"),
    "budget": ListedCommand(
        "show the minutes of training by conf/team.yaml, and how many are left", "budget:BudgetCommand"
    ),
    "curve": ListedCommand("estimate what more data would bring, by training on shares of it", "curve:CurveCommand"),
    "predict": ListedCommand("run a model on images and videos", "predict:PredictCommand"),
    "measure": ListedCommand(
        "time an exported file here or on a robot, and compare its answers", "measure:MeasureCommand"
    ),
    "export": ListedCommand(
        "export a finished run for another device, without training again", "export_run:ExportCommand"
    ),
    "card": ListedCommand(
        "write a folder to give away: exported files, a model card for Hugging Face, and a datasheet",
        "card:CardCommand",
    ),
    "certify": ListedCommand(
        "sign what a run was made of and what it gave, in a folder to give away", "certify:CertifyCommand"
    ),
    "verify": ListedCommand(
        "tell whether a folder and this workspace are what was certified, or which byte differs",
        "certify:VerifyCommand",
    ),
    "evaluate": ListedCommand("evaluate runs or model files on any split of any data", "evaluate:EvaluateCommand"),
    "drift": ListedCommand("tell whether new images differ from those that a run was trained on", "drift:DriftCommand"),
    "status": ListedCommand("show the state of runs: steps, time left, the headline metric", "status:StatusCommand"),
    "stop": ListedCommand(
        "stop a run after its current step; it is saved and can be resumed", "stop_clean:StopCommand"
    ),
    "clean": ListedCommand(
        "list old work in .bakeoff, and remove what is finished after you confirm", "stop_clean:CleanCommand"
    ),
    "compare": ListedCommand("show runs side by side: settings that differ, metrics, cost", "compare:CompareCommand"),
    "better": ListedCommand(
        "tell whether run B is better than run A, on the examples that both were evaluated on", "compare:BetterCommand"
    ),
    "gate": ListedCommand(
        "tell whether a change may replace what is there, or whether the examples are too few to tell",
        "gate:GateCommand",
    ),
    "diff": ListedCommand(
        "show what changed between two data sets: pictures, labels, boxes, leaks, and what drifted",
        "diff:DiffCommand",
    ),
    "reproduce": ListedCommand(
        "run a run again from its commit, and tell whether the result is the same", "reproduce:ReproduceCommand"
    ),
    "continue": ListedCommand("resume a run from its newest checkpoint in MLflow", "continue_run:ContinueCommand"),
    "register": ListedCommand(
        "make a checkpoint of a run the next version of a registered model in MLflow", "register:RegisterCommand"
    ),
    "track": ListedCommand("show and send what MLflow does not have yet of the runs of this clone"),
    "track status": ListedCommand("show what has not been sent, and why", "track:TrackStatusCommand"),
    "track sync": ListedCommand("send it now", "track:SyncCommand"),
    "weights": ListedCommand("list and fetch published weights; make weights here"),
    "weights list": ListedCommand("list the weights for each network of conf/model/", "weights:WeightsListCommand"),
    "weights get": ListedCommand(
        "fetch into data/weights/zoo/, from $BAKEOFF_WEIGHTS if that is set", "weights:GetCommand"
    ),
    "import": ListedCommand(
        "import a zip or a folder of Roboflow, CVAT, Label Studio, labelImg, … into data/raw/ and conf/data/",
        "import_data:ImportCommand",
    ),
    "frames": ListedCommand(
        "take pictures from a film at a chosen rate, without near duplicates", "frames:FramesCommand"
    ),
    "propose": ListedCommand(
        "write a run's predictions on unlabelled pictures as labels to correct", "propose:ProposeCommand"
    ),
    "suspects": ListedCommand(
        "list the examples whose label is probably wrong, as a page and as tables", "suspects:SuspectsCommand"
    ),
    "next": ListedCommand("choose the unlabelled pictures that would teach a run most", "next_labels:NextCommand"),
    "import-config": ListedCommand(
        "import a pipeline.config of the TF Object Detection API (an SSD) into conf/",
        "import_config:ImportConfigCommand",
    ),
    "ui": ListedCommand(
        "serve MLflow's pages on this workspace's runs, for this machine only (127.0.0.1)", "ui:UiCommand"
    ),
    "web": ListedCommand("serve the team's page: data, labels, training and models in a browser", "web:WebCommand"),
    "doctor": ListedCommand(
        "show versions, GPUs, driver, free disk, a timed step, and why a GPU is not used", "doctor:DoctorCommand"
    ),
    "sweep list": ListedCommand("list all sweeps and their progress", "sweep_commands:SweepListCommand"),
    "sweep show": ListedCommand(
        "the points of a sweep: metric, state, and why one is not done", "sweep_commands:ShowCommand"
    ),
    "sweep best": ListedCommand("the best point of a sweep, and into the workspace", "sweep_commands:BestCommand"),
    "sweep prune": ListedCommand("remove what a sweep left and nobody needs", "sweep_commands:PruneCommand"),
    "completion": ListedCommand(
        "print the script with which a shell completes arguments", "completion:CompletionCommand"
    ),
}
