import HTTP
import Reactor

extension EdgeConfiguration {
    /// Whom a request comes from: the peer; behind trusted proxies the nearest address in `X-Forwarded-For` that is none of
    /// theirs, or the farthest if all are.
    ///
    /// Each proxy writes whom it heard from behind what it was given, so that only what follows the first stranger, from the
    /// end, was written by someone who is trusted. An entry there that is no address makes the peer count.
    func client(of request: HTTPRequest, from peer: IPAddress) -> IPAddress {
        guard isTrusted(peer) else { return peer }
        var client = peer
        for entry in request.headers.members("X-Forwarded-For").reversed() {
            guard let address = IPAddress(entry) else { return peer }
            client = address
            if !isTrusted(address) { break }
        }
        return client
    }

    /// Whether a trusted proxy asks for itself, as its health checks do: it names nobody.
    func isProxysOwn(_ request: HTTPRequest, from peer: IPAddress) -> Bool {
        isTrusted(peer) && request.headers["X-Forwarded-For"] == nil
    }

    /// Who a connection's limits count; nil for a trusted proxy, which speaks for many.
    func countedAddress(of peer: IPAddress) -> IPAddress? { isTrusted(peer) ? nil : peer.subscriber }

    private func isTrusted(_ address: IPAddress) -> Bool { trustedProxies.contains { $0.contains(address) } }
}
