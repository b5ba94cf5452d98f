import Foundation
import ParlorClient

/// An event packet of a client.
struct SocketRequest {
    var event: String
    var fields: JSON
    var ackID: Int?

    /// Parses an event packet; nil if it is not an event.
    init?(_ text: String) {
        guard text.hasPrefix("42") else { return nil }
        let packet = Self.payload(of: text)
        guard case .array(let parts)? = JSON(parsing: Data(packet.drop { $0.isNumber }.utf8)),
            let event = parts.first?.string
        else { return nil }
        self.event = event
        fields = parts.count > 1 ? parts[1] : [:]
        ackID = Int(packet.prefix { $0.isNumber })
    }

    /// Returns a packet without its type and without the default namespace, which a client may write out.
    static func payload(of packet: String) -> Substring {
        let payload = packet.dropFirst(2)
        return payload.hasPrefix("/,") ? payload.dropFirst(2) : payload
    }
}
