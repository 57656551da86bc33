/*
 * rule_parameters.c
 *		Which keys of `parameters` a rule reads, against those that it is given.
 */
#include "backfill.h"

#include "define/rule_internal.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

/* How a rule uses `parameters`. */
typedef struct ParameterUse
{
	List	   *read;			/* of Const *: keys whose value is read */
	List	   *names;			/* of char *, parallel to read */
	List	   *tested;			/* of char *: keys whose existence is asked */
	bool		opaque;			/* used in a way that hides which keys are read */
} ParameterUse;

static Node *
skip_relabel(Node *node)
{
	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node;
}

static bool
is_parameters(Node *node)
{
	return node && IsA(node, Param) &&
		((Param *) node)->paramkind == PARAM_EXTERN &&
		((Param *) node)->paramid == PARAM_PARAMETERS;
}

static bool
note_key(List **names, List **consts, Node *node)
{
	Const	   *key = (Const *) skip_relabel(node);

	if (!IsA(key, Const) || key->constisnull || key->consttype != TEXTOID)
		return false;
	*names = lappend(*names, TextDatumGetCString(key->constvalue));
	if (consts)
		*consts = lappend(*consts, key);
	return true;
}

/* A constant text[]: its first element is a key, or every one is. */
static bool
note_path(List **names, List **consts, Node *node, bool first_only)
{
	Const	   *path = (Const *) skip_relabel(node);
	Datum	   *elems;
	bool	   *nulls;
	int			nelems;

	if (!IsA(path, Const) || path->constisnull || path->consttype != TEXTARRAYOID)
		return false;
	deconstruct_array(DatumGetArrayTypeP(path->constvalue), TEXTOID, -1, false, TYPALIGN_INT,
					  &elems, &nulls, &nelems);
	if (nelems == 0 || nulls[0])
		return false;
	for (int i = 0; i < (first_only ? 1 : nelems); i++)
	{
		if (nulls[i])
			continue;
		*names = lappend(*names, TextDatumGetCString(elems[i]));
		if (consts)
			*consts = lappend(*consts, path);
	}
	return true;
}

/* True when op applies a constant key to `parameters`; then nothing below it is left to look at. */
static bool
note_operator(OpExpr *op, ParameterUse *use)
{
	Node	   *right;

	if (list_length(op->args) != 2 || !is_parameters(linitial(op->args)))
		return false;
	right = lsecond(op->args);
	switch (op->opfuncid)
	{
		case F_JSONB_OBJECT_FIELD:
		case F_JSONB_OBJECT_FIELD_TEXT:
			return note_key(&use->names, &use->read, right);
		case F_JSONB_EXTRACT_PATH:
		case F_JSONB_EXTRACT_PATH_TEXT:
			return note_path(&use->names, &use->read, right, true);
		case F_JSONB_EXISTS:
			return note_key(&use->tested, NULL, right);
		case F_JSONB_EXISTS_ANY:
		case F_JSONB_EXISTS_ALL:
			return note_path(&use->tested, NULL, right, false);
		default:
			return false;
	}
}

static bool
parameter_use_walker(Node *node, void *context)
{
	ParameterUse *use = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, parameter_use_walker, context, 0);
	if (IsA(node, OpExpr) && note_operator((OpExpr *) node, use))
		return false;
	if (IsA(node, SubscriptingRef))
	{
		SubscriptingRef *ref = (SubscriptingRef *) node;

		if (is_parameters((Node *) ref->refexpr) && ref->refupperindexpr != NIL &&
			note_key(&use->names, &use->read, linitial(ref->refupperindexpr)))
			return expression_tree_walker((Node *) ref->refupperindexpr, parameter_use_walker, context);
	}
	if (is_parameters(node))
		use->opaque = true;
	return expression_tree_walker(node, parameter_use_walker, context);
}

/* Top-level keys, as char *. */
static List *
parameter_keys(Jsonb *parameters)
{
	List	   *keys = NIL;
	JsonbIterator *it;
	JsonbValue	value;
	JsonbIteratorToken token;

	if (parameters == NULL)
		return NIL;
	it = JsonbIteratorInit(&parameters->root);
	/* Skipping nested values keeps their keys out. */
	while ((token = JsonbIteratorNext(&it, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			keys = lappend(keys, pnstrdup(value.val.string.val, value.val.string.len));
	}
	return keys;
}

/*
 * A key that is read but not given is a typo, hence an error; a key that is
 * given but not read may be one.  A rule that itself asks whether a key exists
 * knows that it may be absent.
 */
void
bf_rule_check_parameters(Query *query, Jsonb *parameters, ParseState *pstate)
{
	ParameterUse use = {NIL};
	List	   *keys = parameter_keys(parameters);
	List	   *unused = NIL;
	ListCell   *lc;
	ListCell   *name;

	parameter_use_walker((Node *) query, &use);

	forboth(lc, use.read, name, use.names)
	{
		if (bf_names_has(keys, lfirst(name)) || bf_names_has(use.tested, lfirst(name)))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("rule reads key \"%s\", which parameters does not have", (char *) lfirst(name)),
				 keys == NIL ? errhint("Give it in parameters, which is empty.") :
				 errhint("The keys of parameters are %s.", bf_names_join(keys, true)),
				 parser_errposition(pstate, ((Const *) lfirst(lc))->location)));
	}

	if (use.opaque)
		return;
	foreach(lc, keys)
	{
		if (!bf_names_has(use.names, lfirst(lc)) && !bf_names_has(use.tested, lfirst(lc)))
			unused = lappend(unused, lfirst(lc));
	}
	if (unused != NIL)
		ereport(WARNING,
				(errmsg("rule does not use all of parameters"),
				 errdetail("The rule never reads %s.", bf_names_join(unused, true))));
}
