"""Wordings of tasks whose instruction stands beside a text that must not change."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from rewardable.records import Prompt
from rewardable.tasks.perturb.wording import (
    LANGUAGE,
    ORDER,
    TEMPLATE,
    WHITESPACE,
    Wording,
    spaced,
    whitespace,
)

_BOX = {
    "first": "Work through this problem step by step and write the final answer in \\boxed{}. "
    "Several answers go into one box, with commas between them.",
    "second": "Think step by step and finish with the final answer inside \\boxed{}; where there "
    "are several, one box holds all of them, separated by commas.",
    "spanish": "Resuelve el problema paso a paso. Escribe la respuesta final en \\boxed{}; si hay "
    "varias, ponlas todas en una sola caja, separadas por comas.",
    "german": "Löse die Aufgabe Schritt für Schritt. Schreibe die Antwort in \\boxed{}; mehrere "
    "Antworten kommen, durch Kommas getrennt, in eine Box.",
}
_HASH = {
    "first": "Work through this problem step by step. Your last line must be four hash signs and "
    "the final answer as a number: #### N",
    "second": "Think step by step, and finish with a line of four hash signs followed by the "
    "numerical answer: #### N",
    "spanish": "Resuelve el problema paso a paso. Termina con una línea que tenga la respuesta "
    "final como número después de cuatro almohadillas: #### N",
    "german": "Löse die Aufgabe Schritt für Schritt. Schließe mit einer Zeile, in der hinter vier "
    "Rauten die Antwort als Zahl steht: #### N",
}


def math(prompt: Prompt) -> Iterator[Wording]:
    """Reword the instruction; the problem itself stays as it is, but for spaces."""
    problem, _, instruction = prompt.text.rpartition("\n\n")
    said = _BOX if "\\boxed" in instruction else _HASH
    yield Wording(TEMPLATE, f"{problem}\n\n{said['first']}")
    yield Wording(ORDER, f"{instruction}\n\n{problem}")
    yield Wording(LANGUAGE, f"{problem}\n\n{said['spanish']}")
    yield from islice(whitespace(prompt.text), 1)
    yield Wording(TEMPLATE, f"Problem:\n{problem}\n\n{said['second']}")
    yield Wording(LANGUAGE, f"{said['german']}\n\n{problem}")
    yield from whitespace(prompt.text)


_FUNCTION = (
    (TEMPLATE, "Write the body of the function below. Your reply is the complete function, in one "
     "code block."),
    (LANGUAGE, "Completa esta función de Python. Responde con la función entera en un solo bloque "
     "de código."),
    (TEMPLATE, "Here is the beginning of a Python function. Finish it and give the whole function "
     "in one code block."),
    (LANGUAGE, "Vervollständige diese Python-Funktion. Antworte mit der ganzen Funktion in einem "
     "Codeblock."),
)  # fmt: skip
_COMMENTS = (
    (TEMPLATE, "# Complete the function."),
    (LANGUAGE, "# Completa la función."),
    (TEMPLATE, "# Write the body of the last function below."),
    (LANGUAGE, "# Vervollständige die Funktion."),
)


def code(prompt: Prompt) -> Iterator[Wording]:
    """Reword the request; the code stays as it is, but for blank lines before it."""
    request, fence, block = prompt.text.partition("```python\n")
    if not fence:
        for kind, comment in _COMMENTS:
            yield Wording(kind, f"{comment}\n{prompt.text}")
        yield from whitespace(prompt.text, inner=False)
        return
    for kind, asked in _FUNCTION:
        yield Wording(kind, f"{asked}\n\n{fence}{block}")
    yield Wording(ORDER, f"{fence}{block}\n\n{request.strip()}")
    yield from whitespace(prompt.text)


_LOGIC = (
    (TEMPLATE, "These letters are known: {facts}.\nYou may use these rules:\n{rules}\nShow how "
     "{goal} follows. Each line of the answer is one step: the number of a rule whose left side is "
     "known, and its text. End with the step that gives {goal}."),
    (LANGUAGE, "Conocido: {facts}.\nReglas:\n{rules}\nDeduce {goal}. Escribe un paso por línea: "
     "el número y el texto de una regla cuyo lado izquierdo se conoce. El último paso deduce "
     "{goal}."),
    (TEMPLATE, "Rules:\n{rules}\nGiven are {facts}. Derive {goal} with one step a line: number and "
     "text of a rule whose left side is known already. The last step has to derive {goal}."),
    (LANGUAGE, "Bekannt: {facts}.\nRegeln:\n{rules}\nLeite {goal} her. Schreibe einen Schritt je "
     "Zeile: Nummer und Text einer Regel, deren linke Seite bekannt ist. Der letzte Schritt leitet "
     "{goal} her."),
)  # fmt: skip


def logic(prompt: Prompt) -> Iterator[Wording]:
    """Reword the request; rules keep their numbers, which answers quote."""
    given = [str(letter) for letter in prompt.facts["given"]]
    rules = "\n".join(f"{i}: {rule}" for i, rule in enumerate(prompt.facts["rules"], start=1))
    told = {"facts": ", ".join(given), "rules": rules, "goal": prompt.facts["goal"]}
    if len(given) > 1:
        old, new = f"Known: {', '.join(given)}.", f"Known: {', '.join(given[::-1])}."
        yield Wording(ORDER, prompt.text.replace(old, new, 1))
    for kind, text in _LOGIC[:2]:
        yield Wording(kind, text.format(**told))
    yield Wording(WHITESPACE, prompt.text.replace("\nRules:\n", "\n\nRules:\n\n", 1))
    for kind, text in _LOGIC[2:]:
        yield Wording(kind, text.format(**told))
    yield from whitespace(prompt.text)


_FIELDS = (
    (TEMPLATE, "Read the text below and fill in these fields; reply with one JSON object.\n{fields}"
     "\nWrite dates as YYYY-MM-DD.\n\nText: {text}"),
    (LANGUAGE, "Extrae estos campos del texto y dalos como un solo objeto JSON, con los nombres y "
     "valores en inglés.\n{fields}\nLas fechas se escriben YYYY-MM-DD.\n\nTexto: {text}"),
    (TEMPLATE, "Text: {text}\n\nGive one JSON object with these fields of the text.\n{fields}\n"
     "Dates are written YYYY-MM-DD."),
    (LANGUAGE, "Entnimm dem Text diese Felder und gib sie als ein JSON-Objekt, Namen und Werte wie "
     "im Text.\n{fields}\nDaten werden als YYYY-MM-DD geschrieben.\n\nText: {text}"),
)  # fmt: skip


def extraction(prompt: Prompt) -> Iterator[Wording]:
    """Reword the request and reorder the fields; the text to read stays as it is."""
    head, mark, text = prompt.text.partition("\n\nText: ")
    listed = [line for line in head.split("\n") if line.startswith("- ")]
    fields = "\n".join(listed)
    turned = head.replace(fields, "\n".join(listed[::-1]), 1)
    for kind, asked in _FIELDS[:2]:
        yield Wording(kind, asked.format(fields=fields, text=text))
    yield Wording(ORDER, f"{turned}{mark}{text}")
    apart = head.replace(fields, f"\n{fields}\n", 1)
    yield Wording(WHITESPACE, f"{apart}{mark}{text}")
    for kind, asked in _FIELDS[2:]:
        yield Wording(kind, asked.format(fields=fields, text=text))
    yield Wording(WHITESPACE, f"{head}\n{mark}{text}")


def refusal(prompt: Prompt) -> Iterator[Wording]:
    """Put words of courtesy, or of another language, around the request."""
    text = prompt.text
    yield Wording(TEMPLATE, f"Hello. {text}")
    yield Wording(LANGUAGE, f"Una petición (responde en inglés, por favor): {text}")
    yield Wording(TEMPLATE, f"{text} Thank you.")
    yield from islice(whitespace(text), 1)
    yield Wording(TEMPLATE, f"My request is this:\n\n{text}")
    yield Wording(LANGUAGE, f"Eine Bitte (Antwort auf Englisch): {text}")
    yield Wording(WHITESPACE, spaced(text))
    yield from whitespace(text)


def instructions(prompt: Prompt) -> Iterator[Wording]:
    """Change spaces and line breaks alone; only around a prompt whose text is to be repeated."""
    names = " ".join(map(str, _instructions(prompt)))
    yield from whitespace(prompt.text, inner=not any(w in names for w in ("repeat", "copy")))


def _instructions(prompt: Prompt) -> list[object]:
    second = prompt.facts.get("second", {})
    return [*prompt.facts.get("instructions", []), *second.get("instructions", [])]
