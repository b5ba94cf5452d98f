import ParlorJSON
import ParlorSocketIO

/// Packets with attachments. Parlor itself refuses them from its clients, and never sends them.
extension OutgoingPacket {
    /// Returns an event with attachments, whose placeholders are in the arguments.
    static func event(
        _ name: String, _ arguments: [JSONValue], attachments: [[UInt8]], namespace: String
    ) -> [OutgoingPacket] {
        if attachments.isEmpty { return [event(name, arguments, namespace: namespace)] }
        return binary(.binaryEvent, namespace, "", [JSONValue(name)] + arguments, attachments)
    }

    /// Returns an ack with attachments, whose placeholders are in the arguments.
    static func ack(
        _ id: Int, _ arguments: [JSONValue], attachments: [[UInt8]], namespace: String
    ) -> [OutgoingPacket] {
        if attachments.isEmpty { return [ack(id, arguments, namespace: namespace)] }
        return binary(.binaryAck, namespace, String(id), arguments, attachments)
    }

    private static func binary(
        _ kind: SocketIOPacket.Kind, _ namespace: String, _ id: String, _ list: [JSONValue], _ attachments: [[UInt8]]
    ) -> [OutgoingPacket] {
        let path = namespace == SocketIOPacket.mainNamespace ? "" : "\(namespace),"
        let text = "\(attachments.count)-\(path)\(id)[\(list.map(\.text).joined(separator: ","))]"
        return [OutgoingPacket(.message, [kind.rawValue] + Array(text.utf8))]
            + attachments.map(OutgoingPacket.init(binary:))
    }
}
