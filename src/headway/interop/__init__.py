"""Import and export of models of other libraries, each export checked against its run."""
