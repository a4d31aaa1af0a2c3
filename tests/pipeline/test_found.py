"""Values that the user's process hands to those of its jobs."""

from configuration.found import Found


def test_a_job_takes_over_what_the_run_has_found_and_finds_the_rest_itself():
    environment = {}
    Found(fresh=True, environment=environment).value("offers", lambda: {"digits": "samples"})
    job = Found(fresh=False, environment=environment)
    assert job.value("offers", dict) == {"digits": "samples"}
    assert job.value("shards collage", lambda: 4) == 4
    assert Found(fresh=False, environment={}).value("offers", dict) == {}


def test_a_run_finds_anew_what_an_earlier_one_has_left():
    environment = {}
    for digest in ("before", "after"):
        assert Found(fresh=True, environment=environment).value("raw mine", lambda digest=digest: digest) == digest
