// libpq, which is loaded when it is first needed (see CPostgres.c).
#pragma once
#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#include <libpq-fe.h>
#endif

// To be called once, before any other function of libpq.
//
// Returns NULL, or the reason why it cannot be loaded.
const char *load_libpq(void);
