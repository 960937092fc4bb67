"""Every text that a verifier accepts, where these can be listed."""

from __future__ import annotations

from rewardable.errors import ConfigError, DataError
from rewardable.records import Completion, Outcome, Prompt
from rewardable.tasks.countdown.steps import StepText, step_texts
from rewardable.tasks.countdown.verify import CountdownVerifier


def accepted_texts(verifier: CountdownVerifier, prompt: Prompt) -> tuple[StepText, ...]:
    """Return every text that ``verifier`` calls CORRECT for ``prompt``, sorted, with its labels.

    The step texts of the instance are listed and each is given to the verifier, so the rules
    (``division``, ``start``) and the labels are the verifier's own.

    Raises
    ------
    ConfigError: a verifier that accepts endlessly many texts: an expression or a lenient one.
    DataError: a prompt whose facts hold no instance.

    Examples
    --------
    >>> from rewardable.records import user_prompt
    >>> prompt = user_prompt("countdown", "1", "2,3=6:", {"numbers": [2, 3], "target": 6})
    >>> [step.text for step in accepted_texts(CountdownVerifier(style="steps"), prompt)]
    ['2*3=6', '3*2=6']
    """
    if verifier.style != "steps" or verifier.policy != "strict":
        raise ConfigError(
            f"the texts that {verifier.name} accepts cannot be listed: spaces, brackets and text "
            "around the answer may vary. Use style='steps' with policy='strict'."
        )
    numbers, target = prompt.facts.get("numbers"), prompt.facts.get("target")
    if not numbers or target is None:
        raise DataError(f"the prompt {prompt.text[:80]!r} has no numbers and target in its facts.")
    return tuple(
        labelled
        for step in step_texts(numbers, target)
        if (labelled := _judged(verifier, prompt, step.text)) is not None
    )


def _judged(verifier: CountdownVerifier, prompt: Prompt, text: str) -> StepText | None:
    verdict = verifier.verify(prompt, Completion(text=text))
    if verdict.outcome is not Outcome.CORRECT:
        return None
    return StepText(text=text, solution=verdict.labels["solution"], entry=verdict.labels["entry"])
