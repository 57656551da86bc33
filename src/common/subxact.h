/*
 * subxact.h
 *		Work that may fail, in a subtransaction of its own.
 */
#ifndef BF_SUBXACT_H
#define BF_SUBXACT_H

#include "backfill.h"

/*
 * Runs `work`.  On an error everything it did is undone and the error returned,
 * for the caller to read or to raise again with ReThrowError; NULL: it succeeded.
 */
extern ErrorData *bf_subxact(void (*work) (void *), void *arg);

#endif							/* BF_SUBXACT_H */
