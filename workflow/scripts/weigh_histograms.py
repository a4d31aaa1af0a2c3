"""Weight and normalise the histograms of all images."""

from job import job

from jointsparse.checks import select
from jointsparse.features import vocabulary_tree
from jointsparse.provenance.tables import read_matrix, read_record, read_table, write_matrix

if __name__ == "__main__":
    with job(snakemake):
        tree = read_record(vocabulary_tree.Tree, snakemake.input.tree)
        counts = vocabulary_tree.stack([read_matrix(path) for path in snakemake.input.histograms], tree)
        options, idf = snakemake.params.options, None
        if options.get("weighting") == "tf-idf":
            training = (read_table(snakemake.input.images, "split")["split"] == "train").to_numpy()
            idf = vocabulary_tree.inverse_frequencies(select(counts, training, "histograms"))
        write_matrix(snakemake.output.histograms, vocabulary_tree.weigh(counts, tree, **options, idf=idf))
