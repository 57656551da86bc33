-- The result that backfill leaves: names and schemas exchanged, no CHECK left on what is live.
\set there '{detach,old away,new here,attach old,drop check}'
\set back '{detach,add check,new away,old here,attach old}'
\set pairwise false
\ir swap.sql
