"""deploy/kubernetes: valid by Kubernetes' own schemas, closed, and of one piece. `test_kubernetes_opa` runs it."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import kubernetes_validate
import pytest
import yaml

from aioc_opa.audit.keys import AuditKey
from aioc_opa.core.policy_question import MAX_BODY_BYTES
from tests.deployment.parts.pod import Mapped, containers, manifests, one, pod_of

if TYPE_CHECKING:
    from pathlib import Path

FILES = ("opa-config-azure", "opa-config-gcs", "opa-config-s3", "shared-service", "sidecar")
WORKLOADS = ("shared-service", "sidecar")
OLDEST = "1.29"  # the first with sidecars


@pytest.fixture(scope="module")
def folder(repository: Path) -> Path:
    return repository / "deploy" / "kubernetes"


def test_these_are_all_the_files(folder: Path) -> None:
    assert sorted(file.stem for file in folder.glob("*.yaml")) == list(FILES)


@pytest.mark.parametrize("version", [OLDEST, "newest"])
@pytest.mark.parametrize("name", FILES)
def test_every_object_is_valid_by_the_schemas_of_kubernetes(folder: Path, name: str, version: str) -> None:
    wanted = kubernetes_validate.latest_version() if version == "newest" else version
    objects = manifests(folder / f"{name}.yaml")
    assert objects
    for found in objects:
        kubernetes_validate.validate(found, wanted, strict=True)
        found["spek"] = {}
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(found, wanted, strict=True)


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_container_runs_with_as_little_as_it_needs(folder: Path, name: str, repository: Path) -> None:
    pod = pod_of(folder / f"{name}.yaml")
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod.keys().isdisjoint({"hostNetwork", "hostPID", "hostIPC"})
    closed = {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    for container in containers(pod).values():
        assert container["securityContext"] == closed
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}
        assert container["resources"]["limits"]["memory"]
        assert all("secretKeyRef" not in json.dumps(variable) for variable in container.get("env", ()))
    pinned = (repository / ".opa-version").read_text().strip()
    assert containers(pod)["opa"]["image"] == f"openpolicyagent/opa:{pinned}-static"


@pytest.mark.parametrize("name", WORKLOADS)
def test_names_fit_together(folder: Path, name: str) -> None:
    objects = manifests(folder / f"{name}.yaml")
    deployment = one(objects, "Deployment")
    pod, labels = deployment["spec"]["template"]["spec"], deployment["spec"]["template"]["metadata"]["labels"]
    for kind, where in (
        ("Deployment", "selector"),
        ("PodDisruptionBudget", "selector"),
        ("NetworkPolicy", "podSelector"),
    ):
        assert one(objects, kind)["spec"][where]["matchLabels"].items() <= labels.items(), kind
    assert one(objects, "ServiceAccount")["metadata"]["name"] == pod["serviceAccountName"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounted = [mount for container in containers(pod).values() for mount in container["volumeMounts"]]
    assert {mount["name"] for mount in mounted} == volumes.keys()
    assert all(mount.get("readOnly") or "emptyDir" in volumes[mount["name"]] for mount in mounted)
    ports = {port["containerPort"] for container in containers(pod).values() for port in container.get("ports", ())}
    policy = one(objects, "NetworkPolicy")["spec"]
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == ports
    assert all(rule["from"] for rule in policy["ingress"])
    budget = one(objects, "PodDisruptionBudget")["spec"]
    assert 1 <= budget["minAvailable"] < deployment["spec"]["replicas"]


def test_the_configurations_differ_in_where_bundles_come_from_only(folder: Path) -> None:
    found = []
    for name in ("azure", "gcs", "s3"):
        (text,) = one(manifests(folder / f"opa-config-{name}.yaml"), "ConfigMap")["data"].values()
        document = yaml.safe_load(text)
        assert document["services"]["bundles"].pop("credentials")
        assert document["services"]["bundles"].pop("url").startswith("https://")
        document["services"]["bundles"].pop("headers", None)
        assert document["bundles"]["tools"].pop("resource").startswith("tools.tar.gz")
        found.append(document)
    assert found[0] == found[1] == found[2]
    assert found[0]["bundles"]["tools"]["signing"] == {"keyid": "publisher"}
    assert found[0]["server"]["decoding"]["max_length"] == MAX_BODY_BYTES


def test_the_audit_key_of_a_mounted_secret_is_made_a_file_of_the_users_own(folder: Path, tmp_path: Path) -> None:
    container = containers(pod_of(folder / "sidecar.yaml"))["audit-key"]
    mapped = Mapped(container, tmp_path)
    secret = mapped.folders["/secrets/audit"]
    (secret / "..data").mkdir()
    AuditKey.generate().save(secret / "..data" / "writer.key")
    (secret / "writer.key").symlink_to("..data/writer.key")
    mapped.folders["/run/agent"].chmod(0o777)
    agent = containers(pod_of(folder / "sidecar.yaml"))["agent"]
    (wanted,) = [variable["value"] for variable in agent["env"] if variable["name"] == "AUDIT_KEY_FILE"]
    for _ in range(2):  # and again, when the container is started anew
        script = [mapped.text(f"{argument} ").strip() for argument in container["args"]]
        subprocess.run([*container["command"], *script], check=True, env={"PATH": os.environ["PATH"]})
        assert AuditKey.load(mapped.text(wanted)).public_entry()
