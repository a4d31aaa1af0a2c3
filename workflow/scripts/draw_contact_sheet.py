"""Some images with a caption each, to see what a dataset holds."""

from job import job

from jointsparse.figures import scores
from jointsparse.registry import pick
from jointsparse.tables import read_table, written


def main(images, captions, loader, options, longest_side, seed, output):
    picture = pick("datasets", loader).picture
    figure = scores.contact_sheet(
        read_table(images, "image"),
        read_table(captions, "image", "caption"),
        lambda image: picture(image, **options, longest_side=longest_side),
        seed=seed,
    )
    with written(output) as path:
        figure.savefig(path)


if __name__ == "__main__":
    with job(snakemake):
        p = snakemake.params
        main(*snakemake.input[:2], p.loader, p.options, p.longest_side, p.seed, snakemake.output[0])
