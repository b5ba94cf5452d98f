import ParlorHTTP

/// A parser's outcome for some bytes: its events, and the error that ended them.
struct Outcome: Equatable {
    var events: [HTTPEvent] = []
    var error: HTTPParseError?
    /// The dropped bytes of a body.
    var mayGoOn = true

    /// Feeds the pieces one after the other, reading all events in between.
    ///
    /// - Parameter takesLargeBodies: the answer when the parser asks.
    init(feeding pieces: [ArraySlice<UInt8>], limits: HTTPLimits = HTTPLimits(), takesLargeBodies: Bool = true) {
        var parser = HTTPRequestParser(limits: limits)
        do throws(HTTPParseError) {
            for piece in pieces {
                parser.append(piece)
                while let event = try parser.next() {
                    events.append(event)
                    guard case .largeBody = event else { continue }
                    if takesLargeBodies { parser.takeBody() } else { mayGoOn = parser.dropBody() }
                }
            }
        } catch {
            self.error = error
        }
    }

    init(_ bytes: [UInt8], limits: HTTPLimits = HTTPLimits()) {
        self.init(feeding: [bytes[...]], limits: limits)
    }

    init(_ text: String, limits: HTTPLimits = HTTPLimits()) { self.init(Array(text.utf8), limits: limits) }

    var requests: [HTTPRequest] {
        events.compactMap { if case .request(let request) = $0 { request } else { nil } }
    }

    /// The only event, if it is a request.
    var request: HTTPRequest? { events.count == 1 && error == nil ? requests.first : nil }
}

/// Returns an HTTP/1.1 request with a `Host`; lines end in CRLF.
func get(_ target: String = "/", _ fields: String...) -> String {
    (["GET \(target) HTTP/1.1", "Host: a"] + fields + ["", ""]).joined(separator: "\r\n")
}

func post(_ fields: String..., body: String = "") -> String {
    (["POST / HTTP/1.1", "Host: a"] + fields + ["", ""]).joined(separator: "\r\n") + body
}
