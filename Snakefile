include: "workflow/Snakefile"


workflow.default_target = "reproduce-all"  # Snakemake ignores the default target of an included file
