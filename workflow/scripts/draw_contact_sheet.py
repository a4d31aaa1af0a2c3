"""Draw some images with a caption each, to show what a dataset holds."""

from job import job

from jointsparse.figures import scores
from jointsparse.provenance.tables import read_table, written
from jointsparse.registry import pick


def main(images, captions, loader, options, longest_side, seed, output):
    figure = scores.contact_sheet(
        read_table(images, "image"),
        read_table(captions, "image", "caption"),
        lambda image: pick("datasets", loader).picture(image, **options, longest_side=longest_side),
        seed=seed,
    )
    with written(output) as path:
        figure.savefig(path)


if __name__ == "__main__":
    with job(snakemake):
        main(
            images=snakemake.input.images,
            captions=snakemake.input.captions,
            loader=snakemake.params.loader,
            options=snakemake.params.options,
            longest_side=snakemake.params.longest_side,
            seed=snakemake.params.seed,
            output=snakemake.output.figure,
        )
