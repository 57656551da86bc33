/*
 * version.h
 *		Versions: the state table, lock-and-fetch, advance (owns bf_version, bf_target).
 */
#ifndef BF_VERSION_H
#define BF_VERSION_H

#include "backfill.h"

/* Locks the name against other sessions without waiting (55006), checks membership in the owner (42501), reads. */
extern BfVersion *bf_version_lock(const char *name);
/* Reads without locking. */
extern BfVersion *bf_version_get(const char *name);
/* Moves to `to` through the const table; a wrong transition is 55000 with the next call as hint. */
extern void bf_version_advance(BfVersion *v, BfState to, const char *by);
/* Reads and checks membership, without locking; 42704 when unknown. */
extern BfVersion *bf_version_require(const char *name);
/* For a version whose target is gone: it belongs to who created it (42501). */
extern void bf_version_require_creator(const BfVersion *v);
/* Whether it was ever live. */
extern bool bf_version_was_published(const BfVersion *v);
/* 25006 where nothing can be written: on a standby, in a READ ONLY transaction. */
extern void bf_version_refuse_standby(void);
/* 25001 otherwise; `what` is the call without its prefix. */
extern void bf_version_require_read_committed(const char *what);
extern const char *bf_state_name(BfState s);
/* Locks a name that may not be a version's yet; bf_version_lock does it for one that is. */
extern void bf_version_name_lock(const char *name);
/* The settings recorded at create, for a GUC nest level of the caller. */
extern void bf_version_apply_settings(const BfVersion *v);

#endif							/* BF_VERSION_H */
