// A program that is linked to libpq or libcurl also loads the libraries that these depend on (Kerberos, LDAP, GnuTLS).
// That takes 4 MB, and half of the program's time until its first line of code. Few installations have PostgreSQL. So
// libpq is loaded only when it is used. Each function here calls the loaded one of the same name, and is hidden from
// libpq itself.
#include "CPostgres.h"
#include <dlfcn.h>
#include <stddef.h>

#define FUNCTIONS(F)                                                                                                  \
    F(PGconn *, PQconnectdbParams, (const char *const *names, const char *const *values, int expands),                \
      (names, values, expands))                                                                                       \
    F(void, PQfinish, (PGconn *connection), (connection))                                                             \
    F(ConnStatusType, PQstatus, (const PGconn *connection), (connection))                                             \
    F(const char *, PQparameterStatus, (const PGconn *connection, const char *name), (connection, name))              \
    F(char *, PQerrorMessage, (const PGconn *connection), (connection))                                               \
    F(PQconninfoOption *, PQconninfoParse, (const char *text, char **error), (text, error))                           \
    F(void, PQconninfoFree, (PQconninfoOption * options), (options))                                                  \
    F(PGresult *, PQexec, (PGconn * connection, const char *sql), (connection, sql))                                  \
    F(int, PQenterPipelineMode, (PGconn * connection), (connection))                                                  \
    F(int, PQexitPipelineMode, (PGconn * connection), (connection))                                                   \
    F(int, PQpipelineSync, (PGconn * connection), (connection))                                                       \
    F(int, PQsendPrepare,                                                                                             \
      (PGconn * connection, const char *name, const char *sql, int count, const Oid *types),                          \
      (connection, name, sql, count, types))                                                                          \
    F(int, PQsendQueryPrepared,                                                                                       \
      (PGconn * connection, const char *name, int count, const char *const *values, const int *lengths,               \
       const int *formats, int format),                                                                               \
      (connection, name, count, values, lengths, formats, format))                                                    \
    F(PGresult *, PQgetResult, (PGconn * connection), (connection))                                                   \
    F(void, PQclear, (PGresult * result), (result))                                                                   \
    F(ExecStatusType, PQresultStatus, (const PGresult *result), (result))                                             \
    F(char *, PQresultErrorMessage, (const PGresult *result), (result))                                               \
    F(char *, PQresultErrorField, (const PGresult *result, int field), (result, field))                               \
    F(char *, PQcmdStatus, (PGresult * result), (result))                                                             \
    F(char *, PQcmdTuples, (PGresult * result), (result))                                                             \
    F(int, PQntuples, (const PGresult *result), (result))                                                             \
    F(Oid, PQftype, (const PGresult *result, int column), (result, column))                                           \
    F(char *, PQgetvalue, (const PGresult *result, int row, int column), (result, row, column))                       \
    F(int, PQgetlength, (const PGresult *result, int row, int column), (result, row, column))                         \
    F(int, PQgetisnull, (const PGresult *result, int row, int column), (result, row, column))                         \
    F(unsigned char *, PQunescapeBytea, (const unsigned char *text, size_t *size), (text, size))                      \
    F(void, PQfreemem, (void *memory), (memory))

#define FIELD(result, name, parameters, arguments) result(*name) parameters;
static struct {
    FUNCTIONS(FIELD)
} libpq;

#define FORWARD(result, name, parameters, arguments)                                                                  \
    __attribute__((visibility("hidden"))) result name parameters { return libpq.name arguments; }
FUNCTIONS(FORWARD)

#ifdef __APPLE__
static const char file[] = "libpq.5.dylib";
#else
static const char file[] = "libpq.so.5";
#endif

const char *load_libpq(void) {
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (!library) return dlerror();
#define FIND(result, name, parameters, arguments)                                                                     \
    if (!(libpq.name = (result(*) parameters)dlsym(library, #name))) return dlerror();
    FUNCTIONS(FIND)
    return NULL;
}
