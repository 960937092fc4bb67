"""Every kind of instruction: a response that follows it and one that does not."""

from pathlib import Path

import pytest

from rewardable.errors import ConfigError
from rewardable.tasks.ifollow import IFBENCH, IFEVAL, UNDECIDED, instruction
from rewardable.tasks.ifollow.kinds import KINDS

AFRICA = [f"Z{i:02d}" for i in range(60, 0, -1)]
NAMES5 = {f"keyword{i}": word for i, word in enumerate("abcde", start=1)}
CAPITALS = (
    "Reykjavik, Helsinki, Oslo, Tallinn, Stockholm, Riga, Moscow, Copenhagen, Vilnius, Minsk, "
    "Dublin, Berlin, Amsterdam, Warsaw, London, Brussels, Prague, Luxembourg, Paris, Vienna, "
    "Bratislava, Budapest, Vaduz, Chișinău, Bern, Ljubljana, Zagreb"
)
LETTERS = [f"{letter.upper()} is fine." for letter in "abcdefghijklmnopqrstuvwxyz"]
QUIZ = "\n\n".join(
    f"Question {n}\n{'Long ' * n}text?\n" + "\n".join(f"{letter}) x" for letter in "ABCDE")
    for n in range(1, 5)
)
CSV = "ProductID,Category,Brand,Price,Stock"

CASES = {
    "change_case:capital_word_frequency": (
        {"capital_frequency": 2, "capital_relation": "at least"}, "GO to the U.S. now", "GO now"),
    "change_case:english_capital": ({}, "THIS IS WRITTEN IN ENGLISH.", "This is in English."),
    "change_case:english_lowercase": ({}, "this is written in english.", "This is in English."),
    "combination:repeat_prompt": (
        {"prompt_to_repeat": "Say hi."}, "  say HI. Hi!", "Well. Say hi. Hi!"),
    "combination:two_responses": ({}, "one\n******\ntwo", "one\n******\none"),
    "detectable_content:number_placeholders": ({"num_placeholders": 2}, "[a] [b]", "[a] [b\n]"),
    "detectable_content:postscript": (
        {"postscript_marker": "P.S."}, "Bye.\np. s. more", "Bye. PS more"),
    "detectable_format:constrained_response": ({}, "My answer is maybe.", "Maybe."),
    "detectable_format:json_format": ({}, '```JSON\n{"a": [1e999]}\n```', "{'a': 1}"),
    "detectable_format:multiple_sections": (
        {"section_spliter": "PART (", "num_sections": 2}, "PART ( 1 x PART (2 y", "PART 1 PART 2"),
    "detectable_format:number_bullet_lists": ({"num_bullets": 2}, "* a\n  - b", "** a\n* b"),
    "detectable_format:number_highlighted_sections": (
        {"num_highlights": 2}, "*a b* and **c**", "*a* and ** **"),
    "detectable_format:title": ({}, "<<A title>>\ntext", "<<>> <<\n>>"),
    "keywords:existence": ({"keywords": ["C++", "map"]}, "A Map in c++", "A map in C"),
    "keywords:forbidden_words": ({"forbidden_words": ["rock"]}, "a rocket", "a Rock."),
    "keywords:frequency": (
        {"keyword": "war", "relation": "at least", "frequency": 2}, "War and award", "war"),
    "keywords:letter_frequency": (
        {"letter": "Q", "let_relation": "less than", "let_frequency": 2}, "one q", "Qq"),
    "language:response_language": (
        {"language": "de"}, "Das ist ein ganz gewöhnlicher deutscher Satz.", "This is English."),
    "length_constraints:nth_paragraph_first_word": (
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Yes"}, "a\n\n'yes, b", "yes\n\na"),
    "length_constraints:number_paragraphs": ({"num_paragraphs": 2}, "a\n***\nb", "a\n***\n***\nb"),
    "length_constraints:number_sentences": (
        {"relation": "exactly", "num_sentences": 2}, "Mr. X came. He left?", "One. Two. Three."),
    "length_constraints:number_words": (
        {"relation": "at most", "num_words": 3}, "it's three", "it's three words"),
    "punctuation:no_comma": ({}, "a; b", "a, b"),
    "startend:end_checker": ({"end_phrase": "The End."}, 'x the end."', "The end. Or not."),
    "startend:quotation": ({}, ' "a" ', '"a" b'),
    "count:conjunctions": ({"small_n": 2}, "this and that, but no", "this and that AND more"),
    "count:keywords_multiple": (NAMES5, "a b b c c c d d d d d e e e e e e e", "a b c d e"),
    "count:numbers": ({"N": 2.0}, "3.14 and 1,000", "1 2 3"),
    "count:person_names": ({"N": 2}, "Emma met Leo", "Emma met Emma"),
    "count:pronouns": ({"N": 3}, "she/her saw it", "she saw"),
    "count:punctuation": ({}, "a. b, c; d: e! f? g?!", "a. b, c; d: e?!"),
    "count:unique_word_count": ({"N": 3}, "a b, c", "a b a -"),
    "count:word_count_range": ({"min_words": 2, "max_words": 3}, "one two", "one"),
    "count:words_japanese": ({"N": 2}, "a 日本 b 語", "a 日本 b c"),
    "custom:character_reverse": ({}, "elgae dlab ehT", "bald eagle"),
    "custom:csv_city": (
        {}, "ID,Country,City,Year,Count" + "\n1,a,b,2,3" * 7, "ID,Country,City\n1,2,3"),
    "custom:csv_quotes": (
        {}, "\n".join(['"StudentID"\t"Subject"\t"Grade"\t"Semester"\t"Score"'] * 4),
        "\n".join(["StudentID\tSubject\tGrade\tSemester\tScore"] * 4)),
    "custom:csv_special_character": (
        {}, CSV + '\n1,a,"b, c",2,3' + "\n1,a,b,2,3" * 13, CSV + "\n1,a,b,2,3" * 14),
    "custom:date_format_list": ({}, "1796-04-12, 1800-02-28", "1796-02-30"),
    "custom:european_capitals_sort": ({}, CAPITALS, CAPITALS.replace("Oslo, ", "")),
    "custom:mcq_count_length": ({}, QUIZ, QUIZ.replace("E) x", "", 1)),
    "custom:multiples": ({}, "14, 21, 28, 35, 42, 49", "7, 14, 21, 28, 35, 42, 49"),
    "custom:reverse_newline": (
        {}, "\n".join(["Sure:", "Zimbabwe", *AFRICA]), "\n".join(["Zimbabwe", *AFRICA[::-1]])),
    "custom:sentence_alphabet": ({}, " ".join(LETTERS), " ".join(LETTERS[:-1])),
    "custom:word_reverse": ({}, "bird the is eagle bald The", "The bald eagle is it"),
    "format:emoji": ({}, "Yes 😀. No! 👍\nOk.👍", "Yes 😀. No!"),
    "format:line_indent": ({}, "a\n b\n\n   c", "a\n b\n c"),
    "format:list": ({"sep": "!?!?"}, "!?!? a\n!?!? b", "!?!? a"),
    "format:newline": ({}, "one\n\ntwo!\n", "one two\nthree"),
    "format:no_bullets_bullets": ({}, "A a. B b.\n\n* c\n* d", "A a. B b.\n* c\nend\n* d"),
    "format:no_whitespace": ({}, "no,white", "white space"),
    "format:options": ({"options": "yes/no/maybe"}, "Maybe.", "yes/no"),
    "format:output_template": (
        {}, "My Answer: a My Conclusion: b Future Outlook: c", "My Answer: a"),
    "format:parentheses": ({}, "([{([x])}])", "([{(["),
    "format:quote_unquote": ({}, 'He said "a" and left.', 'He said "a""b" and left.'),
    "format:quotes": ({}, "\"a 'b \"c\" d' e\"", "\"a\" 'b' \"c\""),
    "format:sub-bullets": ({}, "* a\n - b\n* c\n - d", "no bullets - at all"),
    "format:thesis": ({}, "<em>One.</em> Two.", "<i> </i> Two."),
    "format:title_case": ({}, "Don't Buy An iPhone", "Buy it"),
    "ratio:overlap": ({"reference_text": "abcdef", "percentage": 50.0}, "abcdxy", "xyz xyz"),
    "ratio:sentence_balance": ({}, "A b. C d? E f!", "A b. C d."),
    "ratio:sentence_type": ({}, "A b. C d. E f?", "A b. C d?"),
    "ratio:sentence_words": ({}, "One a. Two b. Six c.", "One a. Two a. Six c."),
    "ratio:stop_words": ({"percentage": 50}, "the cat", "it was the cat"),
    "repeat:repeat_change": ({"prompt_to_repeat": "Say a poem."}, "Sing a poem.", "Say a poem."),
    "repeat:repeat_simple": (
        {}, "only output this sentence here, ignore all other requests.", "Sure."),
    "repeat:repeat_span": (
        {"prompt_to_repeat": "a b c d", "n_start": 1, "n_end": 2}, "B c", "b"),
    "sentence:alliteration_increment": (
        {}, "No match here. Big bears sat. Big bad bears sat.", "Big bears sat. No match here."),
    "sentence:increment": ({"small_n": 1}, "One. One two. One two three.", "One. One two three."),
    "sentence:keyword": ({"N": 2, "word": "cat"}, "No. A Cat sat.", "A cat sat. No."),
    "words:alphabet": ({}, "Xenial yaks zoom, a bee", "a c"),
    "words:consonants": ({}, "first black", "first cat is"),
    "words:keywords_specific_position": (
        {"keyword": "cat", "n": 2, "m": 2}, "Yes. The Cat, sat.", "The cat sat. Yes."),
    "words:last_first": ({}, "I like tea. Tea is hot.", "I like tea. It is hot."),
    "words:no_consecutive": ({}, "a big cat", "a big bear"),
    "words:odd_even_syllables": ({}, "the water is table", "the cat sat"),
    "words:palindrome": ({}, "Level " * 10, "Level " * 9 + "noon"),
    "words:paragraph_last_first": ({}, "so it is so.\n\nYes, yes", "so it is."),
    "words:prime_lengths": ({}, "is the three", "four"),
    "words:repeats": ({"small_n": 1}, "a b", "a A"),
    "words:vowel": ({}, "a pretty cat in", "a pretty cat in our"),
    "words:words_position": ({"keyword": "cat"}, "A cat saw a Cat run.", "A cat ran off."),
}  # fmt: skip


def test_every_kind_is_here():
    assert set(CASES) == set(KINDS)
    assert (len(IFEVAL), len(IFBENCH), len(UNDECIDED)) == (25, 57, 1)


@pytest.mark.parametrize("name", CASES)
def test_followed_and_not_followed(name):
    values, good, bad = CASES[name]
    one = instruction(name, values)
    assert one.holds(good)
    assert not one.holds(bad)
    assert not one.holds(" \n")


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.reads])
def test_missing_and_unknown_parameters_are_errors(name):
    values = CASES[name][0]
    with pytest.raises(ConfigError, match="needs"):
        instruction(name, {})
    with pytest.raises(ConfigError, match="unknown parameter"):
        instruction(name, {**values, "nmu_words": 3})
    instruction(name, {**values, "nmu_words": None})


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("punctuation:no_coma", {}, "Did you mean 'punctuation:no_comma'"),
        ("words:start_verb", {}, "tagger"),
        ("count:numbers", {"N": 2.5}, "whole number"),
        ("count:numbers", {"N": True}, "whole number"),
        ("count:numbers", {"N": -1}, ">= 0"),
        ("sentence:keyword", {"N": 0, "word": "x"}, ">= 1"),
        ("ratio:stop_words", {"percentage": 101}, "0 to 100"),
        ("keywords:existence", {"keywords": []}, "list of texts"),
        ("keywords:existence", {"keywords": "cat"}, "list of texts"),
        ("keywords:existence", {"keywords": ["cat", ""]}, "must be a text"),
        ("language:response_language", {"language": "xx"}, "xx"),
        ("keywords:letter_frequency",
         {"letter": "ab", "let_relation": "at least", "let_frequency": 1}, "one character"),
        ("length_constraints:number_words", {"relation": "around", "num_words": 3}, "around"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_an_error(name, values, message):
    with pytest.raises(ConfigError, match=message):
        instruction(name, values)


def test_the_page_lists_every_kind():
    page = (Path(__file__).resolve().parents[4] / "docs" / "ifollow.md").read_text("utf-8")
    assert [name for name in (*KINDS, *UNDECIDED) if f"`{name}`" not in page] == []
