/*
 * names.h
 *		Names of tables, indexes and statistics objects go from the table that was attached to the one that is.
 */
#ifndef BF_NAMES_H
#define BF_NAMES_H

#include "backfill.h"

/* All of these run as the tables' owner, under ACCESS EXCLUSIVE on them, while neither is attached. */
extern void bf_names_exchange(Oid out, Oid in);
/* A created partition comes in: it takes the names it was planned with. */
extern void bf_names_give(const BfPartition *p, Oid in);
/* A created partition goes out again. */
extern void bf_names_take(const BfPartition *p, Oid out);

#endif							/* BF_NAMES_H */
