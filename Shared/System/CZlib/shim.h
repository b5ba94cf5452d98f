#pragma once
#include <zlib.h>

// `deflateInit2` is a macro. Windows of 15 bits, and 16 more for gzip's own header and trailer (RFC 1952).
static inline int gzip_begin(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
}
