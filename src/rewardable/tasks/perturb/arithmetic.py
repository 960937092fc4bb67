"""Wordings of the generated arithmetic tasks: Countdown, routes, divisibility, word problems."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import islice, permutations

from rewardable.records import Prompt
from rewardable.tasks.perturb.wording import (
    LANGUAGE,
    NUMBER_WORDS,
    ORDER,
    TEMPLATE,
    Wording,
    in_words,
    numbers_in_words,
    whitespace,
)
from rewardable.tasks.routes.expression import Expression, read_expression
from rewardable.tasks.words.templates import ITEMS, TEMPLATES

_MOST_ORDERS = 720

_COUNTDOWN: dict[str, dict[str, str]] = {
    "plain": {
        "head": "Using the numbers {numbers}, write an arithmetic expression whose value is "
        "{target}.",
        "all": "Every number must be used exactly once; allowed are +, -, *, / and parentheses.",
        "integers": "Each intermediate result has to be an integer.",
        "division": "There must be a division in the expression.",
        "start": "The expression must begin with the number {start}.",
        "end": "Reason step by step, then put only the expression between <answer> and </answer>, "
        "as in <answer>(1 + 2) / 3</answer>.",
    },
    "spanish": {
        "head": "Forma una expresión aritmética que sea igual a {target} con los números "
        "{numbers}.",
        "all": "Usa cada número exactamente una vez, y solo +, -, * y / con paréntesis.",
        "integers": "Todos los resultados intermedios deben ser enteros.",
        "division": "La expresión debe contener una división.",
        "start": "El primer número de la expresión debe ser {start}.",
        "end": "Piensa paso a paso y luego escribe solo la expresión entre <answer> y </answer>, "
        "como en <answer>(1 + 2) / 3</answer>.",
    },
    "german": {
        "head": "Bilde aus den Zahlen {numbers} einen Rechenausdruck mit dem Wert {target}.",
        "all": "Benutze jede Zahl genau einmal, und nur +, -, * und / mit Klammern.",
        "integers": "Jedes Zwischenergebnis muss eine ganze Zahl sein.",
        "division": "Der Ausdruck muss eine Division enthalten.",
        "start": "Die erste Zahl im Ausdruck muss {start} sein.",
        "end": "Denke Schritt für Schritt und gib dann nur den Ausdruck zwischen <answer> und "
        "</answer> an, wie in <answer>(1 + 2) / 3</answer>.",
    },
}


def countdown(prompt: Prompt) -> Iterator[Wording]:
    """Reword Countdown; its compact style, whose grammar is fixed, changes the order alone."""
    numbers: list[int] = list(prompt.facts["numbers"])
    listed, target = ", ".join(map(str, numbers)), int(prompt.facts["target"])
    if prompt.text.endswith(f"={target}:"):
        for order in _orders(numbers, prompt.key):
            yield Wording(ORDER, f"{','.join(map(str, order))}={target}:")
        return
    old = f"equals {target} from the numbers {listed}."
    for order in islice(_orders(numbers, prompt.key), 1):
        new = f"equals {target} from the numbers {', '.join(map(str, order))}."
        yield Wording(ORDER, prompt.text.replace(old, new, 1))
    yield Wording(TEMPLATE, _countdown_in("plain", prompt))
    yield Wording(LANGUAGE, _countdown_in("spanish", prompt))
    yield Wording(NUMBER_WORDS, prompt.text.replace(old, numbers_in_words(old), 1))
    yield from islice(whitespace(prompt.text), 1)
    yield Wording(LANGUAGE, _countdown_in("german", prompt))
    yield from whitespace(prompt.text)


def _countdown_in(language: str, prompt: Prompt) -> str:
    rules = ["head", "all"]
    rules += ["integers"] if "intermediate result" in prompt.text else []
    rules += ["division"] if "must contain a division" in prompt.text else []
    rules += ["start"] if "start" in prompt.facts else []
    told = {
        "numbers": ", ".join(map(str, prompt.facts["numbers"])),
        "target": prompt.facts["target"],
        "start": prompt.facts.get("start"),
    }
    return " ".join(_COUNTDOWN[language][rule].format(**told) for rule in (*rules, "end"))


def _orders(numbers: Sequence[int], key: str) -> list[tuple[int, ...]]:
    """Return the other orders of the numbers, shuffled by the prompt."""
    found = dict.fromkeys(islice(permutations(numbers), _MOST_ORDERS))
    found.pop(tuple(numbers), None)
    orders = list(found)
    random.Random(f"orders {key}").shuffle(orders)
    return orders


def routes(prompt: Prompt) -> Iterator[Wording]:
    """Reorder the expression as far as the grammar allows: a product stays in front."""
    expression = read_expression(str(prompt.facts["expression"]))
    _, _, rest = prompt.text.partition("?")
    for other in _same_value(expression, prompt.key):
        yield Wording(ORDER, f"{other}?{rest}", {"expression": str(other)})


def _same_value(expression: Expression, key: str) -> list[Expression]:
    heads: list[tuple[int, tuple[tuple[str, int], ...]]]
    if expression.terms[0][0] == "*":
        factor, *tail = expression.terms
        heads = [(expression.first, (factor,)), (factor[1], (("*", expression.first),))]
        found = [Expression(first, (*head, *order))
                 for first, head in heads for order in permutations(tail)]  # fmt: skip
    else:
        signed = (("+", expression.first), *expression.terms)
        found = [Expression(order[0][1], order[1:])
                 for order in permutations(signed) if order[0][0] == "+"]  # fmt: skip
    kept = {str(one): one for one in found if all(0 <= r <= 999 for r in one.results)}
    kept.pop(str(expression), None)
    orders = list(kept.values())
    random.Random(f"orders {key}").shuffle(orders)
    return orders


def divisible(prompt: Prompt) -> Iterator[Wording]:
    """Ask the same of the same number; the answers stay YES and NO."""
    number, (by,) = int(prompt.facts["number"]), re.findall(r"divisible by ([0-9]+)\?", prompt.text)
    yield Wording(
        TEMPLATE, f"Does {by} divide {number} without a remainder? Reply with YES or NO only."
    )
    yield Wording(
        NUMBER_WORDS,
        f"Is {in_words(number)} divisible by {in_words(int(by))}? Answer YES or NO only.",
    )
    yield Wording(
        LANGUAGE, f"¿Es {number} divisible entre {by}? Responde solo YES (sí) o NO, en inglés."
    )
    yield Wording(ORDER, f"Answer YES or NO only. Is {number} divisible by {by}?")
    yield from islice(whitespace(prompt.text), 1)
    yield Wording(
        LANGUAGE, f"Ist {number} durch {by} teilbar? Antworte nur YES (ja) oder NO (nein)."
    )
    yield Wording(TEMPLATE, f"Is {number} a multiple of {by}? Say only YES or NO.")
    yield from whitespace(prompt.text)


_ASK, _PIDE = "End with the answer as a number.", "Termina con la respuesta como número."

_SPANISH = (
    "manzanas",
    "libros",
    "monedas",
    "lápices",
    "canicas",
    "pegatinas",
    "galletas",
    "conchas",
)
_ITEMS: dict[str, str] = dict(zip(ITEMS, _SPANISH, strict=True))

_STORIES: dict[str, tuple[str, str]] = {
    "gain": (
        "{who} owns {a} {item}. Then {who} finds another {b}. What is the number of {item} now?",
        "{who} tiene {a} {item} y encuentra {b} más. ¿Cuál es ahora el número de {item}?",
    ),
    "loss": (
        "Of {a} {item}, {who} gives {b} away. What number of {item} remains?",
        "{who} tiene {a} {item} y regala {b}. ¿Qué número de {item} queda?",
    ),
    "groups": (
        "There are {b} {item} in each of the {a} boxes that {who} has. What is the total number of "
        "{item}?",
        "{who} tiene {a} cajas con {b} {item} en cada una. ¿Cuál es el número total de {item}?",
    ),
    "difference": (
        "{other} has {b} {item}, {who} has {a}. By how many {item} does {who} have more?",
        "{who} tiene {a} {item} y {other} tiene {b}. ¿Qué número de {item} tiene {who} de más?",
    ),
    "together": (
        "{other} has {b} {item} and {who} has {a}. What is their total number of {item}?",
        "{who} tiene {a} {item} y {other} tiene {b}. ¿Cuál es el número total de {item}?",
    ),
    "gain-loss": (
        "{who} starts with {a} {item}, buys another {b} and hands {c} to {other}. What number of "
        "{item} does {who} end up with?",
        "{who} tiene {a} {item}, compra {b} más y luego da {c} a {other}. ¿Qué número de {item} "
        "le queda a {who}?",
    ),
    "groups-gain": (
        "{c} {item} lie on the table, and {b} more are in each of the {a} bags that {who} has. "
        "What is the total number of {item} that {who} has?",
        "{who} tiene {a} bolsas con {b} {item} en cada una, y {c} {item} más sobre la mesa. ¿Cuál "
        "es el número total de {item}?",
    ),
    "groups-loss": (
        "{b} {item} go into each of the {a} boxes that {who} fills. {other} removes {c} {item}. "
        "What number of {item} remains?",
        "{who} llena {a} cajas con {b} {item} cada una. Luego {other} se lleva {c} {item}. ¿Qué "
        "número de {item} queda?",
    ),
    "more-together": (
        "{other} has {b} {item} more than {who}, who has {a}. What is their total number of "
        "{item}?",
        "{who} tiene {a} {item}. {other} tiene {b} {item} más que {who}. ¿Cuál es el número total "
        "de {item} de los dos?",
    ),
}


def word_problems(prompt: Prompt) -> Iterator[Wording]:
    """Retell the story with the same numbers, people and things."""
    name = str(prompt.facts["template"])
    question = prompt.text.removesuffix(f" {_ASK}")
    told = _read_story(name, question)
    english, spanish = _STORIES[name]
    yield Wording(TEMPLATE, f"{english.format(**told)} {_ASK}")
    yield Wording(NUMBER_WORDS, f"{numbers_in_words(question)} {_ASK}")
    things = {**told, "item": _ITEMS[told["item"]]}
    yield Wording(LANGUAGE, f"{spanish.format(**things)} {_PIDE}")
    story, _, asked = question.rpartition(". ")
    yield Wording(ORDER, f"{asked} {story}. {_ASK}")
    yield from islice(whitespace(prompt.text), 1)
    yield Wording(TEMPLATE, f"Problem: {question}\nPlease finish with the answer as a number.")
    yield from whitespace(prompt.text)


def _read_story(name: str, question: str) -> dict[str, str]:
    """Read names, things and numbers back out of a question."""
    template = next(one for one in TEMPLATES if one.name == name)
    seen: set[str] = set()

    def group(match: re.Match[str]) -> str:
        field = match.group(1)
        if field in seen:
            return f"(?P={field})"
        seen.add(field)
        return f"(?P<{field}>[A-Za-z0-9]+)"

    found = re.fullmatch(re.sub(r"\\\{(\w+)\\\}", group, re.escape(template.text)), question)
    if found is None:
        raise ValueError(f"{question!r} is not written by the template {name}")
    return {"other": "", "c": "", **found.groupdict()}
