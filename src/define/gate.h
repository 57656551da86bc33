/*
 * gate.h
 *		Gates: the built-in ones, those a DBA adds, waivers (owns bf_gate).
 */
#ifndef BF_GATE_H
#define BF_GATE_H

#include "backfill.h"

/* One row of bf_gate. */
typedef struct BfGate
{
	char	   *name;
	char	   *kind;			/* integrity, comparison, total */
	char	   *expression;		/* canonical; of a foreign key: its definition; NULL: built in */
	char	   *expect;			/* as people read it */
	bool		whole_version;	/* scope => 'version' */
	bool		required;
	bool		waived;
} BfGate;

#define BF_GATE_IS_INTEGRITY(g) (strcmp((g)->kind, "integrity") == 0)
#define BF_GATE_IS_TOTAL(g) (strcmp((g)->kind, "total") == 0)
#define BF_GATE_IS_FOREIGN_KEY(g) (BF_GATE_IS_INTEGRITY(g) && (g)->expression != NULL)

/* How the names of gates begin that follow from foreign keys. */
#define BF_GATE_FOREIGN_KEY "foreign key "

/* Inserts the built-in gates of a new version. */
extern void bf_gate_defaults(BfVersion *v);
/* Makes these (name, expression, expect) all the gates of foreign keys that the version has. */
extern void bf_gate_derive(const BfVersion *v, List *gates);
/* The gates of a version as BfGate *: integrity (foreign keys last), comparison, then totals by name. */
extern List *bf_gate_list(int64 version_id);
/* Fingerprint of a leaf's definition (InvalidOid: to be created) and its root's. */
extern char *bf_gate_definition(Oid leaf, Oid root);
/* Those of the partitions whose leaf or root has changed since the build; one query. */
extern List *bf_gate_changed_definitions(const BfVersion *v, List *partitions);

#endif							/* BF_GATE_H */
