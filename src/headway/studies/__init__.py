"""Work made of several runs or of a whole data set: demonstrations, comparisons, reports."""
