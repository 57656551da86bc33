/*
 * backfill.c
 *		Module magic and settings.
 */
#include "backfill.h"

#include <limits.h>

#include "common/stop.h"
#include "define/guard.h"
#include "fmgr.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

int			bf_lock_attempt_ms = 50;
int			bf_publish_wait_ms = 60000;
int			bf_max_xlock_ms = 10000;

void
_PG_init(void)
{
	DefineCustomIntVariable("backfill.lock_attempt",
							"How long one attempt of publish or rollback waits for its locks.",
							"Readers that arrive meanwhile queue behind it at most this long.",
							&bf_lock_attempt_ms, 50, 10, 1000, PGC_USERSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("backfill.publish_wait",
							"How long create, publish and rollback go on trying to get their locks.",
							NULL,
							&bf_publish_wait_ms, 60000, 0, INT_MAX, PGC_USERSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("backfill.max_xlock_time",
							"How long publish and rollback may hold their locks before they undo everything.",
							NULL,
							&bf_max_xlock_ms, 10000, 100, INT_MAX, PGC_USERSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomStringVariable("backfill.debug_stop_at",
							   "Where tests make this process wait, to crash it there.",
							   "It waits while another session holds the advisory lock 4747.",
							   &bf_stop_at, "", PGC_SUSET, GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE,
							   NULL, NULL, NULL);
	MarkGUCPrefixReserved("backfill");
	bf_guard_init();
}
