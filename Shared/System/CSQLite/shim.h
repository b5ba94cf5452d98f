#pragma once
#include <sqlite3.h>

// `sqlite3_config` is variadic, so Swift cannot call it. Without its memory statistics, which are unused,
// SQLite takes no lock for each allocation. To be called before anything else of SQLite.
static inline int sqlite3_disable_memory_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

// Variadic, too. Closing the last connection then leaves the write-ahead log as it is.
static inline int sqlite3_keep_log_on_close(sqlite3 *db) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
