import Foundation
import ParlorContracts
import ParlorHTTP
import ParlorSecurity
import ParlorTestSupport

@testable import ParlorEdge
@testable import ParlorReactor

extension FuzzTarget {
    /// Addresses, ranges of them, X-Forwarded-For, and the ids that a client may choose or bring back.
    static let address = FuzzTarget(name: "address", maxLength: 512) { input throws(FuzzFinding) in
        let text = String(decoding: input, as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for line in lines {
            try checkAddress(line)
            if let parent = TraceParent(line) {
                try require(parent.text == line && parent.traceID.utf8.count == 32, "a trace: \(line)")
            }
            if let session = SessionID(line, instance: "i", loopCount: 4) {
                try require(session.text == line && (0..<4).contains(session.loop), "a session: \(line)")
            }
        }
        try checkForwarding(lines)
    }

    private static func checkAddress(_ text: String) throws(FuzzFinding) {
        if let address = IPAddress(text) {
            try require(IPAddress(address.description) == address, "\(text) is written as \(address)")
            for count in [0, 1, 8, 31, 32, 63, 64, 65, 127, 128] where count <= address.bitCount {
                let first = address.keeping(firstBits: count)
                try require(first.keeping(firstBits: count) == first, "\(text)/\(count)")
                try require(
                    IPNetwork("\(first)/\(count)")?.contains(address) ?? (first.isIPv6 != address.isIPv6),
                    "\(text) is not in \(first)/\(count)")
            }
        }
        if let slash = text.firstIndex(of: "/"), IPNetwork(text) != nil {
            try require(IPAddress(String(text[..<slash])) != nil, "a range of no address: \(text)")
        }
    }

    /// Checks that addresses from untrusted clients do not count, wherever they are written.
    private static func checkForwarding(_ lines: [String]) throws(FuzzFinding) {
        guard let proxy = IPAddress("10.0.0.1"), let stranger = IPAddress("192.0.2.1"),
            let network = IPNetwork("10.0.0.0/8")
        else {
            throw FuzzFinding("these are addresses")
        }
        var configuration = EdgeConfiguration(endpoints: [])
        configuration.trustedProxies = [network]
        var headers = HTTPHeaders()
        for line in lines { headers.add("X-Forwarded-For", line) }
        if let first = lines.first { headers.add("X-Request-Id", first) }
        let request = HTTPRequest(method: "GET", target: "/", path: "/", headers: headers)
        try require(configuration.client(of: request, from: stranger) == stranger, "a stranger chose an address")
        headers.add("X-Forwarded-For", "192.0.2.1, 10.9.9.9")
        let forwarded = HTTPRequest(method: "GET", target: "/", path: "/", headers: headers)
        try require(
            configuration.client(of: forwarded, from: proxy) == stranger,
            "what stands before the client's own address counts")
        let id = RequestID.of(request, randomness: SeededRandomness(seed: 1))
        try require((1...128).contains(id.utf8.count) && id.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "the id \(id)")
    }
}
