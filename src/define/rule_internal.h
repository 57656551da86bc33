/*
 * rule_internal.h
 *		What the files of the rule share: rule.c, rule_parameters.c, rule_audit.c.
 */
#ifndef BF_RULE_INTERNAL_H
#define BF_RULE_INTERNAL_H

#include "backfill.h"

#include "define/rule.h"
#include "parser/parse_node.h"

/* Param ids of partition_from, partition_to and parameters. */
#define PARAM_FROM 1
#define PARAM_TO 2
#define PARAM_PARAMETERS 3
#define NUM_PARAMS 3

/* Raises 42704 for a key that is read and not given, warns of one given and not read. */
extern void bf_rule_check_parameters(Query *query, Jsonb *parameters, ParseState *pstate);

/*
 * Fills sources, foreign_, stable and volatile_ of info from a rewritten query;
 * 0A000 for what cannot be pinned or built twice, unless the version allows it.
 */
extern void bf_rule_audit(const BfVersion *v, Query *rewritten, BfRuleInfo *info);

/* Lists of names, as char *. */
extern bool bf_names_has(List *names, const char *name);
extern List *bf_names_add(List *names, const char *name);
extern char *bf_names_join(List *names, bool quoted);

#endif							/* BF_RULE_INTERNAL_H */
