"""The RO-Crate metadata of a run: what they list, and what they refer to."""

import hashlib
import ntpath
import os
from pathlib import Path, PureWindowsPath
from urllib.parse import unquote

import pytest
from test_manifest import TABLES, gather, job, root  # noqa: F401

from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.provenance import crate, manifest, records

LICENCE = "https://creativecommons.org/licenses/by/4.0/"
MANIFEST = "results/claims/mine/manifest.json"


@pytest.fixture
def entities(root, capsys):  # noqa: F811
    """Return the entities of the crate of a run with a raw file outside its folder, by their identifiers."""
    outside = str(root.parent / "labels of mine.csv")
    Path(outside).write_text("label\n", encoding="utf-8")
    raw = records.checksums(["data/images", "data/captions.csv", outside])
    job(TABLES, raw={"mine": records.digest(raw)})
    records.write_json(MANIFEST, manifest.make(TABLES, {"mine": raw}, {}))
    assert main(["crate", MANIFEST, "--license", LICENCE]) == 0
    assert capsys.readouterr().out == "ro-crate-metadata.json\n"
    return {entity["@id"]: entity for entity in records.read_json("ro-crate-metadata.json")["@graph"]}


def identifiers(references):
    return [reference["@id"] for reference in references]


def test_the_parts_are_the_tables_the_manifest_and_the_raw_files_of_the_folder(entities):
    parts = identifiers(entities["./"]["hasPart"])
    assert sorted(parts) == sorted([MANIFEST, *TABLES, "data/images/", "data/captions.csv"])
    for name in parts:
        if entities[name]["@type"] == "File":
            content = Path(unquote(name)).read_bytes()
            expected = hashlib.sha256(content).hexdigest(), str(len(content))
            assert (entities[name]["sha256"], entities[name]["contentSize"]) == expected
    assert entities[TABLES[0]]["encodingFormat"] == "text/csv"


def test_an_action_has_made_the_tables_from_all_raw_files(entities):
    action = entities["#run"]
    assert identifiers(action["result"]) == [MANIFEST, *sorted(TABLES)]
    outside = next(name for name in identifiers(action["object"]) if name.startswith("#"))
    assert entities[outside]["name"].endswith("/labels of mine.csv") and entities[outside]["@type"] == "CreativeWork"
    assert {*identifiers(action["object"])} == {"data/images/", "data/captions.csv", outside}
    properties = [entities[name] for name in identifiers(entities["#jointsparse"]["additionalProperty"])]
    made_with = records.read_json(MANIFEST)["made_with"]
    assert [(entity["name"], [entity["value"]]) for entity in properties] == list(made_with.items())


def test_every_reference_leads_to_an_entity(entities):
    def references(value):
        if isinstance(value, list):
            return [name for part in value for name in references(part)]
        return [value["@id"]] if isinstance(value, dict) else []

    identifiers = {name for entity in entities.values() for value in entity.values() for name in references(value)}
    assert identifiers - entities.keys() == {"https://w3id.org/ro/crate/1.2"}


@pytest.mark.parametrize("change", [Path.unlink, lambda table: table.write_text("other")])
def test_files_that_differ_from_the_manifest_are_refused(root, capsys, change):  # noqa: F811
    path = gather({})
    change(Path(TABLES[0]))
    assert main(["crate", str(path), "--license", LICENCE]) == 2
    assert capsys.readouterr().err == (
        "error: the files of the run must match the manifest, got 1 other or missing ones: list them with jointsparse "
        f"verify {path}\n"
    )
    assert not Path("ro-crate-metadata.json").exists()


def test_a_licence_that_is_no_address_is_refused(root, capsys):  # noqa: F811
    assert main(["crate", str(gather({})), "--license", "mine"]) == 2
    assert capsys.readouterr().err == "error: license must be an address that begins with https://, got 'mine'\n"


def test_a_raw_file_on_another_drive_of_windows_is_outside_the_folder(monkeypatch):
    monkeypatch.setattr(os, "path", ntpath)
    monkeypatch.setattr(os, "sep", ntpath.sep)
    monkeypatch.setattr(crate, "Path", PureWindowsPath)
    got = crate._entity(r"C:\run", r"D:\data\labels.csv", "0" * 64)
    assert (got["@type"], got["name"]) == ("CreativeWork", r"D:\data\labels.csv")
