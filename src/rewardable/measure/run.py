"""The one entry: a run folder in, tables out."""

from __future__ import annotations

from dataclasses import replace

from rewardable.measure.classes import classes_table, screen_sentences
from rewardable.measure.config import MeasureConfig
from rewardable.measure.coverage import coverage_table
from rewardable.measure.curves import curves_table, differences_table
from rewardable.measure.dynamics import dynamics_table
from rewardable.measure.examples import examples_table
from rewardable.measure.gates import gates_table, parse_gates
from rewardable.measure.joint import joint_table
from rewardable.measure.models import models_table
from rewardable.measure.overview import overview_table
from rewardable.measure.polarisation import polarisation_table
from rewardable.measure.richness import richness_table
from rewardable.measure.robustness import robustness_table
from rewardable.measure.shape import shape_table
from rewardable.measure.study import load_study
from rewardable.measure.trainability import trainability_table
from rewardable.measure.transitions import transitions_table
from rewardable.measure.truncation import truncation_table
from rewardable.measure.verdict import verdict_table
from rewardable.results import Table
from rewardable.store import Run


def measure_run(run: Run, config: MeasureConfig) -> dict[str, Table]:
    """Measure a run: every table by name, the verdict first.

    Works with one policy (no comparison) and with imported runs (no tokens, unknown sampling,
    or counts alone): what is not known is left out, and the tables say so.

    Raises ConfigError for policies, tasks or specs that the run does not hold and for different
    templates or specs that the configuration does not allow, and for gates that cannot be meant;
    DataError where no prompt has graded rollouts of every policy, naming how many each has.
    """
    gates = parse_gates(config)
    study = load_study(run, config)
    gated = {"gates": gates_table(study, gates)} if gates else {}
    found = [
        build(study)
        for build in (
            overview_table,
            curves_table,
            differences_table,
            transitions_table,
            dynamics_table,
            polarisation_table,
            trainability_table,
            coverage_table,
            richness_table,
            models_table,
            shape_table,
            truncation_table,
            classes_table,
            joint_table,
            robustness_table,
        )
    ]
    tables = {table.name: table for table in found}
    tables["examples"] = examples_table(study, tables["transitions"])
    verdict = verdict_table(study, tables)
    screens = screen_sentences(study, tables["classes"])
    return {"verdict": replace(verdict, notes=(*verdict.notes, *screens)), **gated, **tables}
