"""The steps of behaviours, carried out with the synchronous SDK."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import changes
import msb
import network_of_sandboxes
import secrets_of_sandboxes
from behaviours import data, text, written
from msb import LogRecord, Mount, Msb, Port, Rule, Sandbox

Step = dict[str, Any]
Result = dict[str, Any]


@dataclass
class Stage:
    """The world of one behaviour, and what its steps made."""

    client: Msb
    image: str
    sandboxes: dict[str, Sandbox]
    variables: dict[str, Any]
    settings: dict[str, Any]
    jobs: dict[str, Any] = field(default_factory=dict)
    made: list[Sandbox] = field(default_factory=list)
    listeners: list[socket.socket] = field(default_factory=list)

    def sandbox(self, step: Step) -> Sandbox:
        """Returns the sandbox that a step names."""
        return self.sandboxes[step.get("sandbox", "main")]

    def keep(self, step: Step, sandbox: Sandbox) -> None:
        """Remembers a sandbox, which is removed at the end."""
        self.made.append(sandbox)
        if "as" in step:
            self.sandboxes[step["as"]] = sandbox

    def close(self) -> None:
        """Removes what the steps made."""
        for listener in self.listeners:
            # This also ends a thread that waits for a connection.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for sandbox in self.made:
            with contextlib.suppress(msb.MsbError):
                if sandbox.is_owned:
                    sandbox.close()
                else:
                    sandbox.remove(force=True)


def perform(step: Step, stage: Stage) -> Result:
    """Carries out a step, and returns its result."""
    name = step["do"]
    assert name in STEPS, f"this driver has no step '{name}'"
    return STEPS[name](step, stage) or {}


def options(given: dict[str, Any] | None) -> dict[str, Any]:
    """Returns options of a sandbox as keyword arguments."""
    arguments: dict[str, Any] = {"memory": "512M", "cpus": 1, "pull": "never"}
    for name, value in (given or {}).items():
        if name == "mounts":
            arguments[name] = [_mount(mount) for mount in value]
        elif name == "ports":
            arguments[name] = [Port(**port) for port in value]
        elif name == "secrets":
            arguments[name] = [secrets_of_sandboxes.secret(secret) for secret in value]
        elif name == "network" and isinstance(value, dict):
            arguments[name] = msb.Network(**value)
        elif name == "copy":
            arguments[name] = {entry["source"]: entry["destination"] for entry in value}
        elif name == "hosts":
            arguments[name] = {entry["names"][0]: entry["address"] for entry in value}
        elif name.endswith("_ms"):
            arguments[name.removesuffix("_ms")] = value / 1000
        else:
            arguments[name] = value
    return arguments


def _mount(fields: dict[str, Any]) -> Mount:
    rules = [Rule(**rule) if isinstance(rule, dict) else rule for rule in fields.get("rules", [])]
    return Mount(**{**fields, "rules": rules})


def _command(step: Step) -> dict[str, Any]:
    names = ("user", "max_output", "check", "snapshot")
    arguments = {name: step[name] for name in names if name in step}
    if "env" in step:
        arguments["env"] = {name: text(value) for name, value in step["env"].items()}
    if "cwd" in step:
        arguments["cwd"] = text(step["cwd"])
    if "timeout_ms" in step:
        arguments["timeout"] = step["timeout_ms"] / 1000
    return arguments


def _argv(step: Step) -> list[Any]:
    return [text(word) for word in step["argv"]]


def _output(output: msb.Output) -> Result:
    return {
        "exit_code": output.exit_code,
        "signal": output.signal,
        "stdout": output.stdout,
        "stderr": output.stderr,
        "stdout_bytes": len(output.stdout),
    }


def _exec(step: Step, stage: Stage) -> Result:
    arguments = _command(step)
    if "stdin" in step:
        arguments["stdin"] = data(step["stdin"])
    return _output(stage.sandbox(step).exec(_argv(step), **arguments))


def _shell(step: Step, stage: Stage) -> Result:
    return _output(stage.sandbox(step).shell(step["text"], **_command(step)))


def _poll_shell(step: Step, stage: Stage) -> Result:
    expected = data(step["expect"]["stdout"])
    deadline = time.monotonic() + 60
    while True:
        output = stage.sandbox(step).shell(step["text"])
        if output.stdout == expected or time.monotonic() > deadline:
            return _output(output)
        time.sleep(0.05)


def _spawn(step: Step, stage: Stage) -> Result:
    arguments: dict[str, Any] = {"stdin": "write" in step}
    if "tty" in step:
        arguments["tty"] = (step["tty"]["rows"], step["tty"]["cols"])
    with stage.sandbox(step).spawn(_argv(step), **arguments) as process:
        if step.get("close"):
            return {}
        if "write" in step:
            for piece in step["write"]:
                process.stdin.write(piece.encode())
            process.stdin.close()
        pieces = {"stdout": b"", "stderr": b""}
        awaited = step.get("signal_after", step.get("kill_after"))
        for event in process:
            pieces[event.stream] += event.data
            if awaited is not None and pieces["stdout"] == awaited.encode():
                awaited = None
                if "signal" in step:
                    process.signal(step["signal"])
                else:
                    process.kill()
        ended = process.wait()
    return {**pieces, "exit_code": ended.code, "signal": ended.signal}


def _stat(step: Step, stage: Stage) -> Result:
    info = stage.sandbox(step).files.stat(text(step["path"]), follow=step.get("follow", True))
    return {
        "type": str(info.type),
        "size_bytes": info.size_bytes,
        "mode": info.mode,
        "target": info.target,
    }


def _list(step: Step, stage: Stage) -> Result:
    entries = stage.sandbox(step).files.list(text(step["path"]))
    return {
        "count": len(entries),
        "names": [written(entry.name) for entry in entries],
        "types": [str(entry.type) for entry in entries],
    }


def _write(step: Step, stage: Stage) -> None:
    stage.sandbox(step).files.write(
        text(step["path"]),
        data(step["data"]),
        mode=step.get("mode"),
        parents=step.get("parents", False),
    )


def _remove(step: Step, stage: Stage) -> None:
    stage.sandbox(step).files.remove(
        text(step["path"]),
        recursive=step.get("recursive", False),
        missing_ok=step.get("missing_ok", False),
    )


def _host_write(step: Step, _: Stage) -> None:
    path = Path(step["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data(step["data"]))
    if "mode" in step:
        path.chmod(step["mode"])


def _collected(records: Iterable[LogRecord]) -> bytes:
    return b"".join(record.data for record in records)


def _job(step: Step, stage: Stage) -> Any:
    found = stage.jobs.get(step.get("job"))
    return found if found is not None else stage.sandbox(step).jobs.get(step["id"])


def _job_start(step: Step, stage: Stage) -> None:
    stage.jobs[step["as"]] = stage.sandbox(step).jobs.start(_argv(step))


def _job_list(step: Step, stage: Stage) -> Result:
    ids = [info.id for info in stage.sandbox(step).jobs.list()]
    return {"has": " ".join(name for name, job in stage.jobs.items() if job.id in ids)}


def _inspect(step: Step, stage: Stage) -> Result:
    info = stage.sandbox(step).inspect()
    return {"name": info.name, "state": str(info.state), "labels": info.labels, "cpus": info.cpus}


def _list_sandboxes(step: Step, stage: Stage) -> Result:
    return {"names": [info.name for info in stage.client.sandboxes.list(labels=step["labels"])]}


def _run(step: Step, stage: Stage) -> None:
    image = step.get("image", stage.image)
    if "client" not in step:
        stage.keep(step, stage.client.sandboxes.run(image, **options(step.get("options"))))
        return
    with (
        Msb(**{**stage.settings, **step["client"]}) as client,
        client.sandboxes.run(image, **options(step.get("options"))),
    ):
        pass


def _create(step: Step, stage: Stage) -> None:
    image = step.get("image", stage.image)
    stage.keep(step, stage.client.sandboxes.create(image, **options(step.get("options"))))


def _import(step: Step, stage: Stage) -> None:
    sandboxes = stage.client.sandboxes
    stage.keep(step, sandboxes.import_snapshot(step["path"], step.get("name")))


def _fork(step: Step, stage: Stage) -> Result:
    names = stage.sandbox(step).fork(*step["names"], snapshot=step.get("snapshot"))
    for index, name in enumerate(names):
        stage.keep(step if index == 0 else {}, stage.client.sandboxes.get(name))
    return {"count": len(names)}


def _kill_during(step: Step, stage: Stage) -> Result:
    sandbox = stage.sandbox(step)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(sandbox.shell, step["text"])
        while not sandbox.files.exists(step["begun"]):
            time.sleep(0.05)
        sandbox.kill()
        return _output(call.result())


def _network_log(step: Step, stage: Stage) -> Result:
    with stage.sandbox(step).network_log(follow=True, denied=True) as log:
        refused = next(record for record in log if record.port == step["port"])
    names = ("proto", "address", "verdict", "rule", "hint")
    return {name: getattr(refused, name) for name in names}


def _http_get(step: Step, stage: Stage) -> Result:
    (port,) = [port for port in stage.sandbox(step).ports if port.guest_port == step["guest_port"]]
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port.host_port}{step['path']}") as got:
                return {"data": got.read()}
        except (urllib.error.URLError, ConnectionError):
            # The server may not have begun to listen.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _listen(step: Step, stage: Stage) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    stage.listeners.append(listener)
    stage.variables[step["as"]] = listener.getsockname()[1]
    if "answer" in step:
        answer = data(step["answer"])
        threading.Thread(target=_answer_each, args=(listener, answer), daemon=True).start()


def _answer_each(listener: socket.socket, answer: bytes) -> None:
    """Answers each request until the listener is closed."""
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)


def _client(step: Step, stage: Stage) -> None:
    with Msb(**{**stage.settings, **step["options"]}) as client:
        client.sandboxes.create(stage.image, pull="never")


def _image_pull(step: Step, stage: Stage) -> None:
    stage.client.images.pull(step["name"], **step.get("options", {}))


def _volume_get(step: Step, stage: Stage) -> Result:
    if "client" not in step:
        return {"name": stage.client.volumes.get(step["name"]).name}
    with Msb(**{**stage.settings, **step["client"]}) as client:
        return {"name": client.volumes.get(step["name"]).name}


def _described(snapshot: msb.SnapshotInfo) -> Result:
    return {
        "name": snapshot.name,
        "message": snapshot.message,
        "consistency": snapshot.consistency,
    }


def _snapshot_create(step: Step, stage: Stage) -> Result:
    snapshots = stage.sandbox(step).snapshots
    freeze = step.get("freeze", True)
    made = snapshots.create(step.get("name"), message=step.get("message"), freeze=freeze)
    return _described(made)


def _snapshot_verify(step: Step, stage: Stage) -> Result:
    verified = sorted(stage.sandbox(step).snapshots.verify(), key=lambda one: one.name)
    return {
        "names": [one.name for one in verified],
        "problems": [one.problem for one in verified if one.problem is not None],
    }


def _snapshot_merge(step: Step, stage: Stage) -> None:
    stage.sandbox(step).snapshots.merge()


def _read(step: Step, stage: Stage) -> Result:
    sandbox = stage.sandbox(step)
    files = sandbox.snapshots.files(step["snapshot"]) if "snapshot" in step else sandbox.files
    return {"data": files.read(text(step["path"]))}


def _rollback(step: Step, stage: Stage) -> Result:
    rolled = stage.sandbox(step).rollback(step.get("name"))
    return {"to": rolled.to.name, "kept": rolled.kept.name, "restarted": rolled.restarted}


def _history(step: Step, stage: Stage) -> Result:
    def counted(changes: msb.ChangeCounts | None) -> list[int] | None:
        return None if changes is None else [changes.added, changes.changed, changes.deleted]

    commands = stage.sandbox(step).history(changes=step.get("changes", False)).commands
    return {
        "numbers": [command.number for command in commands],
        "exit_codes": [command.exit_code for command in commands],
        "snapshots": [command.snapshot for command in commands],
        "undone": [command.undone for command in commands],
        "changes": [counted(command.changes) for command in commands],
    }


def _undo(step: Step, stage: Stage) -> Result:
    undone = stage.sandbox(step).undo(step.get("count", 1), dry_run=step.get("dry_run", False))
    return {
        "numbers": [command.number for command in undone.commands],
        "to": undone.to.name,
        "kept": None if undone.kept is None else undone.kept.name,
        "restarted": undone.restarted,
    }


STEPS: dict[str, Callable[[Step, Stage], Result | None]] = {
    "exec": _exec,
    "shell": _shell,
    "poll_shell": _poll_shell,
    "spawn": _spawn,
    "write": _write,
    "read": _read,
    "list": _list,
    "stat": _stat,
    "exists": lambda step, stage: {"value": stage.sandbox(step).files.exists(text(step["path"]))},
    "mkdir": lambda step, stage: stage.sandbox(step).files.mkdir(
        text(step["path"]), parents=step.get("parents", False)
    ),
    "remove": _remove,
    "rename": lambda step, stage: stage.sandbox(step).files.rename(
        text(step["from"]), text(step["to"])
    ),
    "chmod": lambda step, stage: stage.sandbox(step).files.chmod(text(step["path"]), step["mode"]),
    "upload": lambda step, stage: (
        bool(stage.sandbox(step).files.upload(step["host"], step["guest"])) and {}
    ),
    "download": lambda step, stage: (
        bool(stage.sandbox(step).files.download(step["guest"], step["host"])) and {}
    ),
    "host_write": _host_write,
    "host_read": lambda step, _: {"data": Path(step["path"]).read_bytes()},
    "job_start": _job_start,
    "job_wait": lambda step, stage: {"exit_code": _job(step, stage).wait().code},
    "job_kill": lambda step, stage: _job(step, stage).kill(),
    "job_logs": lambda step, stage: {"data": _collected(_job(step, stage).logs())},
    "job_list": _job_list,
    "inspect": _inspect,
    "list_sandboxes": _list_sandboxes,
    "get": lambda step, stage: {"name": stage.client.sandboxes.get(step["name"]).name},
    "run": _run,
    "create": _create,
    "fork": _fork,
    "wait": lambda step, stage: {"exit_code": stage.sandbox(step).wait().code},
    "start": lambda step, stage: stage.sandbox(step).start(),
    "close": lambda step, stage: stage.sandbox(step).close(),
    "pause": lambda step, stage: stage.sandbox(step).pause(),
    "unpause": lambda step, stage: stage.sandbox(step).unpause(),
    "stop": lambda step, stage: {"stopped": str(stage.sandbox(step).stop())},
    "update": lambda step, stage: stage.sandbox(step).update(cpus=step["cpus"]),
    "rename_sandbox": lambda step, stage: stage.sandbox(step).rename(step["name"]),
    "remove_sandbox": lambda step, stage: stage.sandbox(step).remove(),
    "logs": lambda step, stage: {
        "data": _collected(stage.sandbox(step).logs(source=step.get("source", "output")))
    },
    "network_log": _network_log,
    "network_show": network_of_sandboxes.show,
    "network_allow": network_of_sandboxes.allow,
    "network_deny": network_of_sandboxes.deny,
    "network_remove": network_of_sandboxes.remove,
    "network_set": network_of_sandboxes.replace,
    "secret_list": secrets_of_sandboxes.listed,
    "secret_set": secrets_of_sandboxes.set_value,
    "secret_remove": secrets_of_sandboxes.removed,
    "diff": changes.diff,
    "diff_between": changes.diff_between,
    "apply": changes.apply,
    "restage": changes.restage,
    "allow": changes.allow,
    "ask": changes.ask,
    "commit": changes.commit,
    "snapshot_create": _snapshot_create,
    "snapshot_get": lambda step, stage: _described(stage.sandbox(step).snapshots.get(step["name"])),
    "snapshot_list": lambda step, stage: {
        "names": [snapshot.name for snapshot in stage.sandbox(step).snapshots.list()]
    },
    "snapshot_remove": lambda step, stage: stage.sandbox(step).snapshots.remove(step["name"]),
    "snapshot_verify": _snapshot_verify,
    "snapshot_merge": _snapshot_merge,
    "snapshot_export": lambda step, stage: stage.sandbox(step).snapshots.export(
        step["name"], step["path"]
    ),
    "import": _import,
    "rollback": _rollback,
    "history": _history,
    "undo": _undo,
    "image_tag": lambda step, stage: stage.client.images.tag(step["name"], step["to"]),
    "image_save": lambda step, stage: stage.client.images.save(step["name"], step["path"]),
    "image_history": lambda step, stage: {
        "comment": stage.client.images.history(step["name"])[0].comment
    },
    "discard": changes.discard,
    "kill_during": _kill_during,
    "http_get": _http_get,
    "listen": _listen,
    "image_get": lambda step, stage: {"name": stage.client.images.get(step["name"]).reference},
    "image_remove": lambda step, stage: bool(stage.client.images.remove(step["name"])) and {},
    "image_pull": _image_pull,
    "volume_get": _volume_get,
    "volume_create": lambda step, stage: {"name": stage.client.volumes.create(step["name"]).name},
    "volume_remove": lambda step, stage: stage.client.volumes.remove(step["name"]),
    "client": _client,
}
