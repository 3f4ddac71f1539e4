"""Tasks become options of the SDK, and what msb cannot carry out is refused."""

from __future__ import annotations

import pytest
from harbor.environments.factory import EnvironmentFactory
from harbor.models.task.config import NetworkMode
from msb import Network, Secret

from support import IMAGE
from trials import environment


def test_harbor_finds_the_environment_and_its_options():
    found = EnvironmentFactory.get_environment_class(import_path="harbor_msb:MsbEnvironment")
    assert found.type() == "msb"
    assert "secrets" in found.options_schema()["properties"]


@pytest.mark.parametrize(
    ("mode", "hosts", "network"),
    [
        (NetworkMode.NO_NETWORK, [], Network.none()),
        (NetworkMode.PUBLIC, [], Network.outbound()),
        (
            NetworkMode.ALLOWLIST,
            ["*.example.com", "10.0.0.0/8"],
            Network.listed(["*.example.com", "10.0.0.0/8"]),
        ),
    ],
)
def test_a_network_mode_is_one_of_msb(tmp_path, mode, hosts, network):
    made = environment(tmp_path, mode=mode, hosts=hosts)
    assert made._sandbox_options()["network"] == network


def test_a_task_becomes_options(tmp_path, monkeypatch):
    monkeypatch.setenv("FROM_HOST", "2")
    config = {"workdir": "/work", "storage_mb": 2048, "env": {"A": "${FROM_HOST}"}}
    made = environment(
        tmp_path,
        mode=NetworkMode.PUBLIC,
        config=config,
        persistent_env={"B": "3"},
        secrets={"API_KEY": ["api.example.com"]},
    )
    assert made._sandbox_options() == {
        "labels": {"harbor-msb": "hello__1__env"},
        "env": {"A": "2", "B": "3"},
        "network": Network.outbound(),
        "secrets": [Secret("API_KEY", ["api.example.com"])],
        "cwd": "/work",
        "cpus": 1,
        "memory": "512M",
        "disk": "2048M",
    }


@pytest.mark.parametrize(
    ("config", "options", "named"),
    [
        ({"docker_image": None}, {}, "docker_image"),
        ({"cpus": 0.5}, {}, "whole CPU cores"),
        ({}, {"secretes": {}}, "Unknown option 'secretes'"),
        ({}, {"auto_mounting": True}, "mounts"),
    ],
)
def test_a_task_that_cannot_be_carried_out_is_refused(tmp_path, config, options, named):
    with pytest.raises(ValueError, match=named):
        environment(tmp_path, config=config, **options)


def test_services_of_compose_are_refused(tmp_path):
    directory = tmp_path / "environment"
    directory.mkdir()
    (directory / "docker-compose.yaml").write_text("services: {}")
    with pytest.raises(ValueError, match="no services of compose"):
        environment(tmp_path)


async def test_a_build_is_refused(tmp_path):
    assert environment(tmp_path).task_env_config.docker_image == IMAGE
    with pytest.raises(ValueError, match="does not build images"):
        await environment(tmp_path).start(force_build=True)
