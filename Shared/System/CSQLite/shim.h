#pragma once
#include <sqlite3.h>

// `sqlite3_config` takes variable arguments, which Swift cannot call. Without its memory statistics, which nobody reads,
// SQLite takes no lock for each allocation. Before anything else of SQLite is called.
static inline int sqlite3_disable_memory_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
