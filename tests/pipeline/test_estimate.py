"""What `init` says about the costs of a run. `trials/estimates.py` compares it with runs."""

from jointsparse.pipeline.app.estimate import Probe, Work, estimated, lines

WORK = Work(n_samples=20_000, n_labels=100, n_features=500, n_values=10_000_000)


def test_more_work_costs_more_and_more_cores_take_less_time_and_more_memory():
    alone, fast = estimated(WORK, Probe(1.0), 1), estimated(WORK, Probe(1.0), 2)
    assert alone.seconds > fast.seconds and alone.mb < fast.mb
    # The slowest fit takes about as long as all others together, so that two cores are as fast as sixteen.
    assert estimated(WORK, Probe(1.0), 16).seconds == fast.seconds
    assert estimated(WORK, Probe(2.0), 1).seconds == 2 * alone.seconds
    for key in ("n_samples", "n_labels", "n_values"):
        more = estimated(WORK._replace(**{key: 2 * getattr(WORK, key)}), Probe(1.0), 2)
        assert more.seconds > fast.seconds and more.mb > fast.mb, key


def test_the_time_to_learn_all_labels_is_that_of_a_run_that_learns_as_many(monkeypatch):
    monkeypatch.setattr(Probe, "of", lambda work: Probe(1.0))
    (_, longer), (alone,) = (lines(WORK._replace(n_labels=n), 200) for n in (100, 200))
    seconds = alone.partition(" will take about ")[2].partition(" on ")[0]
    assert longer == f"To learn all 200, it would take about {seconds}."
