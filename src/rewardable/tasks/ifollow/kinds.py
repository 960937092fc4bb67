"""Which kinds of instruction there are: a literal table, id -> (check, its parameters).

A check is a pure function of a text and its parameters: the same verdict every time, everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rewardable.errors import ConfigError, unknown_name
from rewardable.tasks.ifollow import values as v
from rewardable.tasks.ifollow.bench import counts, customs, forms, layout, order, ratios, repeats
from rewardable.tasks.ifollow.classic import formats, frames, keywords, lengths, letters


class Kind(NamedTuple):
    """How one kind of instruction is checked."""

    check: Callable[..., bool]
    reads: Mapping[str, v.Reader]


_N, _SMALL = {"N": v.positive}, {"small_n": v.whole}

IFEVAL: dict[str, Kind] = {
    "change_case:capital_word_frequency": Kind(
        letters.capital_word_frequency,
        {"capital_frequency": v.whole, "capital_relation": v.relation},
    ),
    "change_case:english_capital": Kind(letters.english_capital, {}),
    "change_case:english_lowercase": Kind(letters.english_lowercase, {}),
    "combination:repeat_prompt": Kind(frames.repeat_prompt, {"prompt_to_repeat": v.phrase}),
    "combination:two_responses": Kind(frames.two_responses, {}),
    "detectable_content:number_placeholders": Kind(
        formats.number_placeholders, {"num_placeholders": v.whole}
    ),
    "detectable_content:postscript": Kind(frames.postscript, {"postscript_marker": v.phrase}),
    "detectable_format:constrained_response": Kind(formats.constrained_response, {}),
    "detectable_format:json_format": Kind(formats.json_format, {}),
    "detectable_format:multiple_sections": Kind(
        formats.multiple_sections, {"section_spliter": v.phrase, "num_sections": v.whole}
    ),
    "detectable_format:number_bullet_lists": Kind(
        formats.number_bullet_lists, {"num_bullets": v.whole}
    ),
    "detectable_format:number_highlighted_sections": Kind(
        formats.number_highlighted_sections, {"num_highlights": v.whole}
    ),
    "detectable_format:title": Kind(formats.title, {}),
    "keywords:existence": Kind(keywords.existence, {"keywords": v.phrases}),
    "keywords:forbidden_words": Kind(keywords.forbidden_words, {"forbidden_words": v.phrases}),
    "keywords:frequency": Kind(
        keywords.frequency, {"relation": v.relation, "keyword": v.phrase, "frequency": v.whole}
    ),
    "keywords:letter_frequency": Kind(
        keywords.letter_frequency,
        {"letter": v.character, "let_relation": v.relation, "let_frequency": v.whole},
    ),
    "language:response_language": Kind(letters.response_language, {"language": v.language}),
    "length_constraints:nth_paragraph_first_word": Kind(
        lengths.nth_paragraph_first_word,
        {"num_paragraphs": v.positive, "nth_paragraph": v.positive, "first_word": v.phrase},
    ),
    "length_constraints:number_paragraphs": Kind(
        lengths.number_paragraphs, {"num_paragraphs": v.whole}
    ),
    "length_constraints:number_sentences": Kind(
        lengths.number_sentences, {"relation": v.relation, "num_sentences": v.whole}
    ),
    "length_constraints:number_words": Kind(
        lengths.number_words, {"relation": v.relation, "num_words": v.whole}
    ),
    "punctuation:no_comma": Kind(letters.no_comma, {}),
    "startend:end_checker": Kind(frames.end_checker, {"end_phrase": v.phrase}),
    "startend:quotation": Kind(frames.quotation, {}),
}

IFBENCH: dict[str, Kind] = {
    "count:conjunctions": Kind(counts.conjunctions, _SMALL),
    "count:keywords_multiple": Kind(
        counts.keywords_multiple, {f"keyword{i}": v.phrase for i in range(1, 6)}
    ),
    "count:numbers": Kind(counts.numbers, {"N": v.whole}),
    "count:person_names": Kind(counts.person_names, _N),
    "count:pronouns": Kind(counts.pronouns, _N),
    "count:punctuation": Kind(counts.punctuation, {}),
    "count:unique_word_count": Kind(counts.unique_word_count, _N),
    "count:word_count_range": Kind(
        counts.word_count_range, {"min_words": v.whole, "max_words": v.whole}
    ),
    "count:words_japanese": Kind(counts.words_japanese, _N),
    "custom:character_reverse": Kind(customs.character_reverse, {}),
    "custom:csv_city": Kind(customs.csv_city, {}),
    "custom:csv_quotes": Kind(customs.csv_quotes, {}),
    "custom:csv_special_character": Kind(customs.csv_special_character, {}),
    "custom:date_format_list": Kind(customs.date_format_list, {}),
    "custom:european_capitals_sort": Kind(customs.european_capitals_sort, {}),
    "custom:mcq_count_length": Kind(customs.mcq_count_length, {}),
    "custom:multiples": Kind(customs.multiples, {}),
    "custom:reverse_newline": Kind(customs.reverse_newline, {}),
    "custom:sentence_alphabet": Kind(order.sentence_alphabet, {}),
    "custom:word_reverse": Kind(customs.word_reverse, {}),
    "format:emoji": Kind(layout.emoji, {}),
    "format:line_indent": Kind(layout.line_indent, {}),
    "format:list": Kind(layout.list_items, {"sep": v.verbatim}),
    "format:newline": Kind(layout.newline, {}),
    "format:no_bullets_bullets": Kind(layout.no_bullets_bullets, {}),
    "format:no_whitespace": Kind(layout.no_whitespace, {}),
    "format:options": Kind(layout.options, {"options": v.phrase}),
    "format:output_template": Kind(layout.output_template, {}),
    "format:parentheses": Kind(layout.parentheses, {}),
    "format:quote_unquote": Kind(layout.quote_unquote, {}),
    "format:quotes": Kind(layout.quotes, {}),
    "format:sub-bullets": Kind(layout.sub_bullets, {}),
    "format:thesis": Kind(layout.thesis, {}),
    "format:title_case": Kind(layout.title_case, {}),
    "ratio:overlap": Kind(ratios.overlap, {"reference_text": v.verbatim, "percentage": v.percent}),
    "ratio:sentence_balance": Kind(ratios.sentence_balance, {}),
    "ratio:sentence_type": Kind(ratios.sentence_type, {}),
    "ratio:sentence_words": Kind(ratios.sentence_words, {}),
    "ratio:stop_words": Kind(ratios.stop_words, {"percentage": v.percent}),
    "repeat:repeat_change": Kind(repeats.repeat_change, {"prompt_to_repeat": v.phrase}),
    "repeat:repeat_simple": Kind(repeats.repeat_simple, {}),
    "repeat:repeat_span": Kind(
        repeats.repeat_span,
        {"prompt_to_repeat": v.phrase, "n_start": v.whole, "n_end": v.whole},
    ),
    "sentence:alliteration_increment": Kind(order.alliteration_increment, {}),
    "sentence:increment": Kind(order.increment, _SMALL),
    "sentence:keyword": Kind(order.keyword, {"word": v.phrase, "N": v.positive}),
    "words:alphabet": Kind(forms.alphabet, {}),
    "words:consonants": Kind(forms.consonants, {}),
    "words:keywords_specific_position": Kind(
        order.keywords_specific_position, {"keyword": v.phrase, "n": v.positive, "m": v.positive}
    ),
    "words:last_first": Kind(order.last_first, {}),
    "words:no_consecutive": Kind(forms.no_consecutive, {}),
    "words:odd_even_syllables": Kind(forms.odd_even_syllables, {}),
    "words:palindrome": Kind(forms.palindrome, {}),
    "words:paragraph_last_first": Kind(forms.paragraph_last_first, {}),
    "words:prime_lengths": Kind(forms.prime_lengths, {}),
    "words:repeats": Kind(forms.repeats, _SMALL),
    "words:vowel": Kind(forms.vowel, {}),
    "words:words_position": Kind(forms.words_position, {"keyword": v.phrase}),
}

KINDS = {**IFEVAL, **IFBENCH}

UNDECIDED = {
    "words:start_verb": "whether a word is a verb depends on the sentence and needs a trained "
    "tagger, which is a model to download",
}
"""Published kinds that are not checked, and why; to ask for one is an error."""


class Instruction(NamedTuple):
    """One instruction of a prompt, its parameters read. part: its name in a verdict."""

    id: str
    part: str
    check: Callable[..., bool]
    values: Mapping[str, Any]

    def holds(self, text: str) -> bool:
        """Tell whether ``text`` follows the instruction; a blank text follows none."""
        return bool(text.strip()) and self.check(text, **self.values)


def instruction(name: str, given: Mapping[str, Any] | None, *, part: str = "") -> Instruction:
    """Build the instruction ``name`` with the parameters ``given``.

    Raises
    ------
    ConfigError: an unknown or undecided kind, or parameters that cannot be meant.
    """
    if name in UNDECIDED:
        raise ConfigError(f"instruction {name} is not checked: {UNDECIDED[name]}.")
    if name not in KINDS:
        raise unknown_name("instruction", name, KINDS, hint="docs/ifollow.md lists all kinds.")
    kind = KINDS[name]
    return Instruction(name, part or name, kind.check, v.read_values(name, kind.reads, given))
