// libpq, which is loaded when it is first needed: CPostgres.c says why.
#pragma once
#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#include <libpq-fe.h>
#endif

// To be called once, before any other function of libpq.
//
// Returns NULL, or why it cannot be loaded.
const char *load_libpq(void);
