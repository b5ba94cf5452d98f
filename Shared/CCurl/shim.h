// libcurl, with the functions that take any kind of argument once for each kind: Swift imports none that is variadic.
#pragma once
#include <curl/curl.h>

static inline void curl_set_number(CURL *handle, CURLoption option, long value) {
    curl_easy_setopt(handle, option, value);
}
static inline void curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    curl_easy_setopt(handle, option, value);
}
static inline void curl_set_function(
    CURL *handle, CURLoption option, size_t (*value)(char *, size_t, size_t, void *)) {
    curl_easy_setopt(handle, option, value);
}
static inline void curl_multi_set_number(CURLM *handle, CURLMoption option, long value) {
    curl_multi_setopt(handle, option, value);
}
static inline void curl_get_number(CURL *handle, CURLINFO info, long *value) {
    curl_easy_getinfo(handle, info, value);
}
// Seconds; 0 if the answer has none. libcurl reads dates, too.
static inline long curl_get_retry_after(CURL *handle) {
    curl_off_t seconds = 0;
    curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &seconds);
    return seconds;
}

// Nothing but the web: a URL comes from a setting, and libcurl knows files, too.
static inline void curl_allow_web_only(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "https,http");
#else
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTPS | CURLPROTO_HTTP));
#endif
}

// A transfer that has ended, and how; NULL if there is none.
static inline CURL *curl_multi_next_done(CURLM *handle, CURLcode *result) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(handle, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

// Swift sees these as enumerations, the options are numbers.
static const long curl_http_version_2_over_tls = CURL_HTTP_VERSION_2TLS;
static const long curl_http_version_2 = CURL_HTTP_VERSION_2_0;
