"""The guard: a pure state machine from observations to decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rewardable.errors import DataError
from rewardable.guard.audits import Audits
from rewardable.guard.config import GuardConfig
from rewardable.guard.decision import GENTLE, Action, Decision, Evidence, Notice, State
from rewardable.guard.intake import Ledger, missing, read_metrics
from rewardable.guard.observation import Observation
from rewardable.guard.remedies import remedy_for
from rewardable.guard.streams import Stream

STATE_VERSION = 1
_UNAUDITED = 40


class Guard:
    """Watches one run. Sampled audits may act; logged metrics alone only warn.

    Each observation gives a :class:`Decision`; it ``speaks`` when the state changes. Everything
    it knows is in :meth:`state`, so a resumed run goes on as if it had never stopped.
    """

    def __init__(self, config: GuardConfig | None = None) -> None:
        self.config = config or GuardConfig()
        self._audits = Audits()
        self._streams: dict[str, Stream] = {}
        self._ledger = Ledger()
        self._step: int | None = None
        self._said: State = "ok"
        self._wanted = False
        self._asked = 0

    def observe(self, seen: Observation) -> Decision:
        """Take one observation and decide.

        Raises DataError when the step lies before the last one; see :meth:`rolled_back`.
        """
        if self._step is not None and seen.step < self._step:
            raise DataError(
                f"step {seen.step} comes after step {self._step}; call rolled_back(step) first."
            )
        self._step = seen.step
        notices = self._read(seen)
        evidence = self._evidence()
        state = self._state_of(evidence)
        speaks, self._said = state != self._said, state
        return Decision(
            step=seen.step,
            state=state,
            speaks=speaks,
            evidence=evidence,
            remedy=self._remedy(state, evidence),
            actions=self._actions(state) if speaks else (),
            audit_wanted=self._wanted,
            last_good=self._audits.good_step,
            notices=tuple(notices),
        )

    def rolled_back(self, step: int) -> None:
        """Training goes on from ``step``: what was gathered since the start is dropped."""
        self._step = step
        self._audits.forget()
        for stream in self._streams.values():
            stream.forget()
        good = self._audits.good_step
        self._audits.good_step = None if good is None else min(good, step)
        self._said, self._wanted = "ok", False

    def _read(self, seen: Observation) -> list[Notice]:
        config, ledger = self.config, self._ledger
        notices: list[Notice] = []
        newly_off = False
        if seen.metrics:
            found, notices = read_metrics(seen.metrics, config, ledger)
            for signal, metric in found.items():
                stream = self._streams.setdefault(signal, Stream(signal=signal))
                before = stream.off
                stream.add(metric, config)
                newly_off = newly_off or (stream.off and not before)
            notices += missing(found, config, ledger)
        notices += self._audits.take(seen.step, seen.audits, config, ledger)
        self._ask(newly_off, bool(seen.audits))
        return [*notices, *self._standing()]

    def _ask(self, newly_off: bool, audited: bool) -> None:
        """Want an early audit when evidence begins or a stream leaves its start."""
        if audited:
            self._wanted = False
        watches = self._audits.watches
        begins = audited and any(
            watch.fallen < 2 and watch.loss.e_value >= self.config.ask_at for watch in watches
        )
        asks = bool(watches or self._audits.waiting) and (begins or newly_off)
        if asks and not self._wanted and self._asked < self.config.extra_audits:
            self._wanted, self._asked = True, self._asked + 1

    def _standing(self) -> list[Notice]:
        """Notices about the run as a whole."""
        notices: list[Notice] = []
        if self._audits.start_step is None and self._ledger.observations >= _UNAUDITED:
            text = "no sampled audit so far: logged metrics alone can warn, never act."
            notices += self._ledger.say("no audits", text)
        form = self._streams.get("format_compliance")
        if form is not None and form.never_moved:
            text = f"format compliance was {form.start[0]:g} in every row: it tells nothing apart."
            notices += self._ledger.say("constant format", text)
        return notices

    def _evidence(self) -> tuple[Evidence, ...]:
        sampled = [watch.last for watch in self._audits.watches if watch.last is not None]
        logged = [
            Evidence(
                signal=stream.signal,
                task=None,
                value=stream.value,
                start_value=stream.centre,
                fallen=int(stream.off),
                note=f"start's scale {stream.scale:.3g}; {stream.beyond} blocks beyond",
            )
            for stream in self._streams.values()
            if stream.value is not None
        ]
        return tuple(sorted([*sampled, *logged], key=lambda one: -one.fallen))

    def _state_of(self, evidence: tuple[Evidence, ...]) -> State:
        worst = max((one.fallen for one in evidence), default=0)
        if worst == 3:
            if "roll_back" in self.config.allowed and self._audits.good_step is not None:
                return "roll_back"
            return "stop" if "stop" in self.config.allowed else "act"
        states: tuple[State, ...] = ("ok", "warn", "act")
        return states[worst]

    def _actions(self, state: State) -> tuple[Action, ...]:
        if state in ("roll_back", "stop"):
            return (state,)
        if state != "act":
            return ()
        return tuple(action for action in GENTLE if action in self.config.allowed)

    def _remedy(self, state: State, evidence: tuple[Evidence, ...]) -> str:
        off = [one for one in evidence if one.fallen]
        entry = remedy_for(one.signal for one in off)
        if entry is None:
            return ""
        words = f"{entry.symptom}; usual cause: {entry.cause}; remedy: {entry.remedy}."
        if off[0].fallen == 3 and state == "act":
            good = self._audits.good_step
            return (
                f"{words} Stopping is not allowed to the guard: stop now (last good step {good})."
            )
        return words

    def state(self) -> dict[str, Any]:
        """Return everything known, as plain values for JSON."""
        return {
            "version": STATE_VERSION,
            "config": self.config.to_dict(),
            "audits": self._audits.to_dict(),
            "streams": {name: stream.to_dict() for name, stream in self._streams.items()},
            "ledger": asdict(self._ledger),
            "step": self._step,
            "said": self._said,
            "wanted": self._wanted,
            "asked": self._asked,
        }

    @classmethod
    def from_state(cls, raw: Mapping[str, Any]) -> Guard:
        """Continue from what :meth:`state` gave; DataError for another version or shape."""
        if raw.get("version") != STATE_VERSION:
            raise DataError(
                f"guard state version {raw.get('version')!r} is not {STATE_VERSION}; "
                "start the guard anew."
            )
        try:
            guard = cls(GuardConfig.from_dict(raw["config"]))
            guard._audits = Audits.from_dict(raw["audits"])
            guard._streams = {name: Stream(**one) for name, one in raw["streams"].items()}
            guard._ledger = Ledger(**raw["ledger"])
            guard._step, guard._said = raw["step"], raw["said"]
            guard._wanted, guard._asked = raw["wanted"], raw["asked"]
        except (KeyError, TypeError) as error:
            raise DataError(f"this is no guard state: {error!r}") from error
        return guard
