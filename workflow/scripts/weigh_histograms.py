"""Weight and normalise the histograms of all images."""

from job import job

from jointsparse.checks import select
from jointsparse.features import vocabulary_tree
from jointsparse.provenance.tables import read_matrix, read_record, read_table, write_matrix


def main(images, histograms, tree, options, output):
    tree = read_record(vocabulary_tree.Tree, tree)
    counts = vocabulary_tree.stack([read_matrix(path) for path in histograms], tree)
    training = (read_table(images, "split")["split"] == "train").to_numpy()
    idf = vocabulary_tree.inverse_frequencies(select(counts, training, "histograms"))
    write_matrix(output, vocabulary_tree.weigh(counts, tree, **options, idf=idf))


if __name__ == "__main__":
    with job(snakemake):
        main(
            images=snakemake.input.images,
            histograms=snakemake.input.histograms,
            tree=snakemake.input.tree,
            options=snakemake.params.options,
            output=snakemake.output.histograms,
        )
