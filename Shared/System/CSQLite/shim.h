#pragma once
#include <sqlite3.h>

// `sqlite3_config` is variadic, so Swift cannot call it. Without its memory statistics, which are unused,
// SQLite takes no lock for each allocation. To be called before anything else of SQLite.
static inline int sqlite3_disable_memory_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
