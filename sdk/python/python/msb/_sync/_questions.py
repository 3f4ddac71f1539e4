# Generated from _async/_questions.py by generate_sync.py: edit that file.
from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, Union

from .._core import Link
from .._types import Allowed, Question, RuleState
from .._values import Text, decode, text
from ..errors import MsbError
from ._bridge import background, call, opening
from ._scope import Scope

OnAsk = Callable[[Question], Union[bool, Literal["always"]]]
"""A function that answers a question: true lets the file in, `"always"` keeps the rule too, false denies it."""


class Answering(Scope):
    """The answers to a sandbox's questions, until it is closed or the sandbox has ended.

    If the function raises an exception, its question is denied, and no further one is answered.
    """

    def __init__(self, sandbox: Link, questions: Link, on_ask: OnAsk) -> None:
        self._sandbox = sandbox
        self._questions = questions
        self._on_ask = on_ask
        self._closed = False
        self._error: Exception | None = None

    def _begin(self) -> Answering:
        event: Any = {}
        try:
            # Questions that wait come first.
            while event is not None and event.get("event") != "listening" and self._error is None:
                event = (call(self._questions, "next")).value
                self._attend(event)
        except BaseException:
            self._questions.close()
            raise
        self._work = background(self._attend_all)
        return self

    def close(self) -> None:
        """Answers no more questions.

        Raises the exception of the function, if it has raised one.
        """
        self._closed = True
        self._questions.close()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _attend_all(self) -> None:
        try:
            while self._error is None:
                with suppress(MsbError):
                    reply = call(self._questions, "next")
                    self._attend(reply.value)
                    if reply.value is not None:
                        continue
                # It was closed, or the sandbox has ended.
                return
        finally:
            self._questions.close()

    def _attend(self, event: Any) -> None:
        # A question that arrived before the close is left to other listeners.
        if self._closed or event is None or event["event"] != "asked":
            return
        question = decode(Question, {key: value for key, value in event.items() if key != "event"})
        answer: bool | str = False
        try:
            answer = self._on_ask(question)
        except Exception as error:
            # It is known before the process of the sandbox goes on.
            self._error = error
        choice = {"allow": bool(answer), "always": answer == "always", "by": "Python"}
        given = {"question": event, "answer": choice}
        # A file that cannot be let in is denied.
        with suppress(MsbError):
            call(self._sandbox, "answer", given)


class SandboxQuestions:
    """The questions of a sandbox for files of the host, and rules that change while it runs."""

    _link: Link

    def on_ask(self, on_ask: OnAsk) -> Answering:
        """Answers the questions of the running sandbox with a function, until the result is closed.

        A process of the sandbox asks with `msb-ask PATH REASON` for a file that a rule of a staged directory hides. A
        process that opens or changes a file of a shared directory with the state `ask` or `write-ask` asks by that. The
        question is denied after 30 seconds, and at once while nobody listens. A staged file that is allowed is copied
        in. An exception of the function denies its question, ends the answers, and is raised again by `close`.
        """
        return opening(self._answering(on_ask))

    def _answering(self, on_ask: OnAsk) -> Answering:
        opened = call(self._link, "questions")
        return Answering(self._link, opened.new, on_ask)._begin()

    def allow(self, path: Text, state: RuleState = "allow") -> Allowed:
        """Gives a path in a directory of the host another state, and keeps the rule.

        In a shared directory the rule holds from the next access on. In a staged one, if the sandbox runs and the path
        becomes readable, the host's files there are copied into it as they are now, except those that it has of its
        own. They are no changes of the sandbox. A stopped sandbox gets them by `restage`.

        Raises `InvalidArgument` if the path is in no staged directory and in no shared one with rules, or has
        wildcards.
        """
        reply = call(self._link, "allow", {"path": text(path), "state": state})
        return decode(Allowed, reply.value)
