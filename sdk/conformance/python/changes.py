"""The steps of behaviours that compare, apply and take back the changes of sandboxes."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Any, Literal

from behaviours import text
from msb import AppliedDirectory, Question

if TYPE_CHECKING:
    import msb
    from steps import Result, Stage, Step

CALL_TIMEOUT_S = 60
"""The time within which each listener hears of a question."""


def _listed(diff: msb.Diff) -> Result:
    with diff:
        changes = list(diff)
        return {
            "count": diff.count(),
            "changes": [f"{change.letter} {change.path}" for change in changes],
            "inserted_lines": sum(diff.patch(change).lines.inserted for change in changes),
        }


def _paths(step: Step) -> list[Any]:
    return [text(path) for path in step.get("paths", [])]


def diff(step: Step, stage: Stage) -> Result:
    """Compares a sandbox with its image."""
    return _listed(stage.sandbox(step).diff(_paths(step)))


def diff_between(step: Step, stage: Stage) -> Result:
    """Compares two sandboxes or images."""
    return _listed(stage.client.diff(step["old"], step["new"], _paths(step)))


def apply(step: Step, stage: Stage) -> Result:
    """Puts the changes of a sandbox into directories of the host."""
    # The types of a call without a directory have neither of the two.
    given: dict[str, Any] = {"from_path": text(step.get("from")), "base": step.get("base")}
    arguments = {name: value for name, value in given.items() if value is not None}
    choices = step.get("choices")
    if choices is not None:
        arguments["on_change"] = lambda change: choices[change.path]
    applied = stage.sandbox(step).apply(
        step.get("directory"),
        dry_run=step.get("dry_run", False),
        then_discard=step.get("then_discard", False),
        **arguments,
    )
    directories = applied if isinstance(applied, list) else [applied]
    return {
        "targets": [one.target for one in directories if isinstance(one, AppliedDirectory)],
        "changes": [
            f"{change.kind.letter} {change.path}" for one in directories for change in one.changes
        ],
        "refused": [refused.rule for one in directories for refused in one.refused],
    }


def restage(step: Step, stage: Stage) -> Result:
    """Stages the directories of a sandbox anew."""
    changes = stage.sandbox(step).restage(dry_run=step.get("dry_run", False))
    return {"changes": [f"{change.kind.letter} {change.path}" for change in changes]}


def allow(step: Step, stage: Stage) -> Result:
    """Changes the rule of a path."""
    allowed = stage.sandbox(step).allow(step["path"], step["state"])
    return {"rule": allowed.rule, "let_in": allowed.let_in}


def ask(step: Step, stage: Stage) -> Result:
    """Asks in the guest for a file, and answers by functions: one for each listener."""
    sandbox = stage.sandbox(step)
    listeners: int = step.get("listeners", 1)
    asked: queue.Queue[Question] = queue.Queue()

    def on_ask(question: Question) -> bool | Literal["always"]:
        asked.put(question)
        if step["answer"] == "fail":
            raise LookupError("the function fails")
        return "always" if step["answer"] == "always" else bool(step["answer"] == "allow")

    answering = [sandbox.on_ask(on_ask) for _ in range(listeners)]
    failures = 0
    try:
        output = sandbox.exec(["msb-ask", step["path"], step["reason"]])
        # The process goes on with the first answer, whether the others were called by then or not.
        questions = [asked.get(timeout=CALL_TIMEOUT_S) for _ in range(listeners)]
    finally:
        for one in answering:
            try:
                one.close()
            except LookupError:
                failures += 1
    return {
        "subject": questions[0].subject,
        "reason": questions[0].reason,
        "calls": len(questions),
        "failed": failures > 0,
        "exit_code": output.exit_code,
    }


def discard(step: Step, stage: Stage) -> Result:
    """Takes changes of a sandbox back."""
    discarded = stage.sandbox(step).discard(
        _paths(step), base=step.get("base"), exclude=step.get("exclude", [])
    )
    return {"changes": [f"{change.kind.letter} {change.path}" for change in discarded]}


def commit(step: Step, stage: Stage) -> Result:
    """Makes an image of a sandbox."""
    committed = stage.sandbox(step).commit(
        step["name"], message=step.get("message"), changes=step.get("changes", [])
    )
    return {"has_layer": committed.layer is not None, "notes": list(committed.notes)}
