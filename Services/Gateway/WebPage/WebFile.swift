import ParlorHTTP
import ParlorSecurity

/// A file of the page in the forms that are sent, plain and compressed.
struct WebFile: Sendable {
    private let type: String
    private let plain: Representation
    /// The compressed form; nil if it is no shorter.
    private let compressed: Representation?
    /// The caching that browsers may do.
    private let caching: Caching

    private struct Representation: Sendable {
        let bytes: [UInt8]
        let tag: EntityTag
    }

    enum Caching: String, Sendable {
        /// The browser revalidates it each time, and gets a 304 if it is unchanged.
        case ask = "no-cache"
        /// The browser may keep it, as its address contains its version.
        case forever = "public, max-age=31536000, immutable"
    }

    /// The content security policy. Only files of the page run or are loaded, no text becomes code, and no other page
    /// may frame it. Images may come from any address, as people put addresses of images
    /// on boards.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: http: data: blob:; \
        connect-src 'self' ws: wss:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    /// - Parameter type: the result of `WebFile.type(of:)`.
    init(_ bytes: [UInt8], type: String, _ caching: Caching) {
        self.type = type
        self.caching = caching
        let digest = Base64URL.encode(SHA256.hash(bytes))
        plain = Representation(bytes: bytes, tag: EntityTag(digest))
        compressed = Gzip.compress(bytes).flatMap {
            $0.count < bytes.count ? Representation(bytes: $0, tag: EntityTag("\(digest).gzip")) : nil
        }
    }

    /// Returns the media type for a name's extension; nil if the page has no files with this extension.
    static func type(of name: String) -> String? {
        guard let dot = name.lastIndex(of: ".") else { return nil }
        return switch name[name.index(after: dot)...] {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: nil
        }
    }

    /// - Parameter other: the caching that replaces the file's own.
    func response(to headers: HTTPHeaders, caching other: Caching? = nil) -> HTTPResponse {
        let chosen = headers.acceptsCoding("gzip") ? compressed ?? plain : plain
        var response = HTTPResponse(status: headers.ifNoneMatch(names: chosen.tag) ? 304 : 200)
        response.headers.add("ETag", chosen.tag.text)
        response.headers.add("Cache-Control", (other ?? caching).rawValue)
        response.headers.add("Vary", "Accept-Encoding")
        response.headers.add("Content-Security-Policy", Self.policy)
        response.headers.add("Referrer-Policy", "no-referrer")
        response.headers.add("X-Content-Type-Options", "nosniff")
        guard response.status == 200 else { return response }
        response.headers.add("Content-Type", type)
        if chosen.tag != plain.tag { response.headers.add("Content-Encoding", "gzip") }
        response.body = chosen.bytes
        return response
    }
}
