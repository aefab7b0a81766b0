"""The files in deploy/, against the schemas that Ray and Kubernetes publish; hadolint reads the Dockerfile.

None of them has run in a cloud, in Kubernetes or in Docker: docs/cluster.md says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CLUSTER_PORTS = 6379, 6385  # first and last of Ray's own
WORKER_PORTS = 20000, 20199
START_S = 120.0

# Fields of a RayJob of ray.io/v1 that deploy/rayjob.yaml may use, with their types in the API.
RAY_JOB: dict[str, type] = {
    "entrypoint": str,
    "backoffLimit": int,
    "shutdownAfterJobFinishes": bool,
    "ttlSecondsAfterFinished": int,
    "activeDeadlineSeconds": int,
    "rayClusterSpec": dict,
}
RAY_CLUSTER: dict[str, type] = {"rayVersion": str, "authOptions": dict, "headGroupSpec": dict, "workerGroupSpecs": list}
GROUP: dict[str, type] = {"rayStartParams": dict, "template": dict}
WORKERS: dict[str, type] = {**GROUP, "groupName": str, "replicas": int, "minReplicas": int, "maxReplicas": int}


def program(name: str) -> str:
    """Return a program that was installed beside this Python."""
    path = shutil.which(name, path=sysconfig.get_path("scripts"))
    assert path is not None, f"{name} is missing; make setup installs it"
    return path


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:  # Any: plain data
    data: dict[str, Any] = yaml.safe_load((DEPLOY / "ray-cluster.yaml").read_text())
    return data


@pytest.fixture(scope="module")
def resources() -> dict[str, dict[str, Any]]:  # Any: plain data
    documents = yaml.safe_load_all((DEPLOY / "rayjob.yaml").read_text())
    return {document["kind"]: document for document in documents}


def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    done = subprocess.run([program("hadolint"), DEPLOY / "Dockerfile"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_dockerfile_copies_files_that_exist_and_that_docker_sees() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    copied = [name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]]
    assert copied
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    for name in copied:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in ignored, name


def test_the_cluster_file_is_valid_for_rays_launcher(cluster: dict[str, Any]) -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    prepared = prepare_config(cluster)
    validate_config(prepared)
    with pytest.raises(Exception, match="head_node"):
        validate_config({**prepared, "head_node": 3, "spott": 1})


def test_the_head_is_on_demand_and_the_workers_are_spot_machines(cluster: dict[str, Any]) -> None:
    kinds = cluster["available_node_types"]
    assert "InstanceMarketOptions" not in kinds[cluster["head_node_type"]]["node_config"]
    others = [kind for name, kind in kinds.items() if name != cluster["head_node_type"]]
    assert [kind["node_config"]["InstanceMarketOptions"] for kind in others] == [{"MarketType": "spot"}]
    assert all(0 < kind["min_workers"] <= kind["max_workers"] <= cluster["max_workers"] for kind in others)


@pytest.mark.parametrize("which", ["head", "worker"])
def test_ray_starts_with_a_token_bounded_ports_and_a_dashboard_on_loopback(cluster: dict[str, Any], which: str) -> None:
    stop, start = cluster[f"{which}_start_ray_commands"]
    assert stop.startswith("RAY_AUTH_MODE=token ")
    assert "RAY_AUTH_MODE=token ~/ludus-bundle/venv/bin/ray start" in start
    assert any(remote.endswith("/.ray/auth_token") for remote in cluster["file_mounts"])
    ports = {name: int(port) for name, port in re.findall(r"--([a-z-]+-port|port)=(\d+)", start)}
    first, last = CLUSTER_PORTS
    assert (ports.pop("min-worker-port"), ports.pop("max-worker-port")) == WORKER_PORTS
    assert ports.pop("dashboard-port", 8265) == 8265
    assert all(first <= port <= last for port in ports.values())
    assert len(set(ports.values())) == len(ports)
    assert ("--dashboard-host=127.0.0.1" in start) == (which == "head")


@pytest.mark.slow
def test_the_start_command_of_the_head_refuses_clients_without_its_token(
    cluster: dict[str, Any], tmp_path: Path, ray_home: Path
) -> None:
    command = cluster["head_start_ray_commands"][1].replace("~/ludus-bundle/venv/bin/ray", program("ray"))
    command = re.sub(r"port=(\d+)", lambda match: f"port={int(match[1]) + 30_000}", command)
    command = re.sub(r"--autoscaling-config=\S+", f"--num-cpus=1 --temp-dir={ray_home}/t", command)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {"HOME": str(ray_home), "RAY_AUTH_MODE": "token"}

    def run(words: list[str], **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, env={**environment, **more}, cwd=tmp_path, capture_output=True, text=True, timeout=START_S
        )

    assert run([program("ray"), "get-auth-token", "--generate"]).returncode == 0
    done = run(["bash", "-c", command])
    assert done.returncode == 0, done.stdout + done.stderr
    join = [sys.executable, "-c", "import ray; ray.init('127.0.0.1:36379'); print('joined')"]
    refused = run(join, RAY_AUTH_TOKEN="a" * 40)
    assert refused.returncode != 0
    assert "joined" not in refused.stdout
    accepted = run(join)
    assert "joined" in accepted.stdout, accepted.stderr


@pytest.fixture
def ray_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home folder with a short path, for Ray's sockets. Ends what Ray has started there, and nothing else."""
    folder = Path(f"/tmp/ludus-ray-{os.getpid()}")
    folder.mkdir()
    yield folder
    until = time.monotonic() + START_S
    while (left := _started_in(folder)) and time.monotonic() < until:
        for process in left:
            process.kill()
        psutil.wait_procs(left, timeout=5)
    shutil.rmtree(folder, ignore_errors=True)
    assert not left


def _started_in(folder: Path) -> list[psutil.Process]:
    """Return the processes whose command line or environment names the folder."""
    found = []
    for process in psutil.process_iter():
        try:
            words = [*process.cmdline(), *process.environ().values()]
        except psutil.Error:
            continue
        if process.pid != os.getpid() and any(str(folder) in word for word in words):
            found.append(process)
    return found


def test_what_kubernetes_defines_in_the_ray_job_is_valid_for_kubernetes(resources: dict[str, dict[str, Any]]) -> None:
    import kubernetes_validate as kubernetes

    version = kubernetes.latest_version()
    assert set(resources) == {"PersistentVolumeClaim", "RayJob"}
    kubernetes.validate(resources["PersistentVolumeClaim"], version, strict=True)
    cluster = resources["RayJob"]["spec"]["rayClusterSpec"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        pod: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "pod"},
            "spec": group["template"]["spec"],
        }
        kubernetes.validate(pod, version, strict=True)
        with pytest.raises(kubernetes.ValidationError):
            kubernetes.validate({**pod, "spec": {**pod["spec"], "nodeSelektor": {}}}, version, strict=True)


def test_the_fields_of_the_ray_job_are_those_of_kuberay(resources: dict[str, dict[str, Any]]) -> None:
    job = resources["RayJob"]
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    parts: list[tuple[dict[str, Any], dict[str, type]]] = [
        (job["spec"], RAY_JOB),
        (cluster, RAY_CLUSTER),
        (cluster["headGroupSpec"], GROUP),
        *((group, WORKERS) for group in cluster["workerGroupSpecs"]),
    ]
    for part, fields in parts:
        for name, value in part.items():
            assert isinstance(value, fields[name]), name


def test_the_ray_job_asks_for_the_ray_of_the_image_with_a_token(resources: dict[str, dict[str, Any]]) -> None:
    cluster = resources["RayJob"]["spec"]["rayClusterSpec"]
    pins = re.findall(r"^ray==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pins == [cluster["rayVersion"]]
    assert cluster["authOptions"] == {"mode": "token"}
    volumes = cluster["headGroupSpec"]["template"]["spec"]["volumes"]
    claims = [volume["persistentVolumeClaim"]["claimName"] for volume in volumes if "persistentVolumeClaim" in volume]
    assert claims == [resources["PersistentVolumeClaim"]["metadata"]["name"]]


def test_the_entry_point_of_the_ray_job_resumes_a_run_that_has_checkpoints(
    resources: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ludus").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "bin" / "ludus").chmod(0o755)
    entrypoint = resources["RayJob"]["spec"]["entrypoint"].replace("/runs/", f"{tmp_path}/")
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}

    def words() -> list[str]:
        return subprocess.check_output(["bash", "-c", entrypoint], env=environment, text=True, timeout=20).split()

    assert words()[:2] == ["train", "gen9"]
    assert "--resume" not in words()
    (tmp_path / "gen9" / "checkpoints").mkdir(parents=True)
    assert words()[-1] == "--resume"
