// libcurl, which is loaded when it is first needed (see CCurl.c). Variadic functions are declared here once
// for each kind of argument, as Swift cannot import them.
#pragma once
#include <curl/curl.h>

// To be called once, before any other function of libcurl.
//
// Returns NULL, or the reason why it cannot be loaded.
const char *load_libcurl(void);

void curl_set_number(CURL *handle, CURLoption option, long value);
void curl_set_pointer(CURL *handle, CURLoption option, const void *value);
void curl_set_function(CURL *handle, CURLoption option, size_t (*value)(char *, size_t, size_t, void *));
void curl_multi_set_number(CURLM *handle, CURLMoption option, long value);
void curl_get_number(CURL *handle, CURLINFO info, long *value);
// Returns the seconds of Retry-After; 0 if the response has none. libcurl parses dates, too.
long curl_get_retry_after(CURL *handle);
// Allows HTTP and HTTPS only: a URL comes from a setting, and libcurl supports files, too.
void curl_allow_web_only(CURL *handle);
// Returns a transfer that has ended, with its result; NULL if there is none.
CURL *curl_multi_next_done(CURLM *handle, CURLcode *result);

// Swift imports these as enumerations, but the option takes a number.
static const long curl_http_version_2_over_tls = CURL_HTTP_VERSION_2TLS;
static const long curl_http_version_2 = CURL_HTTP_VERSION_2_0;
