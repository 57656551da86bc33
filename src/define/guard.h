/*
 * guard.h
 *		Guard triggers: writes to attached leaves are marked, writes to staged and
 *		retired tables refused (owns bf_mark).
 */
#ifndef BF_GUARD_H
#define BF_GUARD_H

#include "backfill.h"

extern void bf_guard_init(void);
/* Makes this transaction's next write to any leaf leave a mark again, though it left one before. */
extern void bf_guard_forget(void);

/*
 * Takes the locks that installing or removing guards on these tables needs,
 * all at once and without standing in a queue; 55P03 after backfill.publish_wait.
 */
extern void bf_guard_lock(List *relids, bool to_remove);
/* Both are idempotent and run as the table's owner; on tables in use, after bf_guard_lock. */
extern void bf_guard_install(Oid relid);
extern void bf_guard_remove(Oid relid);
/* Both triggers are there, call our function and fire ALWAYS. */
extern bool bf_guard_installed(Oid relid);

/* Whether relid was written after the version's pin was taken. */
extern bool bf_guard_written_since_pin(int64 version_id, Oid relid);
/* Name of the first live leaf of the version written since its pin, NULL when there is none. */
extern char *bf_guard_late_write(int64 version_id);
/* Those of these tables that were ever written while they were attached. */
extern List *bf_guard_marked(List *relids);
extern void bf_guard_forget_marks(Oid relid);
/* Marks are about contents, which these tables, pair by pair, have traded. */
extern void bf_guard_marks_exchanged(List *out, List *in);
/* Removes marks of these tables that make no difference to any version; a publication then has few to move. */
extern void bf_guard_thin_marks(int64 version_id, List *relids);

#endif							/* BF_GUARD_H */
