# backfill: PGXS build; `make demo` and `make check` bring their own cluster.
EXTENSION = backfill
EXTVERSION = 0.1
MODULE_big = backfill
DATA = sql/backfill--$(EXTVERSION).sql

OBJS = src/backfill.o \
	src/common/catalog.o \
	src/define/rule.o src/define/version.o src/define/plan.o src/define/preflight.o src/define/create.o \
	src/build/pin.o src/build/shape.o src/build/guard.o src/build/load.o src/build/builder.o \
	src/verify/expect.o src/verify/compare.o src/verify/gate.o \
	src/publish/locks.o src/publish/switch_attach.o src/publish/publish.o src/publish/history.o \
	src/report/manifest.o

PG_CPPFLAGS = -I$(srcdir)/src
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers
with_llvm = no

REGRESS_OPTS = --inputdir=test --outputdir=build/regress

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
