"""Write the page of a saved model, with thumbnails of the images that it shows."""

import hashlib
import json
from functools import partial
from pathlib import Path

from job import job

from jointsparse.pipeline.page.images import Images, write_thumbnails
from jointsparse.pipeline.page.kept import read_fits, read_kept
from jointsparse.pipeline.page.model import Origin, page
from jointsparse.pipeline.provenance.tables import read_table
from jointsparse.registry import pick
from jointsparse.written import written

if __name__ == "__main__":
    with job(snakemake) as progress:
        given, params, output = snakemake.input, snakemake.params, snakemake.output
        folder = Path(output.page).parent
        tables = {name: read_table(given[f"all_{name}"]) for name in ("images", "captions", "left_out")}
        loader, samples = pick("datasets", params.loader), given.get("samples")
        images = Images(loader, params.options, tables["images"], samples)
        network = params.network["path"] if params.network else None
        kept = read_kept(
            given.model,
            given.labels,
            given.images,
            given.features,
            network=network,
            vocabulary=params.vocabulary,
            names=images.names if given.features == samples else (),  # features in a basis have no names
            fits=read_fits(
                given.norms,
                given.thresholds,
                given.get("stability"),
                given.images,
                tables["captions"],
                given.warned,
                params.learnable,
            ),
        )
        origin = Origin(
            snakemake.wildcards.dataset,
            **tables,
            tags=read_table(given.tags),
            digest=hashlib.sha256(Path(given.model).read_bytes()).hexdigest(),
            corrected=params.corrected,
            learnable=params.learnable,
            note=params.note,
            labels=loader.LABELS,
            thumbnail=images.file if images.are_pictures else None,
            original=partial(images.original, folder=folder) if images.are_files and hasattr(loader, "file") else None,
            network=network,
        )
        made = page(origin, kept)
        Path(output.thumbnails).mkdir(parents=True, exist_ok=True)
        write_thumbnails(folder, made, images, kept, longest_side=params.longest_side, progress=progress)
        for text, file in ((made.html, output.page), (json.dumps(made.findings), output.findings)):
            with written(file) as path:
                path.write_text(text, encoding="utf-8")
