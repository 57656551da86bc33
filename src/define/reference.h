/*
 * reference.h
 *		The foreign keys to and from the partitions of a version, and the gates that follow from them.
 */
#ifndef BF_REFERENCE_H
#define BF_REFERENCE_H

#include "backfill.h"

/* One foreign key; "own" is the side of the target, "other" the table at the other end. */
typedef struct BfReference
{
	Oid			constraint;
	char	   *name;			/* of the constraint */
	char	   *gate;
	char	   *definition;		/* with the table it belongs to */
	bool		incoming;		/* the other table refers to the target */
	bool		validated;		/* NOT VALID promises nothing about what is there */
	bool		match_full;
	bool		indexed;		/* incoming: the other table finds its rows by the key */
	Oid			other;
	List	   *own_columns;	/* of char *, as the target calls them */
	List	   *other_columns;
	List	   *own_types;		/* Oids, column by column, as all below */
	List	   *other_types;
	List	   *own_collations;
	List	   *other_collations;
	List	   *own_equal;		/* operators: own = own */
	List	   *equal;			/* referenced = referencing */
	char	   *missing_grant;	/* what the target's owner needs to read the other table; NULL: nothing */
	List	   *places;			/* positions, from 0, of the partitions it is about */
} BfReference;

/*
 * Foreign keys of or to the target, what is above it, and any of these partitions alone.  A self-referencing one, or
 * one with a PERIOD, is left out: it is a blocker.
 */
extern List *bf_reference_list(const BfVersion *v, List *partitions);

/* 42501 where the target's owner may not read the table at the other end. */
extern void bf_reference_require_readable(const BfVersion *v, const BfReference *ref);

/* Makes the gates "foreign key ..." of a version what follows from the foreign keys that there are now. */
extern void bf_reference_gates(const BfVersion *v, List *partitions);

#endif							/* BF_REFERENCE_H */
