/*
 * stop.c
 *		Named points at which tests stop a process, to crash it there.
 */
#include "backfill.h"

#include "common/catalog.h"
#include "common/stop.h"
#include "miscadmin.h"
#include "storage/lock.h"

#define POLL_MS 10

char	   *bf_stop_at = NULL;

void
bf_stop_point(const char *name)
{
	LOCKTAG		tag;

	if (bf_stop_at == NULL || strcmp(bf_stop_at, name) != 0)
		return;
	/* Not a wait in the queue: lock_timeout may be short here. */
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, BF_STOP_KEY, 1);
	while (LockAcquire(&tag, ShareLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		bf_pause(POLL_MS);
	LockRelease(&tag, ShareLock, true);
}
