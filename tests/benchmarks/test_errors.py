"""The gate of error bars itself: wrong bars and means are caught, right ones pass, and runs repeat."""

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.errors import __main__ as command
from benchmarks.errors import blocks
from benchmarks.errors.configurations import Configuration, configuration
from benchmarks.errors.draws import Outcome, fitted, run
from benchmarks.errors.judgement import Draws, Finding, judge, judge_distances
from benchmarks.errors.rows import KINDS

from lowtide import RandomFeatures
from lowtide.kernels import Gaussian

N = 400
TRUE_STD = 0.1


def normal(seed=0, bars=1.0, shift=0.0, **more):
    """Return normal draws around 0.5 whose bars are `bars` times what they should be."""
    values = 0.5 + TRUE_STD * (np.random.default_rng(seed).standard_normal(N) + shift)
    return Draws(values, np.full(N, bars * TRUE_STD), 0.5, **{"stated": bars * TRUE_STD, **more})


def rare(seed, rate, jump=0.01, **more):
    """Return draws that move by whole jumps, as many as a Poisson law of the rate gives."""
    values = 1 - jump * np.random.default_rng(seed).poisson(rate, N)
    std = jump * math.sqrt(rate)
    return Draws(values, np.full(N, std), 1 - jump * rate, **{"stated": std, **more})


def worst(findings):
    return max(finding.used for finding in findings)


def failed(findings):
    return {finding.what for finding in findings if finding.used > 1}


@pytest.mark.parametrize("raw", [True, False])
def test_judge_accepts_right_bars(raw):
    assert all(worst(judge(normal(seed, raw=raw))) < 1 for seed in range(200))


@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.1, 0.17, 1.0, 5.0])
def test_judge_accepts_right_bars_of_rare_events(rate):
    assert all(worst(judge(rare(seed, rate))) < 1 for seed in range(200))


@pytest.mark.parametrize("rate", [1e-3, 0.01, 0.1, 1.0, 2.5, 5.0, 30.0])
def test_judge_accepts_bars_of_codes_with_room_for_an_event_that_was_not_seen(rate):
    for seed in range(100):
        draws = rare(seed, rate, raw=False)
        seen = np.round((1 - draws.values) / 0.01)
        assert worst(judge(replace(draws, std=0.01 * np.sqrt(seen + 2)))) < 1


@pytest.mark.parametrize("rate", [1.6, 5.0])
def test_judge_catches_bars_of_codes_that_trust_a_few_events(rate):
    draws = rare(0, rate, raw=False)
    seen = np.round((1 - draws.values) / 0.01)
    assert "coverage" in failed(judge(replace(draws, std=0.01 * np.sqrt(np.maximum(seen, 0.5)))))


def test_judge_catches_halved_bars():
    assert failed(judge(normal(bars=0.5))) == {"bars too short", "coverage"}
    assert failed(judge(normal(bars=0.5, raw=False))) == {"coverage"}


def test_judge_catches_doubled_bars():
    assert failed(judge(normal(bars=2.0))) == {"bars too long"}


def test_judge_allows_bars_of_codes_three_times_the_spread_and_no_more():
    assert not failed(judge(normal(bars=2.5, raw=False)))
    assert failed(judge(normal(bars=4.0, raw=False))) == {"bars too long"}


def test_judge_catches_a_shifted_mean():
    assert "bias" in failed(judge(normal(shift=0.5)))
    assert "bias" in failed(judge(normal(shift=-0.5, raw=False)))


def test_judge_catches_bars_of_rare_events_that_are_too_short():
    right = rare(0, 5.0)
    assert {"bars too short", "coverage"} <= failed(judge(replace(right, std=right.std / 2)))


def test_judge_grants_the_slack_of_a_closed_form_and_no_more():
    short = normal(bars=1 / math.sqrt(1.7))
    assert failed(judge(short)) == {"bars too short"}
    assert not failed(judge(replace(short, slack=0.7)))


def test_judge_lets_bars_include_rounding():
    tight = Draws(1 + 1e-9 * (-1.0) ** np.arange(N), np.full(N, 1e-7), 1.0)
    assert failed(judge(tight)) == {"bars too long"}
    assert not failed(judge(replace(tight, rounding=1e-7)))


def test_judge_refuses_bars_of_zero_unless_rows_are_equal():
    same = Draws(np.ones(N), np.zeros(N), 1.0)
    assert failed(judge(same)) == {"bar is 0"}
    assert not failed(judge(replace(same, differ=False)))
    assert "coverage" in failed(judge(replace(same, differ=False, values=same.values + 1e-7)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_judge_refuses_bars_that_are_no_numbers(bad):
    std = np.full(N, TRUE_STD)
    std[3] = bad
    assert failed(judge(replace(normal(), std=std))) == {"not finite"}


def test_distances_that_cannot_be_told_may_say_so_and_others_may_not():
    unknown = Draws(np.full(N, np.nan), np.full(N, np.inf), 50.0)
    assert not failed(judge_distances(unknown, tellable=False))
    assert failed(judge_distances(unknown, tellable=True)) == {"distance"}
    assert not failed(judge_distances(normal(), tellable=True))
    assert failed(judge_distances(normal(bars=0.5), tellable=True)) == {"coverage"}


def test_confident_distances_of_far_rows_are_caught():
    near = Draws(np.full(N, 2.4), np.full(N, 0.3), 100.0)
    assert "coverage" in failed(judge_distances(near, tellable=False))


class HalfBars(RandomFeatures):
    """Features whose bars are half as long as they should be."""

    def kernel_estimate(self, X, Y=None, *, return_std=False, **call):
        if not return_std:
            return super().kernel_estimate(X, Y, **call)
        K, std = super().kernel_estimate(X, Y, return_std=True, **call)
        return K, std / 2


class Breaking(RandomFeatures):
    """Features that break in a way that is no answer."""

    def kernel_estimate(self, *rows, **call):
        raise ZeroDivisionError("no components")


def of(encoder, **more):
    pairs = KINDS["typical"].draw(np.random.default_rng(0), 5)
    return Configuration("case", encoder(Gaussian(1.0), n_components=64, projection="iid"), pairs, **more)


def test_run_judges_an_encoder_over_its_seeds():
    right, wrong = run(of(RandomFeatures), 200), run(of(HalfBars), 200)
    assert right.verdict == "passed"
    assert wrong.verdict == "failed"
    assert wrong == run(of(HalfBars), 200)


def test_run_counts_an_error_of_lowtide_as_an_answer_and_any_other_as_a_failure():
    said = run(replace(of(RandomFeatures), encoder=RandomFeatures(Gaussian(), bits=None), sides=("codes", "full")), 3)
    assert said.verdict == "said so"
    assert "needs bits" in said.worst.figures
    broken = run(of(Breaking), 3)
    assert broken.verdict == "failed"
    assert broken.worst.figures == "ZeroDivisionError: no components"


def test_configurations_repeat_and_cover_every_family_and_kind_of_rows():
    names = [configuration(3, number).name for number in range(150)]
    assert names == [configuration(3, number).name for number in range(150)]
    assert len(set(names)) == len(names)
    text = "\n".join(names)
    wanted = [*KINDS, "RandomFeatures", "Sketch", "AsymmetricFeatures", "TernaryFeatures", "Codes", "distance"]
    assert [word for word in wanted if word not in text] == []


@pytest.mark.filterwarnings("ignore::lowtide.errors.PrecisionWarning", "ignore::lowtide.errors.LayoutWarning")
@pytest.mark.parametrize("number", range(40))
def test_every_drawn_configuration_can_be_fitted(number):
    one = configuration(4, number)
    assert fitted(one, 0).n_features_in_ == one.pairs.x.shape[1]


def test_kinds_of_rows_keep_their_promises():
    rng = np.random.default_rng(1)
    near, far, grid, axis = (KINDS[name].draw(rng, 16) for name in ("near", "far", "grid", "axis"))
    lengths = np.linalg.norm(near.Y - near.x, axis=1)
    assert np.all((lengths > 0.9e-4) & (lengths < 0.11))
    assert np.all(np.linalg.norm(far.Y - far.x, axis=1) > 2.9)
    assert not KINDS["equal"].draw(rng, 16).differ.any()
    assert np.all(np.count_nonzero(axis.Y - axis.x, axis=1) == 1)
    steps = grid.Y - grid.x
    assert np.all(steps / np.abs(steps[steps != 0]).min() % 1 == 0)


def outcome(used, verdict="passed"):
    return Outcome(f"case {used}", verdict, Finding("bias", used, "mean 1"))


def test_table_lists_the_worst_first_and_leaves_out_what_said_so():
    outcomes = [outcome(0.2), outcome(3.0, "failed"), outcome(0.0, "said so"), outcome(0.7)]
    lines = command.table(outcomes, size=2).splitlines()
    assert [line.strip() for line in lines[2::2]] == ["case 3.0", "case 0.7"]
    assert command.summary(outcomes) == "4 configurations: 2 passed, 1 said so, 1 failed"


def test_a_sweep_is_accepted_when_none_fails_and_few_say_so():
    assert command.accepted([outcome(0.2)] * 9 + [outcome(0.0, "said so")])
    assert not command.accepted([outcome(0.2)] * 8 + [outcome(0.0, "said so")] * 2)
    assert not command.accepted([outcome(0.2)] * 30 + [outcome(1.1, "failed")])


def test_command_prints_a_table_and_repeats_itself(capsys):
    codes, texts = [], []
    for _ in range(2):
        codes.append(command.main(["--configurations", "3", "--draws", "20", "--seed", "5"]))
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert "tolerance used" in texts[0]
    assert "3 configurations: " in texts[0]
    assert codes[0] == codes[1]


def test_block_estimates_average_to_the_estimate_of_the_encoder():
    case = next(blocks.cases(64))
    estimates = blocks.block_estimates(case, 5, seed=2)
    encoder = blocks.sized(case, 5, seed=2)
    K = encoder.kernel_estimate(case.x, case.Y, sides=case.sides)[0]
    # float32 sums of 640 products of at most 2/640 each.
    np.testing.assert_allclose(estimates.mean(axis=0), K, atol=640 * 2.0**-24)


def test_blocks_are_judged_one_difference_at_a_time():
    case = next(blocks.cases(64))
    outcomes = blocks.run_case(case, 64)
    assert len(outcomes) == len(case.labels) == len(case.Y)
    assert all("of iid" in one.name for one in outcomes)
    assert {one.verdict for one in outcomes} <= {"passed", "failed"}
