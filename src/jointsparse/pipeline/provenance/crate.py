"""The results of a run as an RO-Crate: a description of their files that archives of research data can read."""

import os
from datetime import date
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jointsparse.checks import relative_path, require
from jointsparse.pipeline.provenance import manifest, records

SPECIFICATION = "https://w3id.org/ro/crate/1.2"
FILE = "ro-crate-metadata.json"  # the name that the specification demands


def write(path: str | Path, license: str) -> Path:
    """Write the RO-Crate metadata of a run into the folder of the run, and return the path of the file.

    The parts of the crate are the manifest, its tables, and the raw files inside the folder of the run. Raw files
    elsewhere are only named. An action states that jointsparse has made the tables from the raw files; the properties
    of jointsparse are the versions and machine properties of the manifest. The date of publication is today.

    Parameters
    ----------
    path : path
        The manifest of the run.
    license : str
        Address of the licence under which the tables and raw files are published. The specification demands one.

    Raises
    ------
    ValueError
        If the file is not a manifest, if files have changed or are missing, or if the licence is not an address.

    References
    ----------
    RO-Crate Metadata Specification 1.2.
    """
    require(license.startswith("https://"), f"license must be an address that begins with https://, got {license!r}")
    known, root = manifest.read(path), manifest.root_of(path)
    differences = manifest.verify(path)[1]  # the crate repeats the checksums of the manifest
    require(
        not differences,
        f"the files of the run must match the manifest, got {len(differences)} other or missing ones: list them with "
        f"jointsparse verify {path}",
    )
    itself = {relative_path(path, root): records.checksums([path])[str(path)]}
    results = [_entity(root, *item) for item in (itself | known["tables"]).items()]
    inputs = [_entity(root, *item) for files in known["inputs"].values() for item in files.items()]
    properties = [
        {"@id": f"#{quote(f'{name} {value}')}", "@type": "PropertyValue", "name": name, "value": value}
        for name, values in known["made_with"].items()
        for value in values
    ]
    datasets = ", ".join(known["inputs"])
    graph = [
        {"@id": FILE, "@type": "CreativeWork", "about": {"@id": "./"}, "conformsTo": {"@id": SPECIFICATION}},
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"Results of jointsparse on {datasets}",
            "description": "Tables of a run, and the manifest of their raw files, versions and settings.",
            "datePublished": date.today().isoformat(),
            "license": {"@id": license},
            "hasPart": _references([*results, *(entity for entity in inputs if entity["@type"] != "CreativeWork")]),
            "mentions": {"@id": "#run"},
        },
        {"@id": license, "@type": "CreativeWork", "name": license},
        {
            "@id": "#run",
            "@type": "CreateAction",
            "name": f"Run of jointsparse on {datasets}",
            "instrument": {"@id": "#jointsparse"},
            "object": _references(inputs),
            "result": _references(results),
        },
        {
            "@id": "#jointsparse",
            "@type": "CreativeWork",  # a SoftwareApplication must have an address
            "name": "jointsparse",
            "version": " and ".join(known["made_with"].get("jointsparse", ["unknown"])),
            "additionalProperty": _references(properties),
        },
        *(inputs + results + properties),
    ]
    records.write_json(Path(root, FILE), {"@context": f"{SPECIFICATION}/context", "@graph": graph})
    return Path(root, FILE)


def _entity(root: str, name: str, checksum: str) -> dict[str, Any]:
    """Return the entity of a file or folder. name: its path, relative to the folder of the run."""
    path = Path(root, name)
    address = relative_path(path, root)
    if os.path.isabs(address) or address.split("/")[0] == os.pardir:
        return {"@id": f"#{quote(name)}", "@type": "CreativeWork", "name": name}
    address = quote(address)
    if path.is_dir():  # the checksum of a folder in a manifest is no SHA-256 of a file
        return {"@id": f"{address}/", "@type": "Dataset", "name": name}
    size, kind = path.stat().st_size, guess_type(name)[0] or "application/octet-stream"
    content = {"sha256": checksum} if size <= records.LARGEST_RAW else {}  # else it is no hash of the content
    return {"@id": address, "@type": "File", "name": name, "contentSize": str(size), "encodingFormat": kind} | content


def _references(entities: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [{"@id": entity["@id"]} for entity in entities]
