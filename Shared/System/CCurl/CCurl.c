// A program that is linked to libcurl or libpq also loads the libraries that these depend on (Kerberos, LDAP, GnuTLS).
// That takes 4 MB, and half of the program's time until its first line of code. Few programs send push notifications.
// So libcurl is loaded only when it is used. Each function here calls the loaded one of the same name, and is hidden
// from libcurl itself.
#define CURL_DISABLE_TYPECHECK
#include "CCurl.h"
#include <dlfcn.h>
#include <stddef.h>

#define FUNCTIONS(F)                                                                                                  \
    F(CURLcode, curl_global_init, (long flags), (flags))                                                              \
    F(CURL *, curl_easy_init, (void), ())                                                                             \
    F(void, curl_easy_reset, (CURL * handle), (handle))                                                               \
    F(void, curl_easy_cleanup, (CURL * handle), (handle))                                                             \
    F(const char *, curl_easy_strerror, (CURLcode code), (code))                                                      \
    F(struct curl_slist *, curl_slist_append, (struct curl_slist * list, const char *text), (list, text))             \
    F(void, curl_slist_free_all, (struct curl_slist * list), (list))                                                  \
    F(CURLM *, curl_multi_init, (void), ())                                                                           \
    F(CURLMcode, curl_multi_cleanup, (CURLM * handle), (handle))                                                      \
    F(CURLMcode, curl_multi_add_handle, (CURLM * handle, CURL *easy), (handle, easy))                                 \
    F(CURLMcode, curl_multi_remove_handle, (CURLM * handle, CURL *easy), (handle, easy))                              \
    F(CURLMcode, curl_multi_perform, (CURLM * handle, int *running), (handle, running))                               \
    F(CURLMcode, curl_multi_poll,                                                                                     \
      (CURLM * handle, struct curl_waitfd extra[], unsigned int count, int milliseconds, int *ready),                 \
      (handle, extra, count, milliseconds, ready))                                                                    \
    F(CURLMcode, curl_multi_wakeup, (CURLM * handle), (handle))                                                       \
    F(CURLMsg *, curl_multi_info_read, (CURLM * handle, int *left), (handle, left))                                   \
    F(const char *, curl_multi_strerror, (CURLMcode code), (code))

// Variadic functions cannot be forwarded. The functions at the end call each with one kind of argument.
#define VARIADIC_FUNCTIONS(F)                                                                                         \
    F(CURLcode, curl_easy_setopt, (CURL * handle, CURLoption option, ...), ())                                        \
    F(CURLcode, curl_easy_getinfo, (CURL * handle, CURLINFO info, ...), ())                                           \
    F(CURLMcode, curl_multi_setopt, (CURLM * handle, CURLMoption option, ...), ())

#define FIELD(result, name, parameters, arguments) result(*name) parameters;
static struct {
    FUNCTIONS(FIELD)
    VARIADIC_FUNCTIONS(FIELD)
} libcurl;

#define FORWARD(result, name, parameters, arguments)                                                                  \
    __attribute__((visibility("hidden"))) result name parameters { return libcurl.name arguments; }
FUNCTIONS(FORWARD)

#ifdef __APPLE__
static const char file[] = "libcurl.4.dylib", other_file[] = "libcurl.dylib";
#else
// The names of the library with OpenSSL, and with GnuTLS as in Debian.
static const char file[] = "libcurl.so.4", other_file[] = "libcurl-gnutls.so.4";
#endif

const char *load_libcurl(void) {
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (!library) library = dlopen(other_file, RTLD_LAZY | RTLD_LOCAL);
    if (!library) return dlerror();
#define FIND(result, name, parameters, arguments)                                                                     \
    if (!(libcurl.name = (result(*) parameters)dlsym(library, #name))) return dlerror();
    FUNCTIONS(FIND)
    VARIADIC_FUNCTIONS(FIND)
    return NULL;
}

void curl_set_number(CURL *handle, CURLoption option, long value) { libcurl.curl_easy_setopt(handle, option, value); }

void curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    libcurl.curl_easy_setopt(handle, option, value);
}

void curl_set_function(CURL *handle, CURLoption option, size_t (*value)(char *, size_t, size_t, void *)) {
    libcurl.curl_easy_setopt(handle, option, value);
}

void curl_multi_set_number(CURLM *handle, CURLMoption option, long value) {
    libcurl.curl_multi_setopt(handle, option, value);
}

void curl_get_number(CURL *handle, CURLINFO info, long *value) { libcurl.curl_easy_getinfo(handle, info, value); }

long curl_get_retry_after(CURL *handle) {
    curl_off_t seconds = 0;
    libcurl.curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &seconds);
    return seconds;
}

void curl_allow_web_only(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    libcurl.curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "https,http");
#else
    libcurl.curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTPS | CURLPROTO_HTTP));
#endif
}

CURL *curl_multi_next_done(CURLM *handle, CURLcode *result) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(handle, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}
