// libcurl, which is loaded when it is first needed: CCurl.c says why. The functions that take any kind of argument are here
// once for each kind: Swift imports none that is variadic.
#pragma once
#include <curl/curl.h>

// To be called once, before any other function of libcurl.
//
// Returns NULL, or why it cannot be loaded.
const char *load_libcurl(void);

void curl_set_number(CURL *handle, CURLoption option, long value);
void curl_set_pointer(CURL *handle, CURLoption option, const void *value);
void curl_set_function(CURL *handle, CURLoption option, size_t (*value)(char *, size_t, size_t, void *));
void curl_multi_set_number(CURLM *handle, CURLMoption option, long value);
void curl_get_number(CURL *handle, CURLINFO info, long *value);
// Seconds; 0 if the answer has none. libcurl reads dates, too.
long curl_get_retry_after(CURL *handle);
// Nothing but the web: a URL comes from a setting, and libcurl knows files, too.
void curl_allow_web_only(CURL *handle);
// A transfer that has ended, and how; NULL if there is none.
CURL *curl_multi_next_done(CURLM *handle, CURLcode *result);

// Swift sees these as enumerations, the options are numbers.
static const long curl_http_version_2_over_tls = CURL_HTTP_VERSION_2TLS;
static const long curl_http_version_2 = CURL_HTTP_VERSION_2_0;
