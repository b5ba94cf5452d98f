import ParlorMessageBus

/// A `sub` or `serve` of a peer, and the lines that are sent for it.
final class BrokerSubscription {
    let peer: BrokerPeer
    /// The start of each line that is sent for the subscription, up to and including its number.
    private let prefix: [UInt8]

    init(peer: BrokerPeer, number: UInt64) {
        self.peer = peer
        prefix = Array(#"{"op":"msg","sub":\#(number)"#.utf8)
    }

    /// Writes an event.
    func write(_ payload: UnsafeRawBufferPointer, by route: BrokerRoute, to out: inout [UInt8]) {
        out += prefix
        out += route.middle
        out += payload
        out += "}\n"
    }

    /// Writes a request, which has a subject and data.
    ///
    /// - Parameter reply: the broker's number for it.
    func write(
        _ request: BusLine, of line: UnsafeRawBufferPointer, reply: UInt64, timeout: Duration, to out: inout [UInt8]
    ) {
        guard let subject = request.subject, let data = request.data else { return }
        out += prefix
        out += #","reply":"#
        out += String(reply).utf8
        out += #","subject":""#
        out += UnsafeRawBufferPointer(rebasing: line[subject])
        out += #"","timeout":"#
        out += String(timeout.wholeMilliseconds).utf8
        Self.pass(.quoted, "request", request.request, of: line, to: &out)
        Self.pass(.bare, "caller", request.caller, of: line, to: &out)
        Self.pass(.quoted, "key", request.key, of: line, to: &out)
        Self.pass(.quoted, "trace", request.trace, of: line, to: &out)
        out += #","data":"#
        out += UnsafeRawBufferPointer(rebasing: line[data])
        out += "}\n"
    }

    private enum Form { case quoted, bare }

    /// Copies a member from the requester's line, if it has one.
    private static func pass(
        _ form: Form, _ name: StaticString, _ range: Range<Int>?, of line: UnsafeRawBufferPointer,
        to out: inout [UInt8]
    ) {
        guard let range else { return }
        out += #",""#
        out += name
        out += #"":"#
        // Include the quotation marks around the range.
        let written = form == .quoted ? range.lowerBound - 1..<range.upperBound + 1 : range
        out += UnsafeRawBufferPointer(rebasing: line[written])
    }
}
