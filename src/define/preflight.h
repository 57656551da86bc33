/*
 * preflight.h
 *		What stands in the way of a version: raised by create, build and publish, listed by plan.
 */
#ifndef BF_PREFLIGHT_H
#define BF_PREFLIGHT_H

#include "backfill.h"
#include "common/catalog.h"
#include "define/rule.h"

/* Rows (severity, object, finding, hint), blockers first; the partitions have the way they are switched. */
extern BfRows *bf_preflight_findings(const BfVersion *v, List *partitions);
/* Raises the first blocker. */
extern void bf_preflight_require(const BfVersion *v, List *partitions);

#endif							/* BF_PREFLIGHT_H */
