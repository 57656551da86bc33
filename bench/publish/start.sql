-- autovacuum is off, and what earlier rounds left dead in the catalog would slow later ones down.
VACUUM pg_class, pg_type, pg_attribute, pg_constraint, pg_index, pg_inherits, pg_depend, pg_shdepend, pg_trigger;
CHECKPOINT;
SELECT bench.lap('start');
