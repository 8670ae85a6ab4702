# Something runs wild over the tables of the runtime: no search in them goes on for ever, and calls that are not found there are
# recorded anew.
. "${0%/*}/../common.inc"

compile overwritten "$programs/overwritten.c" -O1 -static
rewrite overwritten
for type in $types; do
  export PROFTYPE=$type
  profiled overwritten
  expect_calls overwritten <overwritten.stdout
done
