# origin.awk - comes last, after a table: where its numbers come from. ALL=1: all rows of the files.
ALL { use(provenance()) }
END { if (origin() != "") print "\n<small>" origin() "</small>" }
