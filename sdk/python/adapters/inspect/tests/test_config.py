"""Configurations are read, and what msb cannot carry out is refused or named."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from inspect_ai.util import ComposeConfig, SandboxEnvironmentSpec
from msb import Network, Secret

from inspect_msb import MsbConfig, MsbSandboxEnvironment
from inspect_msb._config import DEFAULT_IMAGE, load
from support import GUIDE, blocks


def written(directory: Path, name: str, text: str) -> str:
    path = directory / name
    path.write_text(text)
    return str(path)


def test_a_task_without_a_configuration_has_inspects_image_and_no_network():
    config = load(None)
    assert config.image == DEFAULT_IMAGE
    assert config.options()["network"] == Network.none()


def test_a_configuration_becomes_options_of_the_sdk(tmp_path):
    text = """
image: python:3-slim
user: "1000"
working_dir: /work
environment: {A: "1"}
cpus: 2
memory: 512M
disk: 2G
network: listed
allow: ["pypi.org:443"]
secrets: {API_KEY: [api.example.com]}
"""
    config = load(written(tmp_path, "msb.yaml", text))
    assert config.image == "python:3-slim"
    assert config.options() == {
        "env": {"A": "1"},
        "init": False,
        "network": Network.listed(["pypi.org:443"]),
        "secrets": [Secret("API_KEY", ["api.example.com"])],
        "user": "1000",
        "cwd": "/work",
        "cpus": 2,
        "memory": "512M",
        "disk": "2G",
    }


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("imgae: python", "imgae"),
        ("allow: [pypi.org]", "need a network"),
        ("secrets: {KEY: [api.example.com]}", "need a network"),
        ("network: host", "network"),
        ("- image", "MsbConfig"),
    ],
)
def test_a_wrong_configuration_is_refused(tmp_path, text, named):
    with pytest.raises(ValueError, match=named):
        load(written(tmp_path, "msb.yaml", text))


COMPOSE = """
services:
  default:
    image: python:3-slim
    x-default: true
    x-local: true
    command: tail -f /dev/null
    working_dir: /work
    environment: [A=1, FROM_HOST, MISSING]
    user: "1000"
    network_mode: none
    mem_limit: 0.5gb
    cpus: 1.5
    init: true
    ports: ["80:80"]
    cap_drop: [ALL]
    deploy: {resources: {reservations: {memory: 1g}}}
"""


def test_a_compose_file_with_one_service_is_read_and_other_keys_are_named(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.setenv("FROM_HOST", "2")
    monkeypatch.delenv("MISSING", raising=False)
    caplog.set_level(logging.WARNING)
    assert load(written(tmp_path, "compose.yaml", COMPOSE)) == MsbConfig(
        image="python:3-slim",
        command=["tail", "-f", "/dev/null"],
        init=True,
        user="1000",
        working_dir="/work",
        environment={"A": "1", "FROM_HOST": "2"},
        cpus=2,
        memory="512M",
        network="none",
    )
    assert "msb ignores cap_drop, deploy.resources.reservations, ports" in caplog.text


def test_a_service_has_the_limits_of_its_deployment_and_the_network_of_compose():
    limits = {"resources": {"limits": {"cpus": "0.5", "memory": "300m"}}}
    service = {"image": "a", "deploy": limits}
    config = load(ComposeConfig.model_validate({"services": {"a": service}}))
    assert (config.cpus, config.memory, config.network) == (1, "300M", "outbound")


@pytest.mark.parametrize(
    ("services", "named"),
    [
        ({"a": {"image": "a"}, "b": {"image": "b"}}, "one service, and the services are: a, b"),
        ({"a": {"build": "."}}, "does not build images"),
        ({"a": {"image": "a", "build": {"context": "."}}}, "does not build images"),
        ({"a": {}}, "has no image"),
        ({"a": {"image": "a", "network_mode": "host"}}, "networks"),
        ({"a": {"image": "a", "networks": ["inner"]}}, "networks"),
        ({"a": {"image": "a:${TAG}"}}, "variables"),
        ({"a": {"image": "a", "mem_limit": "much"}}, "'much' is not a size"),
    ],
)
def test_a_compose_file_that_cannot_be_carried_out_is_refused(services, named):
    with pytest.raises(ValueError, match=named):
        load(ComposeConfig.model_validate({"services": services}))


def test_a_dockerfile_is_refused():
    with pytest.raises(ValueError, match="does not build images"):
        load("Dockerfile")


def test_inspect_finds_the_package_and_reads_configurations_of_logs():
    spec = SandboxEnvironmentSpec.model_validate({"type": "msb", "config": {"image": "a"}})
    assert spec.config == MsbConfig(image="a")
    assert MsbSandboxEnvironment.config_files() == ["msb.yaml", "compose.yaml"]
    assert MsbSandboxEnvironment.default_concurrency() >= 1


def test_the_configurations_of_the_guide_are_read(tmp_path):
    configs = [load(written(tmp_path, "msb.yaml", text)) for text in blocks("yaml")]
    assert [config.network for config in configs] == ["none", "listed"]
    assert configs[1].secrets == {"GH_TOKEN": ["api.github.com"]}


def test_the_guide_has_a_row_for_each_field():
    text = GUIDE.read_text()
    table = text.split("| Field of `msb.yaml`")[1].split("###")[0]
    missing = [name for name in MsbConfig.model_fields if f"`{name}`" not in table]
    assert missing == []
