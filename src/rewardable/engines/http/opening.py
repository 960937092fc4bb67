"""Opens a served policy: asks what is served, and finds the best way to ask for it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from rewardable.engines.arguments import arguments_of
from rewardable.engines.hf.prompts import PromptEncoder
from rewardable.engines.http.answers import choices
from rewardable.engines.http.card import Card, read_card
from rewardable.engines.http.courier import MODELS, Courier, Errand, Failure
from rewardable.engines.http.engine import HttpEngine, TokenHttpEngine
from rewardable.engines.http.routes import COMPLETIONS, ChatRoute, TextRoute, TokenRoute
from rewardable.engines.http.settings import IN_FLIGHT, HttpSettings
from rewardable.engines.http.source import ServerSource, is_server, parse_source
from rewardable.engines.options import EngineOptions
from rewardable.errors import ConfigError, MissingExtraError
from rewardable.records import Policy

NONE = "none"
VLLM_SAMPLES = 8
PROBE = "Zwölf: 12+34=46, 3.5 % of \u00e9t\u00e9?\n"
"""A text whose ids tell two tokenizers apart."""


def open_server(source: str, options: EngineOptions) -> HttpEngine:
    """Open a served policy; waits for the server to come up.

    Raises ConfigError where it serves another model, refuses access, or uses another tokenizer
    than the one named; BoundaryError when it does not come up.
    """
    place = parse_source(source)
    settings = HttpSettings.of(arguments_of("http", options.arguments))
    rows = options.batch_rows or IN_FLIGHT
    courier = Courier(place.url, settings, max(1, rows // (settings.samples or 1)))
    card = read_card(courier.get(MODELS), place)
    courier.check_models = _still(card, place)
    samples = settings.samples or (VLLM_SAMPLES if card.vllm else 1)
    courier.width = max(1, rows // samples)
    tokenizer = _tokenizer(courier, card, settings)
    common: dict[str, Any] = {"courier": courier, "samples": samples}
    if tokenizer is not None:
        encoder = _encoder(tokenizer, source, options)
        route = TokenRoute(card=card, encoder=encoder)
        policy = _policy(source, place, card, route.template)
        return TokenHttpEngine(policy=policy, route=route, **common)
    plain = _without_tokenizer(card, options)
    return HttpEngine(policy=_policy(source, place, card, plain.template), route=plain, **common)


def tokenizer_source(source: str, options: EngineOptions) -> str:
    """Return where the tokenizer of a served model lies, or ``""`` where nothing tells."""
    settings = HttpSettings.of(arguments_of("http", options.arguments))
    place = parse_source(source)
    courier = Courier(place.url, settings, 1)
    try:
        return _found_at(read_card(courier.get(MODELS), place), settings)
    finally:
        courier.close()


def _still(card: Card, place: ServerSource) -> Any:
    """Return the check of a server that came back: the same model under the same name."""

    def check(listing: Any) -> None:
        if read_card(listing, place) != card:
            raise ConfigError(
                f"{place.url} came back with another model than {card.model} from {card.root!r}. "
                "What it gave before is stored; serve that one again to go on."
            )

    return check


def _policy(source: str, place: ServerSource, card: Card, template: str) -> Policy:
    host = place.url.partition("//")[2].partition("/")[0]
    revision = place.revision or f"{place.url} {card.root}".strip()
    return Policy(
        name=f"{card.model}@{place.revision or host}",
        weights=f"{card.model}@{revision}",
        template=template,
        source=source,
    )


def _without_tokenizer(card: Card, options: EngineOptions) -> ChatRoute | TextRoute:
    if options.prompt_format == "raw":
        return TextRoute(card=card)
    if options.template_from and not is_server(options.template_from):
        raise ConfigError(
            f"the server of {card.model} applies its own chat template, so that of "
            f"{options.template_from} cannot be used. Name the model's tokenizer with --engine-arg "
            "http.tokenizer=FOLDER (vLLM servers), or compare with --own-templates."
        )
    return ChatRoute(card=card)


def _encoder(tokenizer: Any, source: str, options: EngineOptions) -> PromptEncoder:
    from rewardable.engines.hf.tokenizer import load_template, template_of

    elsewhere = options.template_from and options.template_from != source
    template = load_template(options.template_from) if elsewhere else template_of(tokenizer)
    return PromptEncoder.choose(tokenizer, template, options.prompt_format)


def _found_at(card: Card, settings: HttpSettings) -> str:
    if settings.tokenizer:
        return "" if settings.tokenizer == NONE else settings.tokenizer
    root = card.base or card.root
    here = root and Path(root).exists() and importlib.util.find_spec("transformers") is not None
    return root if here else ""


def _tokenizer(courier: Courier, card: Card, settings: HttpSettings) -> Any:
    """Load the model's tokenizer; None where it is not at hand or the server gives no ids."""
    where = _found_at(card, settings)
    if not where:
        return None
    if importlib.util.find_spec("transformers") is None:
        raise MissingExtraError("http.tokenizer needs transformers: pip install 'rewardable[hf]'.")
    from rewardable.engines.hf.checkpoints import locate
    from rewardable.engines.hf.tokenizer import load_tokenizer

    tokenizer = load_tokenizer(locate(where))
    ids = _probe(courier, card)
    if ids is None:
        if settings.tokenizer:
            raise ConfigError(
                f"{courier.url} gives no token ids, so that http.tokenizer={where} is of no use: "
                "leave it out, or serve the model with vLLM."
            )
        return None
    if ids != list(tokenizer(PROBE)["input_ids"]):
        raise ConfigError(
            f"the tokenizer at {where} is not the one that {courier.url} uses for {card.model}. "
            "Name the right one with --engine-arg http.tokenizer=FOLDER."
        )
    return tokenizer


def _probe(courier: Courier, card: Card) -> list[int] | None:
    """Return the server's ids of the probe, or None where it gives none."""
    body = {"model": card.model, "prompt": PROBE, "max_tokens": 1, "return_token_ids": True}
    try:
        found = courier.ask(
            Errand(path=COMPLETIONS, body=body, read=lambda answer: choices(answer, 1)[0])
        )
    except ConfigError:  # it has no completions
        return None
    if isinstance(found, Failure) or not isinstance(found.get("token_ids"), list):
        return None
    ids = found.get("prompt_token_ids")
    return ids if isinstance(ids, list) else None
