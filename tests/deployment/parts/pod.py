"""A container of a manifest as a plain process: its own arguments, with the mounted paths and the network mapped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from tests.opa_process import free_port

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def manifests(file: Path) -> list[dict[str, Any]]:
    """The objects in a file."""
    return [found for found in yaml.safe_load_all(file.read_text()) if found is not None]


def one(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """The only object of a kind."""
    (found,) = [each for each in objects if each["kind"] == kind]
    return found


def pod_of(file: Path) -> dict[str, Any]:
    """The pod's specification in the file's Deployment."""
    found: dict[str, Any] = one(manifests(file), "Deployment")["spec"]["template"]["spec"]
    return found


def containers(pod: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """All containers by name, those that come first included."""
    return {each["name"]: each for each in (*pod.get("initContainers", ()), *pod["containers"])}


class Mapped:
    """Where a container's mounts and ports are in this test."""

    def __init__(self, container: dict[str, Any], folder: Path) -> None:
        self.folders = {mount["mountPath"]: folder / mount["name"] for mount in container["volumeMounts"]}
        self.ports = {port["containerPort"]: free_port() for port in container.get("ports", ())}
        for mounted in self.folders.values():
            mounted.mkdir(exist_ok=True)

    def text(self, text: str) -> str:
        """`text` with the mapped paths and addresses."""
        for mounted, real in self.folders.items():
            text = text.replace(f"{mounted}/", f"{real}/")
        for port, real_port in self.ports.items():
            text = text.replace(f"0.0.0.0:{port}", f"127.0.0.1:{real_port}")
        return text

    def configuration(self, config_map: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> None:
        """Mount the ConfigMap's one file, with what `change` makes of it and the paths mapped."""
        ((name, text),) = config_map["data"].items()
        document = yaml.safe_load(text)
        document["persistence_directory"] = str(self.folders[document["persistence_directory"]])
        change(document)
        (self.folders["/config"] / name).write_text(yaml.safe_dump(document))
