"""Slurm on this machine alone: a controller, two nodes and munge, in a folder of its own, with preemption by requeue.

The partition `low` gives way to `high`: its jobs get SIGTERM, have `grace` seconds, and are put into the line again.
"""

import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import psutil

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "squeue", "scontrol")
NODES = ("n1", "n2")
PATIENCE = 600.0  # seconds
CONF = """
ClusterName=proof
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
CredType=cred/munge
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/{proctrack}
TaskPlugin=task/none
SelectType=select/linear
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=5
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]}-{ports[2]} CPUs={cores} State=UNKNOWN
PartitionName=low Nodes=n[1-2] Default=YES PriorityTier=1 GraceTime={grace} MaxTime=INFINITE State=UP
PartitionName=high Nodes=n[1-2] PriorityTier=10 PreemptMode=OFF MaxTime=INFINITE State=UP
"""


def why_not() -> str | None:
    """Return why Slurm cannot run here; None if it can."""
    missing = [name for name in PROGRAMS if _path(name) is None]
    if missing:
        return f"needs {', '.join(missing)}; `apt-get install slurmctld slurmd slurm-client munge` brings them"
    return None if os.geteuid() == 0 else "needs root, as slurmd does"


class Slurm:
    def __init__(self, folder: Path, *, grace: int = 20, proctrack: str = "linuxproc") -> None:
        self.grace = grace
        self._folder, self._started = folder, list[subprocess.Popen[bytes]]()
        (folder / "state").mkdir(parents=True)
        (folder / "key").write_bytes(os.urandom(1024))
        folder.chmod(0o755)
        (folder / "key").chmod(0o400)
        ports = _free_ports(2)
        values = {"folder": folder, "host": socket.gethostname(), "cores": os.cpu_count(), "grace": grace}
        text = CONF.format(**values, proctrack=proctrack, ports=[ports[0], ports[1], ports[1] + 1])
        (folder / "slurm.conf").write_text(text, encoding="ascii")
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self) -> "Slurm":
        munge = {"key-file": "key", "socket": "munge.sock", "pid-file": "munge.pid", "log-file": "munge.log"}
        munge |= {"seed-file": "munge.seed"}
        self._start("munged", "--foreground", "--force", *(f"--{key}={self._folder / munge[key]}" for key in munge))
        self._until(lambda: (self._folder / "munge.sock").exists(), "munge")
        self._start("slurmctld", "-D", "-c")
        for node in NODES:
            self._start("slurmd", "-D", "-N", node)
        try:
            self._until(lambda: set(self.ask("sinfo", "-h", "-o", "%T", ok=False).split()) == {"idle"}, "nodes")
        except TimeoutError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.ask("scancel", "--user=root", ok=False)
        for process in reversed(self._started):
            process.terminate()
            process.wait()

    def ask(self, *command: str, ok: bool = True) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0 or not ok, done.stderr
        return done.stdout.strip()

    def submit(self, folder: Path, script: str, *options: str) -> str:
        """Return the number of the job."""
        command = ["sbatch", "--parsable", "--chdir", str(folder), "--export=ALL", *options]
        done = subprocess.run(command, input=script, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def state(self, job: str) -> tuple[str, str]:
        """Return the state and the node of a job: ("RUNNING", "n1")."""
        lines = [line.split() for line in self.ask("squeue", "-h", "-r", "-o", "%A %T %N", ok=False).splitlines()]
        states = [(state, "".join(node)) for number, state, *node in lines if number == job]
        return next((one for one in states if one[1]), states[0] if states else ("GONE", ""))

    def running(self, partition: str) -> list[str]:
        """Return the numbers of jobs that run; each of an array has its own."""
        return self.ask("squeue", "-h", "-r", "-p", partition, "-t", "RUNNING", "-o", "%A", ok=False).split()

    def preempt(self, job: str) -> float:
        """Let a more important job take the node. Return the seconds that it waited for it."""
        _, node = self.state(job)
        begun = time.monotonic()
        other = self.submit(self._folder, "#!/bin/sh\nsleep 3\n", "-p", "high", "-w", node, "-o", "/dev/null")
        self._until(lambda: self.state(other)[0] != "PENDING", "the node")
        return time.monotonic() - begun

    def turn_of(self, job: str) -> int:
        """Return how often a job has been put into the line again."""
        return int(re.findall(r"Restarts=(\d+)", self.ask("scontrol", "show", "job", job))[0])

    def processes_of(self, job: str, turn: int | None = None) -> list[psutil.Process]:
        """Return all that a job has left, of whatever session or parent, or what it has left of one turn."""
        own, processes = {"SLURM_JOB_ID": job, "SLURM_CONF": self.environment["SLURM_CONF"]}, []
        for process in psutil.process_iter():
            try:
                is_alive, theirs = process.status() != psutil.STATUS_ZOMBIE, process.environ()
                is_of_turn = turn is None or turn == int(theirs.get("SLURM_RESTART_COUNT", "0"))
                if is_alive and is_of_turn and own.items() <= theirs.items():
                    processes.append(process)
            except psutil.Error:
                continue
        return processes

    def left_of(self, job: str, turn: int, seconds: float) -> list[psutil.Process]:
        """Return what a turn of a job has left; wait so long for its last processes to end."""
        end = time.monotonic() + seconds
        while (left := self.processes_of(job, turn)) and time.monotonic() < end:
            time.sleep(0.1)
        return left

    def _until(self, condition: object, what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():  # type: ignore[operator]
            if time.monotonic() > end:
                raise TimeoutError(f"{what}: see {self._folder}")
            time.sleep(0.1)

    def _start(self, program: str, *options: str) -> None:
        with (self._folder / f"{program}.out").open("ab") as out:
            command = [_path(program) or program, *options]
            self._started.append(subprocess.Popen(command, env=self.environment, stdout=out, stderr=out))


def _path(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
