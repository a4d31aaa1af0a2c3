"""A local SLURM with two nodes, run by root with Debian's packages slurmctld, slurmd, slurm-client and munge."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NODES = ("node1", "node2")
PLACE = Path("/etc/slurm/slurm.conf")  # commands look for it here; the plug-in does not pass other places on to jobs
# Without cgroups, memory is checked every other second. A node that does not answer for some seconds counts as down.
CONF = """
ClusterName=trial
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=1
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
KillWait=5
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
JobAcctGatherParams=OverMemoryKill
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.txt
PropagateResourceLimits=NONE
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port=17001 CPUs={cpus} RealMemory=32000 State=UNKNOWN
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port=17002 CPUs={cpus} RealMemory=32000 State=UNKNOWN
PartitionName=main Nodes=node1,node2 Default=YES MaxTime=600 DefMemPerCPU=1000 State=UP
"""


@contextmanager
def slurm(folder: Path, cpus: int = 10) -> Iterator[None]:
    """Start the daemons, and stop them at the end.

    Parameters
    ----------
    folder : path
        Folder for their files; created if necessary.
    cpus : int
        CPUs of each node, whatever the machine has.
    """
    for name in ("state", *NODES):
        (folder / name).mkdir(parents=True, exist_ok=True)
    key, conf = folder / "munge.key", folder / "slurm.conf"
    key.unlink(missing_ok=True)
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    conf.write_text(CONF.format(folder=folder, cpus=cpus, host=socket.gethostname()))
    PLACE.symlink_to(conf)  # fails on a machine that belongs to a cluster
    try:
        files = [f"--{name}-file={folder}/munge.{name}" for name in ("pid", "log", "seed")]
        query("munged", "--force", f"--socket={folder}/munge.socket", f"--key-file={key}", *files)
        query("slurmctld", "-c")
        start(*NODES)
        yield
    finally:
        query("scancel", "--user=root")
        for _ in range(20):  # wait at most 20 seconds, because jobs of a killed node remain
            time.sleep(bool(query("squeue", "--noheader")))
        PLACE.unlink()
        for pid_file in sorted(folder.glob("*.pid"), reverse=True):  # stop the nodes first
            with suppress(ProcessLookupError):
                os.kill(int(pid_file.read_text()), signal.SIGTERM)


def start(*nodes: str) -> None:
    """Start the daemons of nodes, and wait until the nodes are up."""
    for node in nodes:
        query("slurmd", "-N", node)
    while "idle" not in query("sinfo", "--noheader", "--nodes", ",".join(nodes), "--format=%T"):
        time.sleep(0.5)


def kill(folder: Path, node: str) -> None:
    """Kill the daemon of a node. Its jobs continue unnoticed while SLURM runs them again elsewhere."""
    pid = (folder / f"slurmd.{node}.pid").read_text()
    os.kill(int(pid), signal.SIGKILL)


def query(*command: str) -> str:
    """Return the output of a command, which must succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
