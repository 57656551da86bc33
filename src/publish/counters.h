/*
 * counters.h
 *		Cumulative statistics of tables that traded their contents.
 */
#ifndef BF_COUNTERS_H
#define BF_COUNTERS_H

#include "backfill.h"

/* When the transaction commits, what is counted about the rows of one table goes to the other. */
extern void bf_counters_exchange(Oid a, Oid b);

#endif							/* BF_COUNTERS_H */
